package intree

import (
	"context"

	v1 "k8s.io/api/core/v1"
	"k8s.io/kubernetes/pkg/scheduler/framework"
)

// Refusal is the status with which a plugin refuses a node.
type Refusal struct {
	Code   string `json:"code"`
	Reason string `json:"reason"`
}

// Cycle is one plugin's share of one scheduling cycle of one pod.
type Cycle struct {
	cluster *Cluster
	plugin  Plugin
	state   CycleState
	pod     *v1.Pod
}

// NewCycle begins a cycle; nothing is computed yet.
func (c *Cluster) NewCycle(plugin Plugin, pod *v1.Pod) *Cycle {
	return &Cycle{c, plugin, framework.NewCycleState(), pod}
}

// Filter runs PreFilter, then Filter for each node; it returns nil where a node fits.
func (c *Cycle) Filter(ctx context.Context, nodes []NodeInfo) ([]*Refusal, error) {
	refusals := make([]*Refusal, len(nodes))
	status := preFilter(ctx, c.plugin, c.state, c.pod, c.cluster.all)
	if status.IsSkip() {
		return refusals, nil
	}
	if status.Code() == codeError {
		return nil, status.AsError()
	}
	// A pod that PreFilter itself refuses is refused by Filter as well, for each node's own reason.
	err := inParallel(ctx, len(nodes), func(i int) error {
		status := c.plugin.Filter(ctx, c.state, c.pod, nodes[i])
		if status.Code() == codeError {
			return status.AsError()
		}
		if !status.IsSuccess() {
			refusals[i] = &Refusal{status.Code().String(), status.Message()}
		}
		return nil
	})
	return refusals, err
}

// Score runs PreScore, then Score for each node; it returns nil when the plugin has nothing to say.
func (c *Cycle) Score(ctx context.Context, nodes []NodeInfo) (NodeScoreList, error) {
	status := c.plugin.PreScore(ctx, c.state, c.pod, nodes)
	if status.IsSkip() {
		return nil, nil
	}
	if !status.IsSuccess() {
		return nil, status.AsError()
	}
	scores := make(NodeScoreList, len(nodes))
	err := inParallel(ctx, len(nodes), func(i int) error {
		score, status := c.plugin.Score(ctx, c.state, c.pod, nodes[i])
		scores[i].Name, scores[i].Score = nodes[i].Node().Name, score
		return status.AsError()
	})
	return scores, err
}

// Normalise scales what Score returned to 0..100, in place.
func (c *Cycle) Normalise(ctx context.Context, scores NodeScoreList) error {
	if scores == nil {
		return nil
	}
	return c.plugin.NormalizeScore(ctx, c.state, c.pod, scores).AsError()
}
