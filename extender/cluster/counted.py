"""Pods that match the terms of incoming pods, counted per domain."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterator, Sequence
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

    def depends_on(self, namespace: str, before: Labels, now: Labels) -> bool:
        """Tell whether new labels of a namespace make a difference to who belongs to the set."""
        return any(
            pods.covers(namespace, before) is not pods.covers(namespace, now)
            for pods in self.selectors
        )


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
        return _matching(self._index, pod_class, namespace_labels)

    def moved_by(self, namespace: str, before: Labels, now: Labels) -> MovedSets:
        """Return the sets that pods may join or leave when a namespace changes its labels."""
        return MovedSets([each for each in self if each.depends_on(namespace, before, now)], now)


class MovedSets:
    """Sets to which the new labels of one namespace make a difference."""

    def __init__(self, sets: Sequence[CountedPods], namespace_labels: Labels) -> None:
        self._sets = set(sets)
        self._namespace_labels = namespace_labels
        self._index: SelectorIndex[CountedPods] = SelectorIndex()
        for counted in sets:
            self._index.add(counted.filed_under, counted)
        selectors = {pods.selector for counted in sets for pods in counted.selectors}
        self._keys = sorted({each.key for selector in selectors for each in selector.requirements})
        self._known: dict[tuple[str | None, ...], list[CountedPods]] = {}

    def __contains__(self, counted: CountedPods) -> bool:
        return counted in self._sets

    def __len__(self) -> int:
        return len(self._sets)

    def matching(self, pod_class: PodClass) -> list[CountedPods]:
        """Return those that pods of a class of the namespace belong to.

        Classes that differ only in labels that nobody asks for, as the pods of a StatefulSet do,
        cost one look-up.
        """
        labels = pod_class.labels
        seen = tuple([labels.get(key) for key in self._keys])
        known = self._known.get(seen)
        if known is None:
            known = self._known[seen] = _matching(self._index, pod_class, self._namespace_labels)
        return known


def _matching(
    index: SelectorIndex[CountedPods], pod_class: PodClass, namespace_labels: Labels
) -> list[CountedPods]:
    candidates = index.matching(pod_class.namespace, namespace_labels, pod_class.labels)
    return [
        counted
        for counted in candidates
        if len(counted.selectors) == 1 or counted.matches(pod_class, namespace_labels)
    ]
