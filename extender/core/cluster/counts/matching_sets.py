"""The sets of matching pods that are kept up to date: filed, found, and given up."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator, Mapping

from extender.core.cluster.counts.matching_pods import MatchingPods, PlacedClass, Weight, weigh_in
from extender.core.cluster.counts.nodes import NodeRegistry
from extender.core.cluster.counts.pod_sets import How, PodSet
from extender.core.model import memory
from extender.core.model.labels import Labels
from extender.core.model.objects import PodClass
from extender.core.model.pod_affinity import PodSelector
from extender.core.model.selector_index import SelectorIndex

FILING = 4
"""Comparisons that take as long as filing a selector does."""


class MatchingPodSets:
    """The sets that questions asked for lately, kept up to date while they are in use.

    Bounded by the selectors in them and by their entries: those that no question was resolved to
    for the longest time go first.
    """

    def __init__(self, nodes: NodeRegistry, most: int) -> None:
        self._nodes = nodes
        self._most = most
        self._sets: OrderedDict[tuple[PodSet, str], MatchingPods] = OrderedDict()
        """In the order in which they were asked for last."""
        self.size = 0
        """How many selectors they have."""
        self._entries = 0
        self._measured: dict[MatchingPods, int] = {}
        """The entries of each set when it was looked at last: counted further, or asked for."""
        self._period = 0
        self._index: SelectorIndex[Weight] = SelectorIndex()
        self._filed: dict[MatchingPods, list[Weight]] = {}

    def __len__(self) -> int:
        return len(self._sets)

    def __iter__(self) -> Iterator[MatchingPods]:
        return iter(self._sets.values())

    def __contains__(self, counted: object) -> bool:
        return counted in self._filed

    def find(self, pod_set: PodSet, topology_key: str) -> MatchingPods | None:
        """Return a set that is kept already, complete or not."""
        counted = self._sets.get((pod_set, topology_key))
        if counted is not None:
            # By the set's own name: equal ones of many selectors are expensive to compare.
            self._sets.move_to_end(counted.name)
            counted.asked = self._period
            self.measure(counted)
        return counted

    def add(
        self,
        pod_set: PodSet,
        topology_key: str,
        candidates: Callable[[PodSet], Iterable[PlacedClass]],
    ) -> MatchingPods:
        """Start a set, empty and not filed yet; O(selectors), but little for each.

        `candidates` returns the placed classes that may belong to it.
        """
        counted = MatchingPods(pod_set, self._nodes.table(topology_key), asked=self._period)
        if pod_set.how is How.SUM:
            counted.weights = SelectorIndex()
        counted.pending = self._pending(counted, candidates)
        self._filed[counted] = []
        self._sets[counted.name] = counted
        self.size += counted.size
        self.measure(counted)
        return counted

    def _pending(
        self, counted: MatchingPods, candidates: Callable[[PodSet], Iterable[PlacedClass]]
    ) -> Iterator[PlacedClass | None]:
        """Yield what is left to do, as `MatchingPods.pending` says.

        A class that comes before all selectors are filed is weighed by some of them, so the
        candidates are looked up afterwards, and it is compared like the others.
        """
        yield from self._filing(counted)
        yield from candidates(counted.pod_set)

    def _filing(self, counted: MatchingPods) -> Iterator[None]:
        selectors: Iterable[tuple[PodSelector, int]] = counted.pod_set.weights
        if counted.weights is None:
            # One selector is enough to find it by; the narrowest finds it least often in vain.
            selectors = (min(selectors, key=_breadth),)
        for each in selectors:
            weight = Weight(counted, *each)
            if counted.weights is not None:
                counted.weights.add(weight.pods, each)
            self._index.add(weight.pods, weight)
            self._filed[counted].append(weight)
            yield

    def pop_excess(self) -> Iterator[MatchingPods]:
        """Give up the sets that were asked for longest ago, when there are too many."""
        while self.size > self._most or (self._entries > memory.MATCHING_ENTRIES and self._sets):
            counted = next(iter(self._sets.values()))
            self.give_up(counted)
            yield counted

    def pop_unused(self) -> Iterator[MatchingPods]:
        """Give up the sets that were not asked for since this was gone through last.

        They may change between two steps.
        """
        while (counted := next(iter(self), None)) is not None and counted.asked < self._period:
            self.give_up(counted)
            yield counted
        self._period += 1

    def give_up(self, counted: MatchingPods) -> None:
        del self._sets[counted.name]
        self.size -= counted.size
        self._entries -= self._measured.pop(counted)

    def measure(self, counted: MatchingPods) -> None:
        """Take over how many entries a set has by now, while it is counted."""
        now = counted.entries
        self._entries += now - self._measured.get(counted, 0)
        self._measured[counted] = now

    def unfile(self, counted: MatchingPods) -> Iterator[None]:
        """Take a set that was given up out of the index, a selector at a step."""
        for weight in self._filed.pop(counted):
            self._index.remove(weight.pods, weight)
            yield

    def drop(self, counted: MatchingPods) -> None:
        self._nodes.drop(counted.table)

    def weigh(self, pod_class: PodClass, namespace_labels: Labels) -> dict[MatchingPods, int]:
        return weigh_in(self._index, pod_class, namespace_labels)

    def moved_by(self, namespace: str, before: Labels, now: Labels) -> RelabelledSets:
        moved = [each for each in self if each.pod_set.depends_on(namespace, before, now)]
        return RelabelledSets({each: self._filed[each] for each in moved}, now)


class RelabelledSets:
    """Sets to which the new labels of one namespace make a difference."""

    def __init__(
        self, filed: Mapping[MatchingPods, list[Weight]], namespace_labels: Labels
    ) -> None:
        self.sets = filed.keys()
        self._filed = filed
        self._namespace_labels = namespace_labels
        self._index: SelectorIndex[Weight] = SelectorIndex()
        self._keys: list[str] = []
        self._known: dict[tuple[str | None, ...], dict[MatchingPods, int]] = {}

    @property
    def conditions(self) -> int:
        """Return how many comparisons it takes, at most, to weigh one pod in all of them."""
        return sum(counted.pod_set.conditions for counted in self.sets)

    @property
    def selectors(self) -> int:
        return sum(counted.size for counted in self.sets)

    def file(self) -> None:
        """Prepare for classes to be weighed; O(selectors)."""
        for weights in self._filed.values():
            for weight in weights:
                self._index.add(weight.pods, weight)
        self._keys = sorted({key for counted in self.sets for key in counted.pod_set.keys})

    def weigh(self, pod_class: PodClass) -> tuple[dict[MatchingPods, int], int]:
        """Return what one pod of a class adds to those that it belongs to, and what that took.

        Classes that differ only in labels that no set asks for, as the pods of a StatefulSet do,
        cost one look-up.
        """
        labels = pod_class.labels
        seen = tuple([labels.get(key) for key in self._keys])
        found = self._known.get(seen)
        if found is not None:
            return found, 1 + len(self._keys) // 8
        found = self._known[seen] = weigh_in(self._index, pod_class, self._namespace_labels)
        return found, self.conditions


def _breadth(weighted: tuple[PodSelector, int]) -> int:
    """Return 0 for a selector that the index finds by a label, 1 for one that it must try."""
    return 0 if weighted[0].selector.pins_a_label else 1
