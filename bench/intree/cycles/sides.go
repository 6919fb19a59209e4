package main

import (
	"context"
	"fmt"
	"maps"
	"time"

	"intree"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/kubernetes/pkg/scheduler"
	"k8s.io/kubernetes/pkg/scheduler/apis/config"
)

// asker is one of those that are compared. A cycle is filter, then prioritize; the last two methods
// tell what it came to, when the clock stands still.
type asker interface {
	filter(ctx context.Context, pod *v1.Pod, nodes []intree.NodeInfo) (fits []intree.NodeInfo, err error)
	prioritize(ctx context.Context, pod *v1.Pod, nodes []intree.NodeInfo) error
	// refused returns why nodes do not fit.
	refused() map[string]string
	// scores returns those that are not 0.
	scores() map[string]int64
}

// plugin is the scheduler's own InterPodAffinity.
type plugin struct {
	cluster  *intree.Cluster
	cycle    *intree.Cycle
	nodes    []intree.NodeInfo
	refusals []*intree.Refusal
	list     intree.NodeScoreList
}

func (p *plugin) filter(
	ctx context.Context, pod *v1.Pod, nodes []intree.NodeInfo,
) ([]intree.NodeInfo, error) {
	var err error
	p.cycle, p.nodes = p.cluster.NewCycle(p.cluster.InterPodAffinity, pod), nodes
	if p.refusals, err = p.cycle.Filter(ctx, nodes); err != nil {
		return nil, err
	}
	fits := make([]intree.NodeInfo, 0, len(nodes))
	for i, refusal := range p.refusals {
		if refusal == nil {
			fits = append(fits, nodes[i])
		}
	}
	return fits, nil
}

func (p *plugin) prioritize(ctx context.Context, _ *v1.Pod, nodes []intree.NodeInfo) error {
	var err error
	if p.list, err = p.cycle.Score(ctx, nodes); err != nil {
		return err
	}
	return p.cycle.Normalise(ctx, p.list)
}

func (p *plugin) refused() map[string]string {
	found := make(map[string]string)
	for i, refusal := range p.refusals {
		if refusal != nil {
			found[p.nodes[i].Node().Name] = refusal.Reason
		}
	}
	return found
}

func (p *plugin) scores() map[string]int64 {
	found := make(map[string]int64)
	for _, score := range p.list {
		if score.Score != 0 {
			found[score.Name] = score.Score
		}
	}
	return found
}

// extender is a server that the scheduler's own client calls.
type extender struct {
	client interface {
		Filter(*v1.Pod, []intree.NodeInfo) ([]intree.NodeInfo, failed, failed, error)
		Prioritize(*v1.Pod, []intree.NodeInfo) (*priorities, int64, error)
	}
	resolvable, unresolvable failed
	list                     *priorities
}

func newExtender(url string) (*extender, error) {
	client, err := scheduler.NewHTTPExtender(&config.Extender{
		URLPrefix:        url,
		FilterVerb:       "filter",
		PrioritizeVerb:   "prioritize",
		Weight:           1,
		NodeCacheCapable: true,
		HTTPTimeout:      metav1.Duration{Duration: 5 * time.Second},
	})
	if err != nil {
		return nil, err
	}
	return &extender{client: client}, nil
}

func (e *extender) filter(
	_ context.Context, pod *v1.Pod, nodes []intree.NodeInfo,
) (fits []intree.NodeInfo, err error) {
	fits, e.resolvable, e.unresolvable, err = e.client.Filter(pod, nodes)
	return fits, err
}

func (e *extender) prioritize(_ context.Context, pod *v1.Pod, nodes []intree.NodeInfo) (err error) {
	e.list, _, err = e.client.Prioritize(pod, nodes)
	return err
}

func (e *extender) refused() map[string]string {
	found := make(map[string]string)
	maps.Copy(found, e.resolvable)
	maps.Copy(found, e.unresolvable)
	return found
}

func (e *extender) scores() map[string]int64 {
	found := make(map[string]int64)
	for _, priority := range *e.list {
		if priority.Score != 0 {
			found[priority.Host] = priority.Score
		}
	}
	return found
}

// newAsker returns the plugin for a side without a URL.
func newAsker(asked side, cluster *intree.Cluster) (asker, error) {
	if asked.URL == "" {
		return &plugin{cluster: cluster}, nil
	}
	client, err := newExtender(asked.URL)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", asked.Name, err)
	}
	return client, nil
}
