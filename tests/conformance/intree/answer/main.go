// Answer reads cases, one JSON object a line, and writes what a scheduler's own code answers, one
// line a case: its plugins to questions, and its preemption to pods that find no node.
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"os"
	"slices"

	"intree"

	v1 "k8s.io/api/core/v1"
	policy "k8s.io/api/policy/v1"
	"k8s.io/klog/v2"
)

type asked struct {
	intree.Case
	Preemptions preemptions `json:"preemptions"`
	stored
	// Judged are pods to be judged by all filter plugins of the default profile together.
	Judged []*v1.Pod `json:"judged"`
}

// stored is what else the cluster has.
type stored struct {
	Volumes   volumes   `json:"volumes"`
	Spreading spreading `json:"spreading"`
	// Scheduler is a KubeSchedulerConfiguration; pods are judged by the profiles that they name.
	Scheduler json.RawMessage `json:"scheduler"`
}

// preemptions are pods to be scheduled, in a cluster with disruption budgets.
type preemptions struct {
	Budgets []*policy.PodDisruptionBudget `json:"budgets"`
	Pods    []*v1.Pod                     `json:"pods"`
}

type reply struct {
	Answers     []intree.Answers `json:"answers,omitempty"`
	Preemptions []attempt        `json:"preemptions,omitempty"`
	Judged      []verdicts       `json:"judged,omitempty"`
	Error       string           `json:"error,omitempty"`
}

func main() {
	// The plugins log what they see; only answers are wanted.
	klog.InitFlags(nil)
	_ = flag.Set("logtostderr", "false")
	klog.SetOutput(io.Discard)
	gates := flag.String("feature-gates", "", "what a scheduler would be started with, as A=true,B=false")
	flag.Parse()
	if err := intree.SetGates(*gates); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	if err := run(context.Background(), os.Stdin, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(ctx context.Context, in io.Reader, out io.Writer) error {
	cases := json.NewDecoder(bufio.NewReader(in))
	replies := bufio.NewWriter(out)
	encoder := json.NewEncoder(replies)
	for {
		var next asked
		if err := cases.Decode(&next); err == io.EOF {
			return nil
		} else if err != nil {
			return err
		}
		if err := encoder.Encode(next.answer(ctx)); err != nil {
			return err
		}
		if err := replies.Flush(); err != nil {
			return err
		}
	}
}

func (a asked) answer(ctx context.Context) reply {
	// What a framework starts ends with its case.
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	if err := a.Create(ctx, slices.Concat(a.Preemptions.Pods, a.Judged)); err != nil {
		return reply{Error: err.Error()}
	}
	var said reply
	var err error
	if len(a.Questions) > 0 {
		said.Answers, err = a.Answer(ctx)
	}
	if err == nil && len(a.Preemptions.Pods) > 0 {
		said.Preemptions, err = preempt(ctx, a.Cluster, a.stored, a.Preemptions)
	}
	if err == nil && len(a.Judged) > 0 {
		said.Judged, err = judge(ctx, a.Cluster, a.stored, a.Judged)
	}
	if err != nil {
		return reply{Error: err.Error()}
	}
	return said
}
