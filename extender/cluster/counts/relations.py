"""What the required terms of one class have to do with pods of another, remembered if expensive."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from sys import maxsize
from typing import Final, TypeAlias
from weakref import WeakKeyDictionary, ref

from extender.cluster.counts.counters import Counters
from extender.cluster.counts.nodes import Nodes
from extender.model.objects import PodClass

MOST_RELATIONS: Final = 4096
"""Remembered; then all are forgotten. Each takes half a kilobyte, and no longer than its classes
exist."""


@dataclass(frozen=True, slots=True)
class Relation:
    """How an owner of rules gets on with other pods, one to one."""

    attracted: bool
    """The owner has required affinity, and all terms are about the other."""
    repelled: frozenset[str]
    """Topology keys of nodes over which the owner's required anti-affinity is about the other."""


Row: TypeAlias = WeakKeyDictionary[PodClass, Relation]


class Relations:
    """The relations that are expensive to find out: a class may have thousands of conditions.

    They are true until the labels of a namespace change, or a node has a label key that none had.
    """

    def __init__(self, counters: Counters, nodes: Nodes) -> None:
        self._counters = counters
        self._nodes = nodes
        self._known: WeakKeyDictionary[PodClass, Row]
        self._same: dict[int, tuple[ref[PodClass], Row]]
        """By the id of an owner: equal classes of thousands of terms are expensive to compare."""
        self._forget()

    def of(self, owner: PodClass, other: PodClass) -> Relation:
        """Return a relation; O(conditions of the owner's terms) if it is not known yet."""
        known = self._find(owner, other)
        while known is None:
            for _ in self.finding(owner, other, maxsize):
                pass
            known = self._find(owner, other)
        return known

    def preparing(
        self, pairs: Iterable[tuple[PodClass, PodClass]], comparisons: int
    ) -> Iterator[int]:
        """Find out expensive ones in steps of about so many comparisons; yield what each took."""
        for owner, other in pairs:
            if self._find(owner, other) is None:
                yield from self.finding(owner, other, comparisons)

    def finding(self, owner: PodClass, other: PodClass, comparisons: int) -> Iterator[int]:
        """Find out one in steps; one during which namespaces change is not remembered."""
        began, affinity = self._surroundings, owner.affinity
        labels = self._counters.namespace_labels(other.namespace)
        attracted, repelled, spent = bool(affinity.required), set(), 0
        own = len(affinity.required)
        for number, term in enumerate((*affinity.required, *affinity.required_anti)):
            attracts, key = number < own, term.topology_key
            if attracts and attracted:
                attracted = term.pods.matches(other.namespace, labels, other.labels)
                spent += term.pods.conditions
            elif not attracts and key not in repelled and self._nodes.has_key(key):
                if term.pods.matches(other.namespace, labels, other.labels):
                    repelled.add(key)
                spent += term.pods.conditions
            if spent >= comparisons:
                yield spent
                spent = 0
                if began != self._surroundings:
                    return
        self._remember(owner, other, Relation(attracted, frozenset(repelled)))
        yield spent

    @property
    def _surroundings(self) -> tuple[int, ...]:
        """Return what changes with the labels of namespaces, and when nodes have a new label."""
        return self._counters.structure[1:]

    def _find(self, owner: PodClass, other: PodClass) -> Relation | None:
        if self._true_of != self._surroundings:
            self._forget()
        return self._row(owner).get(other)

    def _row(self, owner: PodClass) -> Row:
        number = id(owner)
        found = self._same.get(number)
        if found is None:
            row = self._known.setdefault(owner, WeakKeyDictionary())
            same = self._same

            def drop(_: ref[PodClass]) -> None:
                same.pop(number, None)

            found = same[number] = ref(owner, drop), row
        return found[1]

    def _remember(self, owner: PodClass, other: PodClass, relation: Relation) -> None:
        if self._true_of != self._surroundings or self._added >= MOST_RELATIONS:
            self._forget()
        self._added += 1
        self._row(owner)[other] = relation

    def _forget(self) -> None:
        self._true_of = self._surroundings
        self._known = WeakKeyDictionary()
        self._same = {}
        self._added = 0
