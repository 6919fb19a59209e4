//go:build kubernetes_1_37

package main

import (
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/feature"
	"k8s.io/kubernetes/pkg/scheduler/framework/preemption"
	frameworkruntime "k8s.io/kubernetes/pkg/scheduler/framework/runtime"
)

// Candidate is a node to preempt on.
type Candidate = preemption.Candidate

// preempting has what a framework needs in order to preempt.
func preempting(feature.Features) []frameworkruntime.Option {
	return nil
}
