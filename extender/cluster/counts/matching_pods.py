"""Pods that match the terms of incoming pods, counted per domain."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from extender.cluster.counts.nodes import NodeRegistry
from extender.cluster.counts.placed_classes import PlacedClass
from extender.cluster.counts.pod_sets import How, PodSet
from extender.cluster.counts.selector_index import SelectorIndex
from extender.cluster.counts.topology import DomainTable
from extender.model import memory
from extender.model.labels import Labels
from extender.model.objects import PodClass
from extender.model.pod_affinity import PodSelector

LARGE = 8
"""Selectors from which a set is a large one, and bounded with its like: a pod with thousands of
terms must not cost others the sets that they ask for."""
LARGE_BYTES = 16 << 10
"""Bytes of selectors from which a set is a large one all the same."""
PER_ENTRY = 128
"""Bytes of a domain in the table of a set, or of a class that belongs to it."""


@dataclass(slots=True, eq=False)
class MatchingPods:
    """The placed pods that are sought, counted per domain of one topology key.

    While `pending` has classes, only the others are in the table, and it is of no use to anybody.
    """

    pod_set: PodSet
    table: DomainTable
    members: dict[PlacedClass, None] = field(default_factory=dict)
    pending: Iterator[PlacedClass] | None = None
    """Classes that were placed when the set was started, and not compared with it yet; None when
    the set is complete. Later classes are compared as they come."""
    weights: SelectorIndex[Weight] | None = None
    """Finds the selectors that match a class, where there are many to add up."""
    compared: int = 0
    """Conditions that classes were compared with so far, at most."""
    selector_bytes: int = field(init=False)

    def __post_init__(self) -> None:
        self.selector_bytes = self.pod_set.size

    @property
    def size(self) -> int:
        """Return how many selectors have to be kept for the set."""
        return len(self.pod_set.weights) or 1

    @property
    def bytes(self) -> int:
        """Return about how many bytes it takes now."""
        entries = len(self.table.counts) + len(self.members)
        return self.selector_bytes + PER_ENTRY * entries

    @property
    def is_large(self) -> bool:
        """Return whether it must not compete with the sets that others ask for."""
        return self.size >= LARGE or self.selector_bytes >= LARGE_BYTES

    @property
    def name(self) -> tuple[PodSet, str]:
        """Return what tells it from all other sets."""
        return self.pod_set, self.table.topology.key

    def weigh(self, pod_class: PodClass, namespace_labels: Labels) -> int:
        """Return what one pod of a class adds."""
        namespace, labels = pod_class.namespace, pod_class.labels
        weights = self.weights
        if weights is None:
            for pods, _ in self.pod_set.weights:
                self.compared += pods.conditions
                if not pods.matches(namespace, namespace_labels, labels):
                    return 0
            return 1
        before = weights.compared
        found = sum(each.weight for each in weights.matching(namespace, namespace_labels, labels))
        self.compared += 1 + (weights.compared - before) * self.pod_set.most_conditions
        return found


@dataclass(slots=True, eq=False)
class Weight:
    """What one selector of a set adds for the pods that it matches."""

    counted: MatchingPods
    pods: PodSelector
    weight: int


class MatchingPodSets:
    """The sets that questions asked for lately, kept up to date while they are in use.

    Bounded by bytes and by the selectors in them: of the large sets and of the others, each on
    their own, those that no question was resolved to for the longest time go first.
    """

    def __init__(self, nodes: NodeRegistry, most: int) -> None:
        self._nodes = nodes
        self._most = most
        self._small = _Kept(memory.MATCHING_SETS)
        self._large = _Kept(memory.LARGE_SETS)
        self._index: SelectorIndex[Weight] = SelectorIndex()
        self._filed: dict[MatchingPods, list[Weight]] = {}

    def __len__(self) -> int:
        return len(self._small.sets) + len(self._large.sets)

    def __iter__(self) -> Iterator[MatchingPods]:
        yield from self._small.sets.values()
        yield from self._large.sets.values()

    def __contains__(self, counted: object) -> bool:
        return counted in self._filed

    @property
    def size(self) -> int:
        """Return how many selectors the sets have that are not large."""
        return self._small.size

    def find(self, pod_set: PodSet, topology_key: str) -> MatchingPods | None:
        """Return a set that is kept already, complete or not."""
        name = (pod_set, topology_key)
        return self._small.find(name) or self._large.find(name)

    def add(self, pod_set: PodSet, topology_key: str) -> MatchingPods:
        """Start a set, empty; O(selectors)."""
        counted = MatchingPods(pod_set, self._nodes.table(topology_key))
        weights = [Weight(counted, pods, weight) for pods, weight in pod_set.weights]
        if pod_set.how is How.ALL:
            # One selector is enough to find it by; the narrowest finds it least often in vain.
            filed = [min(weights, key=_breadth)]
        else:
            filed = weights
            counted.weights = SelectorIndex()
            for weight in weights:
                counted.weights.add(weight.pods, weight)
        for weight in filed:
            self._index.add(weight.pods, weight)
        self._filed[counted] = filed
        self._kept(counted).add(counted)
        return counted

    def pop_excess(self) -> Iterator[MatchingPods]:
        """Give up the sets that were asked for longest ago, when there are too many."""
        for kept in (self._small, self._large):
            kept.measure_fresh()
            while kept.size > self._most or (kept.bytes > kept.budget and kept.sets):
                yield kept.pop()

    def give_up(self, counted: MatchingPods) -> None:
        """Give up one set."""
        self._kept(counted).remove(counted)

    def unfile(self, counted: MatchingPods) -> Iterator[None]:
        """Take a set that was given up out of the index, a selector at a step."""
        for weight in self._filed.pop(counted):
            self._index.remove(weight.pods, weight)
            yield

    def drop(self, counted: MatchingPods) -> None:
        """Forget the table of a set that nobody belongs to any more."""
        self._nodes.drop(counted.table)

    def weigh(self, pod_class: PodClass, namespace_labels: Labels) -> dict[MatchingPods, int]:
        """Return the sets that pods of a class belong to, with what one pod adds to each."""
        return _weigh(self._index, pod_class, namespace_labels)

    def moved_by(self, namespace: str, before: Labels, now: Labels) -> RelabelledSets:
        """Return the sets that pods may join or leave when a namespace changes its labels."""
        moved = [each for each in self if each.pod_set.depends_on(namespace, before, now)]
        return RelabelledSets({each: self._filed[each] for each in moved}, now)

    def _kept(self, counted: MatchingPods) -> _Kept:
        return self._large if counted.is_large else self._small


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
        """Return how many selectors they have."""
        return sum(counted.size for counted in self.sets)

    def file(self) -> None:
        """Prepare for classes to be weighed; O(selectors)."""
        for weights in self._filed.values():
            for weight in weights:
                self._index.add(weight.pods, weight)
        self._keys = sorted({key for counted in self.sets for key in counted.pod_set.keys})

    def weigh(self, pod_class: PodClass) -> tuple[dict[MatchingPods, int], int]:
        """Return what one pod of a class adds to those that it belongs to, and what that took.

        Classes that differ only in labels that nobody asks for, as the pods of a StatefulSet do,
        cost one look-up.
        """
        labels = pod_class.labels
        seen = tuple([labels.get(key) for key in self._keys])
        found = self._known.get(seen)
        if found is not None:
            return found, 1 + len(self._keys) // 8
        found = self._known[seen] = _weigh(self._index, pod_class, self._namespace_labels)
        return found, self.conditions


def _weigh(
    index: SelectorIndex[Weight], pod_class: PodClass, namespace_labels: Labels
) -> dict[MatchingPods, int]:
    found: dict[MatchingPods, int] = {}
    for each in index.matching(pod_class.namespace, namespace_labels, pod_class.labels):
        counted = each.counted
        if counted.pod_set.how is How.SUM:
            found[counted] = found.get(counted, 0) + each.weight
        elif counted.size == 1 or counted.weigh(pod_class, namespace_labels):
            found[counted] = 1
    return found


class _Kept:
    """Sets in the order in which they were asked for last."""

    def __init__(self, budget: int) -> None:
        self.budget = budget
        self.sets: OrderedDict[tuple[PodSet, str], MatchingPods] = OrderedDict()
        self.size = 0
        self.bytes = 0
        self._measured: dict[tuple[PodSet, str], int] = {}
        """The bytes of each set when it was looked at last, which is when it was asked for."""
        self._fresh: list[MatchingPods] = []
        """Sets that were started and not measured since."""

    def find(self, name: tuple[PodSet, str]) -> MatchingPods | None:
        counted = self.sets.get(name)
        if counted is not None:
            self.sets.move_to_end(name)
            self._measure(counted)
        return counted

    def add(self, counted: MatchingPods) -> None:
        self.sets[counted.name] = counted
        self.size += counted.size
        self._measure(counted)
        self._fresh.append(counted)

    def pop(self) -> MatchingPods:
        counted = next(iter(self.sets.values()))
        self.remove(counted)
        return counted

    def remove(self, counted: MatchingPods) -> None:
        name = counted.name
        del self.sets[name]
        self.size -= counted.size
        self.bytes -= self._measured.pop(name)

    def measure_fresh(self) -> None:
        """Measure the new sets; each once it is complete."""
        pending = []
        for counted in self._fresh:
            if self.sets.get(counted.name) is counted:
                self._measure(counted)
                if counted.pending is not None:
                    pending.append(counted)
        self._fresh = pending

    def _measure(self, counted: MatchingPods) -> None:
        name, now = counted.name, counted.bytes
        self.bytes += now - self._measured.get(name, 0)
        self._measured[name] = now


def _breadth(weight: Weight) -> int:
    """Return 0 for a selector that the index finds by a label, 1 for one that it must try."""
    return 0 if weight.pods.selector.pins_a_label else 1
