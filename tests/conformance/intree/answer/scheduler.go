//go:build kubernetes_1_37

package main

import (
	"context"

	policy "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/runtime"
	utilfeature "k8s.io/apiserver/pkg/util/feature"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/apis/config"
	"k8s.io/kubernetes/pkg/scheduler/backend/cache"
	"k8s.io/kubernetes/pkg/scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/framework/parallelize"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/defaultbinder"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/defaultpreemption"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/feature"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/interpodaffinity"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/nodeaffinity"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/nodename"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/nodeports"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/noderesources"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/nodeunschedulable"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/queuesort"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/tainttoleration"
	frameworkruntime "k8s.io/kubernetes/pkg/scheduler/framework/runtime"
	"k8s.io/kubernetes/pkg/scheduler/metrics"

	"intree"
)

const interPodAffinity = interpodaffinity.Name

// filters are those of the default profile, in its order, that need no volumes, devices or defaults.
var filters = []string{
	nodename.Name, nodeunschedulable.Name, tainttoleration.Name, nodeaffinity.Name, nodeports.Name,
	noderesources.Name, interPodAffinity,
}

// scheduler is as much of one as chooses nodes and victims.
type scheduler struct {
	framework  framework.Framework
	preemption *defaultpreemption.DefaultPreemption
	snapshot   *cache.Snapshot
	nodes      []fwk.NodeInfo
	budgets    []*policy.PodDisruptionBudget
}

func newScheduler(
	ctx context.Context, objects intree.Objects, budgets []*policy.PodDisruptionBudget,
) (*scheduler, error) {
	metrics.Register()
	factory, err := objects.Informers()
	if err != nil {
		return nil, err
	}
	found := &scheduler{
		snapshot: cache.NewSnapshot(objects.Placed(), objects.Nodes),
		// In the order in which they were given: a lister has none.
		budgets: budgets,
	}
	nominator, err := intree.NewNominator(objects.Pods)
	if err != nil {
		return nil, err
	}
	found.framework, err = frameworkruntime.NewFramework(ctx, found.registry(), profile(),
		frameworkruntime.WithSnapshotSharedLister(found.snapshot),
		frameworkruntime.WithMutableSnapshotLister(found.snapshot),
		frameworkruntime.WithInformerFactory(factory),
		frameworkruntime.WithPodNominator(nominator),
		frameworkruntime.WithParallelism(parallelize.DefaultParallelism),
	)
	if err != nil {
		return nil, err
	}
	found.nodes, err = found.snapshot.NodeInfos().List()
	return found, err
}

func (s *scheduler) registry() frameworkruntime.Registry {
	gates := feature.NewSchedulerFeaturesFromGates(utilfeature.DefaultFeatureGate)
	return frameworkruntime.Registry{
		queuesort.Name:         queuesort.New,
		defaultbinder.Name:     defaultbinder.New,
		nodename.Name:          frameworkruntime.FactoryAdapter(gates, nodename.New),
		nodeunschedulable.Name: frameworkruntime.FactoryAdapter(gates, nodeunschedulable.New),
		tainttoleration.Name:   frameworkruntime.FactoryAdapter(gates, tainttoleration.New),
		nodeaffinity.Name:      frameworkruntime.FactoryAdapter(gates, nodeaffinity.New),
		nodeports.Name:         frameworkruntime.FactoryAdapter(gates, nodeports.New),
		noderesources.Name:     frameworkruntime.FactoryAdapter(gates, noderesources.NewFit),
		interPodAffinity:       frameworkruntime.FactoryAdapter(gates, interpodaffinity.New),
		defaultpreemption.Name: func(ctx context.Context, args runtime.Object, handle fwk.Handle) (fwk.Plugin, error) {
			var err error
			s.preemption, err = defaultpreemption.New(ctx, args, handle, gates)
			return s.preemption, err
		},
	}
}

// profile is the default one without sampling, and without what nobody is asked about here.
func profile() *config.KubeSchedulerProfile {
	return &config.KubeSchedulerProfile{
		SchedulerName: "dry-run",
		Plugins: &config.Plugins{
			QueueSort:  plugins(queuesort.Name),
			PreFilter:  plugins(nodeaffinity.Name, nodeports.Name, noderesources.Name, interPodAffinity),
			Filter:     plugins(filters...),
			PostFilter: plugins(defaultpreemption.Name),
			Bind:       plugins(defaultbinder.Name),
		},
		PluginConfig: []config.PluginConfig{
			{Name: nodeaffinity.Name, Args: &config.NodeAffinityArgs{}},
			{Name: interPodAffinity, Args: &config.InterPodAffinityArgs{HardPodAffinityWeight: 1}},
			{Name: noderesources.Name, Args: &config.NodeResourcesFitArgs{
				ScoringStrategy: &config.ScoringStrategy{
					Type:      config.LeastAllocated,
					Resources: []config.ResourceSpec{{Name: "cpu", Weight: 1}},
				},
			}},
			{Name: defaultpreemption.Name, Args: &config.DefaultPreemptionArgs{
				MinCandidateNodesPercentage: 100,
			}},
		},
	}
}

func plugins(names ...string) config.PluginSet {
	var set config.PluginSet
	for _, name := range names {
		set.Enabled = append(set.Enabled, config.Plugin{Name: name})
	}
	return set
}
