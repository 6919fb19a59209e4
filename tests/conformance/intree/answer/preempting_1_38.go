//go:build kubernetes_1_38

package main

import (
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/feature"
	"k8s.io/kubernetes/pkg/scheduler/framework/preemption"
	frameworkruntime "k8s.io/kubernetes/pkg/scheduler/framework/runtime"
)

// Candidate is a node to preempt on.
type Candidate = fwk.PreemptionCandidate

// preempting has what a framework needs in order to preempt.
func preempting(gates feature.Features) []frameworkruntime.Option {
	return []frameworkruntime.Option{
		frameworkruntime.WithPreemptionManager(func(handle fwk.Handle) fwk.PreemptionManager {
			return preemption.NewPreemptionManager(handle, gates)
		}),
	}
}
