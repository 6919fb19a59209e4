package intree

import (
	"context"
	"fmt"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/sets"
)

// Case is a cluster with questions about it.
type Case struct {
	ID      string  `json:"id"`
	Args    Args    `json:"args"`
	Cluster Objects `json:"cluster"`
	// Stored has the uids of pods that the API server has stored already; the others are created.
	Stored    []string   `json:"stored"`
	Questions []Question `json:"questions"`
}

// Question is a pod to place on one of some nodes.
type Question struct {
	ID  string  `json:"id"`
	Pod *v1.Pod `json:"pod"`
	// NodeNames are the nodes asked about; all nodes when absent.
	NodeNames []string `json:"nodeNames"`
	// Plugins are asked, each on its own; both when absent.
	Plugins []string `json:"plugins"`
}

// Answer is what one plugin said; nodes that it did not refuse, and scores of 0, are left out.
type Answer struct {
	Refused map[string]*Refusal `json:"refused"`
	Raw     map[string]int64    `json:"raw"`
	// Score is normalised over the nodes asked about, ScoreFeasible over those that no plugin refused.
	Score         map[string]int64 `json:"score"`
	ScoreFeasible map[string]int64 `json:"scoreFeasible"`
	// NominatedIgnored is whether the pods nominated to the nodes were left out of account.
	NominatedIgnored bool `json:"nominatedIgnored,omitempty"`
}

// Answers are the answers to one question, by plugin.
type Answers map[string]*Answer

// Answer answers all questions of a case, in their order; its pods have been created.
func (c Case) Answer(ctx context.Context) ([]Answers, error) {
	cluster, err := NewCluster(ctx, c.Cluster, c.Args)
	if err != nil {
		return nil, err
	}
	answers := make([]Answers, len(c.Questions))
	for i, question := range c.Questions {
		answers[i], err = cluster.answer(ctx, question)
		if err != nil {
			return nil, fmt.Errorf("question %s: %w", question.ID, err)
		}
	}
	return answers, nil
}

// Create creates the pods of a case, and others, unless they have been stored already.
func (c Case) Create(ctx context.Context, others []*v1.Pod) error {
	stored := sets.New(c.Stored...)
	pods := append(append([]*v1.Pod{}, c.Cluster.Pods...), others...)
	for _, question := range c.Questions {
		pods = append(pods, question.Pod)
	}
	for _, pod := range pods {
		if stored.Has(string(pod.UID)) {
			continue
		}
		if err := Create(ctx, pod); err != nil {
			return err
		}
	}
	return nil
}

func (c *Cluster) answer(ctx context.Context, question Question) (Answers, error) {
	nodes, err := c.Named(question.NodeNames)
	if err != nil {
		return nil, err
	}
	plugins := map[string]Plugin{"interPodAffinity": c.InterPodAffinity, "nodeAffinity": c.NodeAffinity}
	if question.Plugins == nil {
		question.Plugins = []string{"interPodAffinity", "nodeAffinity"}
	}
	answers := make(Answers, len(question.Plugins))
	refused := make(sets.Set[string])
	for _, name := range question.Plugins {
		answers[name] = &Answer{Refused: make(map[string]*Refusal)}
		refusals, err := c.filter(ctx, plugins[name], question.Pod, nodes, answers[name])
		if err != nil {
			return nil, err
		}
		for i, refusal := range refusals {
			if refusal != nil {
				answers[name].Refused[nodes[i].Node().Name] = refusal
				refused.Insert(nodes[i].Node().Name)
			}
		}
	}
	feasible := make([]NodeInfo, 0, len(nodes))
	for _, node := range nodes {
		if !refused.Has(node.Node().Name) {
			feasible = append(feasible, node)
		}
	}
	for name, answer := range answers {
		cycle := c.NewCycle(plugins[name], question.Pod)
		if answer.Raw, answer.Score, err = cycle.scores(ctx, nodes); err != nil {
			return nil, err
		}
		cycle = c.NewCycle(plugins[name], question.Pod)
		if _, answer.ScoreFeasible, err = cycle.scores(ctx, feasible); err != nil {
			return nil, err
		}
	}
	return answers, nil
}

// filter asks one plugin; nominated pods are of account to one that looks at other pods.
func (c *Cluster) filter(
	ctx context.Context, plugin Plugin, pod *v1.Pod, nodes []NodeInfo, answer *Answer,
) (refusals []*Refusal, err error) {
	if len(c.nominator.onNode) == 0 || plugin.PreFilterExtensions() == nil {
		return c.NewCycle(plugin, pod).Filter(ctx, nodes)
	}
	refusals, answer.NominatedIgnored, err = c.filterWithNominated(ctx, plugin, pod, nodes)
	return refusals, err
}

// scores returns what nodes score before and after they are normalised.
func (c *Cycle) scores(ctx context.Context, nodes []NodeInfo) (raw, normalised map[string]int64, err error) {
	scores, err := c.Score(ctx, nodes)
	if err != nil {
		return nil, nil, err
	}
	raw = nonZero(scores)
	if err := c.Normalise(ctx, scores); err != nil {
		return nil, nil, err
	}
	return raw, nonZero(scores), nil
}

func nonZero(scores NodeScoreList) map[string]int64 {
	found := make(map[string]int64)
	for _, score := range scores {
		if score.Score != 0 {
			found[score.Name] = score.Score
		}
	}
	return found
}
