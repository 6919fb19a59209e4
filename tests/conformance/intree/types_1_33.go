//go:build kubernetes_1_33

package intree

import (
	"context"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/kubernetes/pkg/scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/feature"
)

type (
	NodeInfo      = *framework.NodeInfo
	CycleState    = *framework.CycleState
	NodeScoreList = framework.NodeScoreList
	Handle        = framework.Handle
	NamedPlugin   = framework.Plugin
	Object        = runtime.Object
	PodInfo       = *framework.PodInfo
	PodNominator  = framework.PodNominator
)

const codeError = framework.Error

type Plugin interface {
	framework.PreFilterPlugin
	framework.FilterPlugin
	framework.PreScorePlugin
	framework.ScorePlugin
	framework.ScoreExtensions
}

func preFilter(
	ctx context.Context, plugin Plugin, state CycleState, pod *v1.Pod, _ []NodeInfo,
) *framework.Status {
	_, status := plugin.PreFilter(ctx, state, pod)
	return status
}

// pluginFeatures returns no features: none of 1.33 changes what these plugins answer.
func pluginFeatures() feature.Features {
	return feature.Features{}
}
