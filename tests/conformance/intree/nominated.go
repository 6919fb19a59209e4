package intree

import (
	"context"

	v1 "k8s.io/api/core/v1"
	"k8s.io/kubernetes/pkg/scheduler/apis/config"
	"k8s.io/kubernetes/pkg/scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/defaultbinder"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/queuesort"
	"k8s.io/kubernetes/pkg/scheduler/framework/runtime"
)

// Nominator knows the nominated pods of a cluster that does not change.
type Nominator struct {
	PodNominator
	onNode map[string][]PodInfo
}

// NewNominator notes who is nominated to which node, of the pods that wait.
func NewNominator(pods []*v1.Pod) (*Nominator, error) {
	onNode := make(map[string][]PodInfo)
	for _, pod := range pods {
		node := pod.Status.NominatedNodeName
		if node == "" || pod.Spec.NodeName != "" || isFinished(pod) {
			continue
		}
		info, err := framework.NewPodInfo(pod)
		if err != nil {
			return nil, err
		}
		onNode[node] = append(onNode[node], info)
	}
	return &Nominator{onNode: onNode}, nil
}

// filtering returns a scheduler's framework that filters with one plugin alone.
func (c *Cluster) filtering(ctx context.Context, plugin Plugin) (framework.Framework, error) {
	made := func(context.Context, Object, Handle) (NamedPlugin, error) { return plugin, nil }
	return runtime.NewFramework(ctx,
		runtime.Registry{
			queuesort.Name:     queuesort.New,
			defaultbinder.Name: defaultbinder.New,
			plugin.Name():      made,
		},
		&config.KubeSchedulerProfile{
			SchedulerName: plugin.Name(),
			Plugins: &config.Plugins{
				QueueSort: only(queuesort.Name),
				PreFilter: only(plugin.Name()),
				Filter:    only(plugin.Name()),
				Bind:      only(defaultbinder.Name),
			},
		},
		runtime.WithSnapshotSharedLister(c.snapshot),
		runtime.WithPodNominator(c.nominator),
	)
}

func only(name string) config.PluginSet {
	return config.PluginSet{Enabled: []config.Plugin{{Name: name}}}
}

// filterWithNominated runs PreFilter, then Filter for each node with the pods nominated to it, and
// again without them. It tells whether the plugin left them out of account, having nothing to look at
// but for them.
func (c *Cluster) filterWithNominated(
	ctx context.Context, plugin Plugin, pod *v1.Pod, nodes []NodeInfo,
) (refusals []*Refusal, ignored bool, err error) {
	scheduler, err := c.filtering(ctx, plugin)
	if err != nil {
		return nil, false, err
	}
	ignored = preFilter(ctx, plugin, framework.NewCycleState(), pod, c.all).IsSkip()
	state := framework.NewCycleState()
	if _, status, _ := scheduler.RunPreFilterPlugins(ctx, state, pod); !status.IsSuccess() {
		return nil, false, status.AsError()
	}
	refusals = make([]*Refusal, len(nodes))
	for i, node := range nodes {
		status := scheduler.RunFilterPluginsWithNominatedPods(ctx, state, pod, node)
		if status.Code() == codeError {
			return nil, false, status.AsError()
		}
		if !status.IsSuccess() {
			refusals[i] = &Refusal{status.Code().String(), status.Message()}
		}
	}
	return refusals, ignored, nil
}
