//go:build !kubernetes_1_33 && !kubernetes_1_34

package intree

import (
	"context"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	utilfeature "k8s.io/apiserver/pkg/util/feature"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/feature"
)

// The framework's types moved between releases; the rest of the package knows them by these names.
type (
	NodeInfo      = fwk.NodeInfo
	CycleState    = fwk.CycleState
	NodeScoreList = fwk.NodeScoreList
	Handle        = fwk.Handle
	NamedPlugin   = fwk.Plugin
	Object        = runtime.Object
	PodInfo       = fwk.PodInfo
	PodNominator  = fwk.PodNominator
)

const codeError = fwk.Error

// Plugin is what the plugins have in common that are asked here.
type Plugin interface {
	fwk.PreFilterPlugin
	fwk.FilterPlugin
	fwk.PreScorePlugin
	fwk.ScorePlugin
	fwk.ScoreExtensions
}

func preFilter(
	ctx context.Context, plugin Plugin, state CycleState, pod *v1.Pod, all []NodeInfo,
) *fwk.Status {
	_, status := plugin.PreFilter(ctx, state, pod, all)
	return status
}

// pluginFeatures returns what the process-wide feature gates switch on in the plugins.
func pluginFeatures() feature.Features {
	return feature.NewSchedulerFeaturesFromGates(utilfeature.DefaultFeatureGate)
}
