//go:build kubernetes_1_34

package intree

import (
	"context"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	utilfeature "k8s.io/apiserver/pkg/util/feature"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/feature"
)

type (
	NodeInfo      = fwk.NodeInfo
	CycleState    = fwk.CycleState
	NodeScoreList = framework.NodeScoreList
	Handle        = framework.Handle
	NamedPlugin   = framework.Plugin
	Object        = runtime.Object
	PodInfo       = fwk.PodInfo
	PodNominator  = framework.PodNominator
)

const codeError = fwk.Error

type Plugin interface {
	framework.PreFilterPlugin
	framework.FilterPlugin
	framework.PreScorePlugin
	framework.ScorePlugin
	framework.ScoreExtensions
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
