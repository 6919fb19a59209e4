"""Sets of placed pods that terms of incoming pods match, counted per domain, and their classes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from extender.core.cluster.counts.pod_sets import How, PodSet
from extender.core.cluster.counts.topology import DomainTable
from extender.core.model.labels import Labels
from extender.core.model.objects import PodClass
from extender.core.model.pod_affinity import PodSelector
from extender.core.model.selector_index import SelectorIndex


@dataclass(slots=True, eq=False)
class MatchingPods:
    """The placed pods that are sought, counted per domain of one topology key.

    While `pending` has classes, the table lacks them, and must not be used.
    """

    pod_set: PodSet
    table: DomainTable
    members: dict[PlacedClass, None] = field(default_factory=dict)
    pending: Iterator[PlacedClass | None] | None = None
    """What is left to do: None for each selector that is not filed yet, then the classes that were
    placed by then and are not compared yet. None when the set is complete. Later classes are
    compared as they come."""
    weights: SelectorIndex[tuple[PodSelector, int]] | None = None
    """Finds the selectors that match a class, where there are many to add up; it does not refer to
    the set, so that one that is given up goes with its last reference."""
    asked: int = 0
    """The period in which it was asked for last."""
    compared: int = 0
    """Conditions that classes were compared with so far, at most."""
    most_conditions: int = field(init=False)
    """Comparisons that the longest selector takes; looked up with every class."""
    values: int = field(init=False)
    """As how many entries its selectors count; looked up with every step."""

    def __post_init__(self) -> None:
        self.most_conditions = self.pod_set.most_conditions
        self.values = self.pod_set.values

    @property
    def size(self) -> int:
        """Return how many selectors have to be kept for the set."""
        return len(self.pod_set.weights) or 1

    @property
    def entries(self) -> int:
        """Return how many domains and classes it has now, and as how many its selectors count."""
        return len(self.table.counts) + len(self.members) + self.values

    @property
    def name(self) -> tuple[PodSet, str]:
        return self.pod_set, self.table.topology.key

    def weigh(self, pod_class: PodClass, namespace_labels: Labels) -> int:
        namespace, labels = pod_class.namespace, pod_class.labels
        weights = self.weights
        if weights is None:
            for pods, _ in self.pod_set.weights:
                self.compared += pods.conditions
                if not pods.matches(namespace, namespace_labels, labels):
                    return 0
            return 1
        before = weights.compared
        found = sum(each for _, each in weights.matching(namespace, namespace_labels, labels))
        self.compared += 1 + (weights.compared - before) * self.most_conditions
        return found


@dataclass(slots=True, eq=False)
class Weight:
    """What one selector of a set adds for the pods that it matches."""

    counted: MatchingPods
    pods: PodSelector
    weight: int


def weigh_in(
    index: SelectorIndex[Weight], pod_class: PodClass, namespace_labels: Labels
) -> dict[MatchingPods, int]:
    """Return the sets in an index that pods of a class belong to, with what one pod adds."""
    found: dict[MatchingPods, int] = {}
    for each in index.matching(pod_class.namespace, namespace_labels, pod_class.labels):
        counted = each.counted
        if counted.pod_set.how is How.SUM:
            found[counted] = found.get(counted, 0) + each.weight
        elif counted.size == 1 or counted.weigh(pod_class, namespace_labels):
            found[counted] = 1
    return found


class PlacedClass:
    """How many pods of a class each node holds, and where each of them counts.

    An event of a pod moves counters by `place`, with a sign. A class that begins or ceases to match
    moves one table by `belong`, with all of its pods; a node that changes its labels moves the
    shares of its pods (`Counters.moving`).
    """

    __slots__ = ("_tables", "counted", "on_nodes", "owned", "pod_class")

    def __init__(self, pod_class: PodClass, owned: dict[DomainTable, int]) -> None:
        self.pod_class = pod_class
        self.on_nodes: dict[int, int] = {}
        """Pods by node number; nodes without any are left out."""
        self.owned = owned
        """Tables of the terms that the class carries, each with what one pod adds."""
        self.counted: dict[MatchingPods, int] = {}
        """The sets of counted pods that the class belongs to, with what one pod adds to each."""
        self._tables = dict(owned)

    def place(self, node: int, pods: int) -> None:
        """Add pods, negative to take away, to a node and to every table of the class."""
        total = self.on_nodes.get(node, 0) + pods
        if total:
            self.on_nodes[node] = total
        else:
            self.on_nodes.pop(node, None)
        for table, amount in self._tables.items():
            table.add(node, amount if pods == 1 else amount * pods)

    def belong(self, counted: MatchingPods, amount: int) -> None:
        """Add `amount` for each pod to a set of counted pods from now on; 0 takes them out.

        O(nodes) if that is a change, O(1) if not.
        """
        before = self.counted.get(counted, 0)
        if amount == before:
            return
        table = counted.table
        if amount:
            self.counted[counted] = self._tables[table] = amount
            counted.members[self] = None
        else:
            self.abandon(counted)
            del counted.members[self]
        table.add_all(self.on_nodes, amount - before)

    def abandon(self, counted: MatchingPods) -> None:
        """Stop keeping a set that is given up; its table stays as it is at this moment."""
        del self.counted[counted], self._tables[counted.table]

    def tables(self) -> Iterable[tuple[DomainTable, int]]:
        return self._tables.items()
