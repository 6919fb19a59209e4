"""A question that can be changed, and put to the naive evaluator."""

from __future__ import annotations

import copy
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from tests import oracle
from tests.conformance.terms import with_terms

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping


@dataclass(frozen=True, slots=True)
class Asked:
    """A question in the evaluator's terms."""

    cluster: oracle.Cluster
    pod: Mapping[str, Any]
    names: tuple[str, ...]
    args: oracle.Args

    def answer(self) -> tuple[dict[str, Any], dict[str, int], dict[str, int]]:
        """Return refusals, scores of all nodes, and scores of those that fit."""
        refused = oracle.refusals(self.cluster, self.pod, self.names, self.args)
        raw = oracle.raw_scores(self.cluster, self.pod, self.names, self.args)
        fits = {name: score for name, score in raw.items() if name not in refused}
        return refused, oracle.normalised(raw), oracle.normalised(fits)

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

    def with_node_labels(self, change: Callable[[dict[str, str]], None]) -> Asked:
        """Change the labels of each node."""
        nodes = copy.deepcopy(list(self.cluster.nodes))
        for node in nodes:
            change(node["metadata"]["labels"])
        return replace(self, cluster=replace(self.cluster, nodes=nodes))
