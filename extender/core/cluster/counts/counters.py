"""Placed pods by class, and every counter that they move."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager
from itertools import chain
from typing import Final

from extender.core.cluster.counts.class_index import ClassIndex
from extender.core.cluster.counts.deferred_work import DEFERRED_STEPS, DeferredWork
from extender.core.cluster.counts.existing_terms import ExistingTerms
from extender.core.cluster.counts.matching_pods import MatchingPods, PlacedClass
from extender.core.cluster.counts.matching_sets import FILING, MatchingPodSets, RelabelledSets
from extender.core.cluster.counts.nodes import NodeRegistry
from extender.core.cluster.counts.pod_sets import How, PodSet
from extender.core.cluster.counts.scope import Scope
from extender.core.cluster.counts.topology import DomainTable
from extender.core.model.labels import NO_LABELS, Labels
from extender.core.model.objects import PodClass

MOST_REMATCHED = 8_000
"""Comparisons, some ten milliseconds, that new labels of a namespace may cost at once. Sets
that would cost more are given up: the next question about one counts it again, in slices."""
MANY_SELECTORS = 64
"""Beyond which it is not looked up how many classes each of a set may match."""


class Counters:
    """The signed counters of a cluster, moved by the pods that are placed.

    Knows classes and nodes, not single pods: who counts, and why, is ClusterState's business.
    What can wait is put off as deferred work, so that no event costs much more than any other.
    """

    def __init__(
        self,
        nodes: NodeRegistry,
        namespaces: Mapping[str, Labels],
        most_sets: int,
        scope: Scope,
    ) -> None:
        self._nodes = nodes
        self._namespaces = namespaces
        self._unknown = scope.marked(NO_LABELS)
        self.existing_terms: Final = ExistingTerms(nodes, scope)
        self.matching_sets: Final = MatchingPodSets(nodes, most_sets)
        self._placed: dict[PodClass, PlacedClass] = {}
        self.classes: Final[Collection[PlacedClass]] = self._placed.values()
        self._index = ClassIndex()
        self._placed_on: dict[int, list[PlacedClass]] = {}
        self._rematches = 0
        self.deferred: Final = DeferredWork()

    @property
    def structure(self) -> tuple[int, int, int]:
        """Return what changes whenever a class may have to be compared with other tables."""
        return self.existing_terms.version, self._rematches, self._nodes.located

    # Pods

    def place(self, pod_class: PodClass, node: str) -> PodClass:
        """Count one more pod on a node; return the class object that all its pods share."""
        placed = self._placed.get(pod_class)
        if placed is None:
            placed = self._add_class(pod_class)
        number = self._nodes.number_for_pod(node)
        placed.place(number, 1)
        if placed.on_nodes[number] == 1:
            self._placed_on.setdefault(number, []).append(placed)
        if self.deferred:
            self.deferred.do(DEFERRED_STEPS)
        return placed.pod_class

    def displace(self, pod_class: PodClass, node: str) -> None:
        placed = self._placed[pod_class]
        number = self._nodes.number_of(node)
        placed.place(number, -1)
        if number not in placed.on_nodes:
            self._placed_on[number].remove(placed)
            if not self._placed_on[number]:
                del self._placed_on[number]
        self._nodes.release_for_pod(number)
        if not placed.on_nodes:
            self._drop_class(placed)
        if self.deferred:
            self.deferred.do(DEFERRED_STEPS)

    def shift(self, pod_class: PodClass, node: str, pods: int) -> None:
        """Move the counters for a while, by a pod that is not to count, or counts again."""
        self._placed[pod_class].place(self._nodes.number_of(node), pods)

    def _add_class(self, pod_class: PodClass) -> PlacedClass:
        placed = PlacedClass(pod_class, self.existing_terms.carry(pod_class))
        namespace_labels = self.namespace_labels(pod_class.namespace)
        for counted, amount in self.matching_sets.weigh(pod_class, namespace_labels).items():
            placed.belong(counted, amount)
        self._placed[pod_class] = placed
        self._index.add(placed)
        return placed

    def _drop_class(self, placed: PlacedClass) -> None:
        pod_class = placed.pod_class
        del self._placed[pod_class]
        self._index.remove(placed)
        for counted in placed.counted:
            del counted.members[placed]
        self.existing_terms.drop(pod_class)

    # Nodes and namespaces

    def placed_on(self, node: int) -> Collection[PlacedClass]:
        return self._placed_on.get(node, ())

    def classes_on(self, name: str) -> dict[PodClass, int]:
        number = self._nodes.number(name)
        if number is None:
            return {}
        return {each.pod_class: each.on_nodes[number] for each in self.placed_on(number)}

    @contextmanager
    def moving(self, name: str, labels: Labels) -> Iterator[None]:
        """Let a node's pods count in other domains, once it has these labels instead of its own.

        O(pods on the node), or O(labels) when no table is over a key that changes.
        """
        number, keys = self._nodes.number(name), self._nodes.moves(name, labels)
        if number is None or not keys:
            yield
            return
        shares = [
            (table, amount * placed.on_nodes[number])
            for placed in self.placed_on(number)
            for table, amount in placed.tables()
            if table.topology.key in keys
        ]
        for table, share in shares:
            table.add(number, -share)
        yield
        for table, share in shares:
            table.add(number, share)

    def rematch(self, namespace: str, before: Labels) -> None:
        """Compare the classes of a namespace with the terms that its labels make a difference to.

        O(sets + classes of the namespace), and only O(sets) when the change means nothing to any.
        """
        moved = self.matching_sets.moved_by(namespace, before, self.namespace_labels(namespace))
        if moved.sets and not self._moved(moved, namespace):
            for counted in moved.sets:
                self.matching_sets.give_up(counted)
                self._put_off(counted)
        self._rematches += 1

    def _moved(self, moved: RelabelledSets, namespace: str) -> bool:
        """Move the classes of a namespace in and out of sets; False if that costs too much."""
        left = MOST_REMATCHED - FILING * moved.selectors
        if left < 0:
            return False
        moved.file()
        for placed in self._index.in_namespace(namespace):
            amounts, cost = moved.weigh(placed.pod_class)
            left -= cost + len(placed.counted) // 8
            gone = [each for each in placed.counted if each in moved.sets and each not in amounts]
            for counted in gone:
                placed.belong(counted, 0)
            changed = [each for each in amounts.items() if placed.counted.get(each[0]) != each[1]]
            for counted, amount in changed:
                placed.belong(counted, amount)
            left -= (len(gone) + len(changed)) * len(placed.on_nodes)
            if left < 0:
                return False
        return True

    # Terms

    def matching(self, pod_set: PodSet, topology_key: str) -> DomainTable:
        """Return the table of the placed pods that are sought, counted at once when new."""
        counted = self.started(pod_set, topology_key)
        while counted.pending is not None:
            self.advance(counted, len(self._placed) or 1)
        return counted.table

    def started(self, pod_set: PodSet, topology_key: str) -> MatchingPods:
        """Return the set of the placed pods that are sought, which may have classes pending."""
        counted = self.matching_sets.find(pod_set, topology_key)
        return counted or self.matching_sets.add(pod_set, topology_key, self.candidates)

    def counting(self, pod_set: PodSet, topology_key: str, comparisons: int) -> Iterator[int]:
        """Complete a set, `comparisons` at a step; yield what each step took."""
        counted = self.matching_sets.find(pod_set, topology_key)
        if counted is None:
            counted = self.started(pod_set, topology_key)
            self.give_up_excess()
            yield 1
        while counted.pending is not None:
            yield self.advance(counted, comparisons)

    def cost(self, pod_set: PodSet, topology_key: str) -> int:
        """Return how many comparisons, roughly, it still takes to complete a set."""
        counted = self.matching_sets.find(pod_set, topology_key)
        if counted is not None and counted.pending is None:
            return 0
        if len(pod_set.weights) > MANY_SELECTORS:
            # To find out how many exactly would take long itself.
            return len(pod_set.weights) * (len(self._placed) or 1)
        sizes = [self._index.candidates(pods)[0] for pods, _ in pod_set.weights]
        if pod_set.how is How.ALL:
            return min(sizes) * pod_set.conditions
        return sum(
            size * pods.conditions for size, (pods, _) in zip(sizes, pod_set.weights, strict=True)
        )

    def advance(self, counted: MatchingPods, comparisons: int) -> int:
        """File more of a set, or compare it with more classes; return what that took.

        A step may take one class more than it was allowed.
        """
        spent = 0
        for placed in counted.pending or ():
            spent += FILING if placed is None else 1
            # Some have gone since the set was filed.
            if placed is not None and self._placed.get(placed.pod_class) is placed:
                labels = self.namespace_labels(placed.pod_class.namespace)
                before = counted.compared
                amount = counted.weigh(placed.pod_class, labels)
                spent += counted.compared - before
                if amount != placed.counted.get(counted, 0):
                    spent += len(placed.on_nodes)
                    placed.belong(counted, amount)
            if spent >= comparisons:
                break
        else:
            counted.pending = None
        self.matching_sets.measure(counted)
        return spent

    def give_up_excess(self) -> None:
        """Stop keeping the sets beyond the bound; their tables are right until the next event."""
        for counted in self.matching_sets.pop_excess():
            self._put_off(counted)
            self._rematches += 1

    def forgetting(self) -> Iterator[None]:
        """Give up the sets that were not asked for since this was gone through last, as above."""
        for counted in self.matching_sets.pop_unused():
            self._put_off(counted)
            self._rematches += 1
            yield

    def _put_off(self, counted: MatchingPods) -> None:
        counted.pending = None
        self.deferred.put_off(self._forgetting(counted))

    def _forgetting(self, counted: MatchingPods) -> Iterator[None]:
        """Undo what keeps a set that was given up, a selector or a class at a step."""
        yield from self.matching_sets.unfile(counted)
        while counted.members:
            placed, _ = counted.members.popitem()
            placed.abandon(counted)
            yield
        self.matching_sets.drop(counted)

    def namespace_labels(self, namespace: str) -> Labels:
        """Return the labels of a namespace, none for one that is unknown."""
        return self._namespaces.get(namespace, self._unknown)

    def candidates(self, pod_set: PodSet) -> Iterator[PlacedClass]:
        """Yield the placed classes that may be sought; events may come between two of them."""
        found = [self._index.candidates(pods) for pods, _ in pod_set.weights]
        if pod_set.how is How.ALL:
            return min(found, key=lambda each: each[0])[1]
        if sum(size for size, _ in found) >= len(self._placed):
            return iter(list(self._placed.values()))
        return _each_once(chain.from_iterable(classes for _, classes in found))


def _each_once(classes: Iterable[PlacedClass]) -> Iterator[PlacedClass]:
    seen: set[PlacedClass] = set()
    for placed in classes:
        if placed not in seen:
            seen.add(placed)
            yield placed
