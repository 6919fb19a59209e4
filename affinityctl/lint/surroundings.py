"""What is known of the cluster that workloads are for."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final, TypeAlias

from extender.model.labels import Labels, Operator
from extender.model.node_affinity import NodeRule
from extender.model.objects import Node
from extender.model.pod_affinity import Term

NAME_LABEL: Final = "kubernetes.io/metadata.name"
"""Each namespace has it; manifests do not."""

PodLabels: TypeAlias = tuple[str, frozenset[tuple[str, str]]]
"""Namespace and labels of a pod."""


class KnownPods:
    """The pods that there are, and those that templates make, found by their labels."""

    def __init__(self) -> None:
        self._all: set[PodLabels] = set()
        self._by_label: dict[tuple[str, str], list[PodLabels]] = {}

    def add(self, namespace: str, labels: Labels) -> None:
        """Take a pod; those with the same labels count once."""
        pod = (namespace, frozenset(labels.items()))
        if pod not in self._all:
            self._all.add(pod)
            for label in pod[1]:
                self._by_label.setdefault(label, []).append(pod)

    def candidates(self, term: Term) -> Iterable[PodLabels]:
        """Return pods among which are all that a term can be about; few where it names a label."""
        for each in term.pods.selector.requirements:
            if each.operator is Operator.IN:
                found = (self._by_label.get((each.key, value), ()) for value in each.values)
                return [pod for pods in found for pod in pods]
        return self._all


class Surroundings:
    """Nodes, namespaces and pods; None for what nobody has told."""

    def __init__(
        self,
        nodes: list[Node] | None = None,
        namespaces: Mapping[str, Labels] | None = None,
        pods: KnownPods | None = None,
        scheduler_minor: int | None = None,
    ) -> None:
        """`scheduler_minor` is 37 of 1.37."""
        self.nodes = nodes
        self.namespaces = namespaces
        self.pods = pods
        self.scheduler_minor = scheduler_minor
        self._matching: dict[NodeRule | None, list[Labels]] = {}
        self._without: dict[tuple[NodeRule | None, str], int] = {}
        self._domains: dict[tuple[NodeRule | None, str], int | None] = {}

    def nodes_for(self, required: NodeRule | None) -> list[Labels]:
        """Return the labels of the nodes that node selector and node affinity allow."""
        found = self._matching.get(required)
        if found is None:
            found = self._matching[required] = [
                node.labels
                for node in self.nodes or ()
                if required is None or required.judge(node.name, node.labels)
            ]
        return found

    def nodes_without(self, required: NodeRule | None, key: str) -> int:
        """Return how many of the nodes for pods lack a topology key."""
        asked = (required, key)
        if asked not in self._without:
            self._without[asked] = sum(key not in labels for labels in self.nodes_for(required))
        return self._without[asked]

    def domains_for(self, required: NodeRule | None, key: str) -> int | None:
        """Return how many domains of a topology key there are for pods.

        None where nothing limits them: no node is known, or one without the key takes any number.
        """
        asked = (required, key)
        if asked not in self._domains:
            nodes = self.nodes_for(required)
            limited = bool(nodes) and not self.nodes_without(required, key)
            self._domains[asked] = len({each[key] for each in nodes}) if limited else None
        return self._domains[asked]

    def namespace_labels(self, name: str) -> Labels:
        """Return the labels of a namespace; of one that is not known, those that each has."""
        return (self.namespaces or {}).get(name) or {NAME_LABEL: name}

    def has_key(self, key: str) -> bool:
        """Return whether some node has a topology key."""
        return self.nodes_without(None, key) < len(self.nodes or ())

    def some_pod_meets(self, terms: Iterable[Term]) -> bool:
        """Return whether some pod that is known is what all the terms are about."""
        every = list(terms)
        if self.pods is None or not every:
            return True
        return any(self._meets(pod, every) for pod in self.pods.candidates(every[0]))

    def _meets(self, pod: PodLabels, terms: list[Term]) -> bool:
        namespace, labels = pod[0], dict(pod[1])
        of_namespace = self.namespace_labels(namespace)
        return all(term.pods.matches(namespace, of_namespace, labels) for term in terms)
