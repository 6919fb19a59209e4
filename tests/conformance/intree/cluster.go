// Package intree asks the scheduler's own plugins, outside a scheduler.
package intree

import (
	"context"
	"fmt"

	v1 "k8s.io/api/core/v1"
	"k8s.io/client-go/informers"
	"k8s.io/kubernetes/pkg/scheduler/apis/config"
	"k8s.io/kubernetes/pkg/scheduler/backend/cache"
	"k8s.io/kubernetes/pkg/scheduler/framework/parallelize"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/interpodaffinity"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/nodeaffinity"
	"k8s.io/kubernetes/pkg/scheduler/framework/runtime"
	"k8s.io/kubernetes/pkg/scheduler/metrics"
)

// Objects are what a cluster consists of.
type Objects struct {
	Nodes      []*v1.Node      `json:"nodes"`
	Namespaces []*v1.Namespace `json:"namespaces"`
	Pods       []*v1.Pod       `json:"pods"`
}

// Args are the arguments of both plugins, as a scheduler configuration spells them.
type Args struct {
	HardPodAffinityWeight              *int32           `json:"hardPodAffinityWeight"`
	IgnorePreferredTermsOfExistingPods bool             `json:"ignorePreferredTermsOfExistingPods"`
	AddedAffinity                      *v1.NodeAffinity `json:"addedAffinity"`
}

// Cluster is a snapshot with the plugins that look at it.
type Cluster struct {
	InterPodAffinity Plugin
	NodeAffinity     Plugin

	all       []NodeInfo
	byName    map[string]NodeInfo
	snapshot  *cache.Snapshot
	nominator *Nominator
}

// NewCluster takes a snapshot of these objects, as a scheduler would see them.
func NewCluster(ctx context.Context, objects Objects, args Args) (*Cluster, error) {
	metrics.Register()
	factory, err := objects.Informers()
	if err != nil {
		return nil, err
	}
	snapshot := cache.NewSnapshot(objects.Placed(), objects.Nodes)
	handle, err := runtime.NewFramework(ctx, nil, nil,
		runtime.WithSnapshotSharedLister(snapshot),
		runtime.WithInformerFactory(factory),
		runtime.WithParallelism(parallelize.DefaultParallelism),
	)
	if err != nil {
		return nil, err
	}
	interPodAffinity, err := interpodaffinity.New(ctx, args.interPodAffinity(), handle, pluginFeatures())
	if err != nil {
		return nil, err
	}
	nodeAffinity, err := nodeaffinity.New(ctx, args.nodeAffinity(), handle, pluginFeatures())
	if err != nil {
		return nil, err
	}
	all, err := snapshot.NodeInfos().List()
	if err != nil {
		return nil, err
	}
	byName := make(map[string]NodeInfo, len(all))
	for _, node := range all {
		byName[node.Node().Name] = node
	}
	nominator, err := NewNominator(objects.Pods)
	if err != nil {
		return nil, err
	}
	return &Cluster{
		interPodAffinity.(Plugin), nodeAffinity.(Plugin), all, byName, snapshot, nominator,
	}, nil
}

// Informers returns informers that know the namespaces, for plugins that list them.
func (o Objects) Informers() (informers.SharedInformerFactory, error) {
	// Nothing is ever listed through these informers, so no client is needed.
	factory := informers.NewSharedInformerFactory(nil, 0)
	namespaces := factory.Core().V1().Namespaces().Informer().GetIndexer()
	for _, namespace := range o.Namespaces {
		if err := namespaces.Add(namespace); err != nil {
			return nil, err
		}
	}
	return factory, nil
}

// Placed returns the pods in a scheduler's snapshot: its informer leaves finished pods out, its
// queue has the unbound ones, and a node that it does not know is no part of a snapshot.
func (o Objects) Placed() []*v1.Pod {
	known := make(map[string]bool, len(o.Nodes))
	for _, node := range o.Nodes {
		known[node.Name] = true
	}
	var placed []*v1.Pod
	for _, pod := range o.Pods {
		if known[pod.Spec.NodeName] && !isFinished(pod) {
			placed = append(placed, pod)
		}
	}
	return placed
}

func isFinished(pod *v1.Pod) bool {
	return pod.Status.Phase == v1.PodSucceeded || pod.Status.Phase == v1.PodFailed
}

// Named returns the nodes of these names, in their order; all nodes for no names at all.
func (c *Cluster) Named(names []string) ([]NodeInfo, error) {
	if names == nil {
		return c.all, nil
	}
	nodes := make([]NodeInfo, 0, len(names))
	for _, name := range names {
		node, found := c.byName[name]
		if !found {
			return nil, fmt.Errorf("no such node: %q", name)
		}
		nodes = append(nodes, node)
	}
	return nodes, nil
}

func (a Args) interPodAffinity() *config.InterPodAffinityArgs {
	weight := int32(1)
	if a.HardPodAffinityWeight != nil {
		weight = *a.HardPodAffinityWeight
	}
	return &config.InterPodAffinityArgs{
		HardPodAffinityWeight:              weight,
		IgnorePreferredTermsOfExistingPods: a.IgnorePreferredTermsOfExistingPods,
	}
}

func (a Args) nodeAffinity() *config.NodeAffinityArgs {
	return &config.NodeAffinityArgs{AddedAffinity: a.AddedAffinity}
}
