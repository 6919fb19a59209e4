"""Pods that match the terms of incoming pods, counted per domain."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TypeAlias

from extender.cluster.nodes import Nodes
from extender.cluster.selector_index import SelectorIndex
from extender.cluster.topology import DomainTable
from extender.model.labels import Labels
from extender.model.objects import PodClass
from extender.model.pod_affinity import PodSelector

PodSelectors: TypeAlias = frozenset[PodSelector]
"""All of them have to match: one selector for most terms, several for a pod's required affinity."""


@dataclass(slots=True, eq=False)
class CountedPods:
    """The placed pods that match all selectors, counted per domain of one topology key."""

    selectors: PodSelectors
    table: DomainTable

    @property
    def filed_under(self) -> PodSelector:
        """Return the selector that the index knows the set by."""
        return next(iter(self.selectors))

    def matches(self, pod_class: PodClass, namespace_labels: Labels) -> bool:
        """Tell whether pods of a class belong to the set."""
        namespace, labels = pod_class.namespace, pod_class.labels
        return all(pods.matches(namespace, namespace_labels, labels) for pods in self.selectors)


class CountedSets:
    """The sets that questions asked for lately, kept up to date while they are in use.

    Bounded: the set that no question was resolved to for the longest time goes first.
    """

    def __init__(self, nodes: Nodes, most: int) -> None:
        self._nodes = nodes
        self._most = most
        self._sets: OrderedDict[tuple[PodSelectors, str], CountedPods] = OrderedDict()
        self._index: SelectorIndex[CountedPods] = SelectorIndex()

    def __len__(self) -> int:
        return len(self._sets)

    def __iter__(self) -> Iterator[CountedPods]:
        return iter(self._sets.values())

    def find(self, selectors: PodSelectors, topology_key: str) -> CountedPods | None:
        """Return a set that is kept already."""
        counted = self._sets.get((selectors, topology_key))
        if counted is not None:
            self._sets.move_to_end((selectors, topology_key))
        return counted

    def add(self, selectors: PodSelectors, topology_key: str) -> CountedPods:
        """Start a set, empty."""
        counted = CountedPods(selectors, self._nodes.table(topology_key))
        self._sets[selectors, topology_key] = counted
        self._index.add(counted.filed_under, counted)
        return counted

    def pop_excess(self) -> CountedPods | None:
        """Give up the set that was asked for longest ago, when there are too many."""
        if len(self._sets) <= self._most:
            return None
        _, counted = self._sets.popitem(last=False)
        self._index.remove(counted.filed_under, counted)
        self._nodes.drop(counted.table)
        return counted

    def matching(self, pod_class: PodClass, namespace_labels: Labels) -> list[CountedPods]:
        """Return the sets that pods of a class belong to."""
        candidates = self._index.matching(pod_class.namespace, namespace_labels, pod_class.labels)
        return [
            counted
            for counted in candidates
            if len(counted.selectors) == 1 or counted.matches(pod_class, namespace_labels)
        ]
