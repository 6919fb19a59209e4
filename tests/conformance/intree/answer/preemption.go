//go:build kubernetes_1_37 || kubernetes_1_38

package main

import (
	"context"

	v1 "k8s.io/api/core/v1"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/framework"

	"intree"
)

// attempt is what a scheduler finds in one cycle of a pod, up to the node that it would preempt on.
type attempt struct {
	// Fits are the nodes that need no preemption; with any, nobody is evicted.
	Fits []string `json:"fits"`
	// NominatedIgnored is whether rules of nominated pods were left out of account.
	NominatedIgnored bool `json:"nominatedIgnored,omitempty"`
	// Ineligible is why the pod may not preempt, whatever the nodes are like.
	Ineligible string             `json:"ineligible,omitempty"`
	Candidates map[string]victims `json:"candidates,omitempty"`
	Chosen     string             `json:"chosen,omitempty"`
}

// victims are those of one node: their uids, the most important one first.
type victims struct {
	UIDs       []string `json:"uids"`
	Violations int64    `json:"violations"`
}

// preempt lets each pod be scheduled, one after the other, none of which is ever placed.
func preempt(
	ctx context.Context, objects intree.Objects, stored stored, asked preemptions,
) ([]attempt, error) {
	profiles, err := profiles(nil)
	if err != nil {
		return nil, err
	}
	profile := profiles[v1.DefaultSchedulerName]
	scheduler, err := newScheduler(ctx, objects, stored, asked.Budgets, profile)
	if err != nil {
		return nil, err
	}
	attempts := make([]attempt, len(asked.Pods))
	for i, pod := range asked.Pods {
		if attempts[i], err = scheduler.schedule(ctx, pod); err != nil {
			return nil, err
		}
	}
	return attempts, nil
}

// schedule does what Scheduler.schedulePod and Evaluator.evaluate do, as far as choosing goes.
func (s *scheduler) schedule(ctx context.Context, pod *v1.Pod) (attempt, error) {
	state := framework.NewCycleState()
	statuses := framework.NewDefaultNodeToStatus()
	found := attempt{Fits: []string{}}
	allowed, status, _ := s.framework.RunPreFilterPlugins(ctx, state, pod)
	if !status.IsSuccess() {
		if !status.IsRejected() {
			return found, status.AsError()
		}
		statuses.SetAbsentNodesStatus(status)
		return s.search(ctx, state, pod, statuses, found)
	}
	found.NominatedIgnored = state.GetSkipFilterPlugins().Has(interPodAffinity)
	for _, node := range s.nodes {
		name := node.Node().Name
		if !allowed.AllNodes() && !allowed.NodeNames.Has(name) {
			continue
		}
		status := s.framework.RunFilterPluginsWithNominatedPods(ctx, state, pod, node)
		switch {
		case status.IsSuccess():
			found.Fits = append(found.Fits, name)
		case status.IsRejected():
			statuses.Set(name, status)
		default:
			return found, status.AsError()
		}
	}
	if len(found.Fits) > 0 {
		return found, nil
	}
	return s.search(ctx, state, pod, statuses, found)
}

func (s *scheduler) search(
	ctx context.Context, state fwk.CycleState, pod *v1.Pod, statuses *framework.NodeToStatus, found attempt,
) (attempt, error) {
	nominated := statuses.Get(pod.Status.NominatedNodeName)
	if ok, why := s.preemption.PodEligibleToPreemptOthers(ctx, pod, nominated); !ok {
		found.Ineligible = why
		return found, nil
	}
	potential, err := statuses.NodesForStatusCode(s.snapshot.NodeInfos(), fwk.Unschedulable)
	if err != nil || len(potential) == 0 {
		return found, err
	}
	offset, count := s.preemption.GetOffsetAndNumCandidates(int32(len(potential)))
	candidates, _, err := s.preemption.Evaluator.DryRunPreemption(
		ctx, state, pod, potential, s.budgets, offset, count)
	if err != nil {
		return found, err
	}
	found.Candidates = make(map[string]victims, len(candidates))
	for _, candidate := range candidates {
		found.Candidates[candidate.Name()] = victimsOf(candidate)
	}
	if best := s.preemption.Evaluator.SelectCandidate(ctx, candidates); best != nil {
		found.Chosen = best.Name()
	}
	return found, nil
}

func victimsOf(candidate Candidate) victims {
	found := victims{Violations: candidate.Victims().NumPDBViolations}
	for _, pod := range candidate.Victims().Pods {
		found.UIDs = append(found.UIDs, string(pod.UID))
	}
	return found
}
