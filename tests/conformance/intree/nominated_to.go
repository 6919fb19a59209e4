//go:build !kubernetes_1_38

package intree

// NominatedPodsForNode returns the pods nominated to a node.
func (n *Nominator) NominatedPodsForNode(node string) []PodInfo {
	return n.onNode[node]
}
