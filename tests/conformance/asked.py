"""A question that can be changed, and put to the naive evaluator."""

from __future__ import annotations

import copy
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from tests import node_oracle, oracle
from tests.conformance.terms import PREFERRED, REQUIRED, with_terms

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping


@dataclass(frozen=True, slots=True)
class Asked:
    """A question in the evaluator's terms."""

    cluster: oracle.Cluster
    pod: Mapping[str, Any]
    names: tuple[str, ...]
    args: oracle.Args
    added: Mapping[str, Any]
    """The node affinity that is added to every pod's."""

    def answer(self) -> tuple[Any, ...]:
        """Return refusals, scores of all nodes, and scores of those that fit, by each plugin."""
        cluster, pod, names = self.cluster, self.pod, self.names
        by_pods = oracle.refusals(cluster, pod, names, self.args)
        by_nodes = node_oracle.node_refusals(cluster, pod, names, self.added)
        found: list[Any] = [by_pods, by_nodes]
        for raw, normalised in (
            (oracle.raw_scores(cluster, pod, names, self.args), oracle.normalised),
            (node_oracle.raw_node_scores(cluster, pod, names, self.added), node_oracle.shares),
        ):
            fits = {n: score for n, score in raw.items() if n not in by_pods and n not in by_nodes}
            found += [normalised(raw), normalised(fits)]
        return tuple(found)

    def with_pods(self, change: Callable[[dict[str, Any]], Any]) -> Asked:
        """Change the existing pods; a pod for which None is returned is taken away."""
        changed = [change(copy.deepcopy(dict(pod))) for pod in self.cluster.pods]
        kept = [pod for pod in changed if pod is not None]
        return replace(self, cluster=replace(self.cluster, pods=kept))

    def with_all_terms(self, change: Callable[[dict[str, Any]], None]) -> Asked:
        """Change each term, those of the incoming pod and those of the existing ones."""
        pods = [with_terms(pod, change) for pod in self.cluster.pods]
        cluster = replace(self.cluster, pods=pods)
        return replace(self, cluster=cluster, pod=with_terms(self.pod, change))

    def with_node_terms(self, change: Callable[[dict[str, Any]], Any]) -> Asked:
        """Change each NodeSelectorTerm, the pod's own and those that are added."""
        pod, added = copy.deepcopy(dict(self.pod)), copy.deepcopy(dict(self.added))
        own = pod["spec"].get("affinity", {}).get("nodeAffinity", {})
        for rules in (own, added):
            for term in rules.get(REQUIRED, {}).get("nodeSelectorTerms", ()):
                change(term)
            for weighted in rules.get(PREFERRED, ()):
                change(weighted["preference"])
        return replace(self, pod=pod, added=added)

    def with_node_labels(self, change: Callable[[dict[str, str]], None]) -> Asked:
        nodes = copy.deepcopy(list(self.cluster.nodes))
        for node in nodes:
            change(node["metadata"]["labels"])
        return replace(self, cluster=replace(self.cluster, nodes=nodes))
