package main

import (
	"context"
	"fmt"
	"maps"
	"runtime"
	"slices"
	"time"

	"intree"

	v1 "k8s.io/api/core/v1"
	extenderv1 "k8s.io/kube-scheduler/extender/v1"
)

type (
	failed     = extenderv1.FailedNodesMap
	priorities = extenderv1.HostPriorityList
)

// warmUp is the number of cycles at the start of a series that do not count.
const warmUp = 4

// plan says which sides are asked what. The sides take turns, series by series.
type plan struct {
	Sides   []side  `json:"sides"`
	Rounds  int     `json:"rounds"`
	Calls   int     `json:"calls"`
	PauseMS float64 `json:"pauseMs"`
}

type side struct {
	Name string `json:"name"`
	// URL is that of an extender; without one, the plugin in this process is asked.
	URL       string     `json:"url"`
	Cluster   string     `json:"cluster"`
	Questions []question `json:"questions"`
	// LikeSide names one that has to give the same answers.
	LikeSide string `json:"like"`
}

type question struct {
	Pod   *v1.Pod  `json:"pod"`
	Names []string `json:"names"`
}

// answer is what a cycle comes to.
type answer struct {
	fits    []string
	refused map[string]string
	scores  map[string]int64
}

// series are the microseconds of the calls of one side in one round.
type series struct {
	Filter     []float64 `json:"filter"`
	Prioritize []float64 `json:"prioritize"`
}

type results struct {
	// Series are those of each side, one a round.
	Series map[string][]series `json:"series"`
	// Differences are between sides that should agree; the first of each pair.
	Differences []string `json:"differences"`
	// Compared counts the questions whose answers were compared.
	Compared int `json:"compared"`
}

func (p *plan) run(ctx context.Context, clusters map[string]*intree.Cluster) (*results, error) {
	found := &results{Series: make(map[string][]series)}
	askers := make([]asker, len(p.Sides))
	for i, asked := range p.Sides {
		cluster, loaded := clusters[asked.Cluster]
		if !loaded {
			return nil, fmt.Errorf("no such cluster: %q", asked.Cluster)
		}
		var err error
		if askers[i], err = newAsker(asked, cluster); err != nil {
			return nil, err
		}
	}
	answers := make(map[string][]answer)
	for range p.Rounds {
		for i, asked := range p.Sides {
			timed, said, err := p.series(ctx, asked, askers[i], clusters[asked.Cluster])
			if err != nil {
				return nil, fmt.Errorf("%s: %w", asked.Name, err)
			}
			found.Series[asked.Name] = append(found.Series[asked.Name], timed)
			answers[asked.Name] = said
		}
	}
	for _, asked := range p.Sides {
		if asked.LikeSide != "" {
			found.compare(asked, answers[asked.Name], answers[asked.LikeSide])
		}
	}
	return found, nil
}

func (p *plan) series(
	ctx context.Context, asked side, asker asker, cluster *intree.Cluster,
) (series, []answer, error) {
	var timed series
	answers := make([]answer, len(asked.Questions))
	nodes := make([][]intree.NodeInfo, len(asked.Questions))
	for i, question := range asked.Questions {
		var err error
		if nodes[i], err = cluster.Named(question.Names); err != nil {
			return timed, nil, err
		}
	}
	runtime.GC() // what the side before has left behind is not this one's
	for call := range warmUp + p.Calls {
		i := call % len(asked.Questions)
		pod := asked.Questions[i].Pod
		p.pause()
		start := time.Now()
		fits, err := asker.filter(ctx, pod, nodes[i])
		filtered := time.Since(start)
		if err != nil {
			return timed, nil, err
		}
		p.pause()
		start = time.Now()
		err = asker.prioritize(ctx, pod, fits)
		prioritized := time.Since(start)
		if err != nil {
			return timed, nil, err
		}
		if call >= warmUp {
			timed.Filter = append(timed.Filter, microseconds(filtered))
			timed.Prioritize = append(timed.Prioritize, microseconds(prioritized))
		}
		answers[i] = answer{names(fits), asker.refused(), asker.scores()}
	}
	return timed, answers, nil
}

func (r *results) compare(asked side, ours, theirs []answer) {
	for i := range ours {
		r.Compared++
		same := slices.Equal(ours[i].fits, theirs[i].fits) &&
			maps.Equal(ours[i].refused, theirs[i].refused) &&
			maps.Equal(ours[i].scores, theirs[i].scores)
		if !same {
			r.Differences = append(r.Differences, fmt.Sprintf("%s: pod %s: %d nodes fit against %d, %d score against %d",
				asked.Name, asked.Questions[i].Pod.Name, len(ours[i].fits), len(theirs[i].fits),
				len(ours[i].scores), len(theirs[i].scores)))
		}
	}
}

func (p *plan) pause() {
	time.Sleep(time.Duration(p.PauseMS * float64(time.Millisecond)))
}

func names(nodes []intree.NodeInfo) []string {
	found := make([]string, len(nodes))
	for i, node := range nodes {
		found[i] = node.Node().Name
	}
	return found
}

func microseconds(spent time.Duration) float64 {
	return float64(spent.Nanoseconds()) / 1000
}
