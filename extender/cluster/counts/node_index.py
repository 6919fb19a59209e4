"""Nodes by their labels, to find those that a rule matches without looking at every node."""

from __future__ import annotations

from collections.abc import Iterable
from collections.abc import Set as AbstractSet
from functools import reduce

from extender.cluster.counts.nodes import Nodes
from extender.model.labels import Operator
from extender.model.node_affinity import Comparison, Condition, NodeRule, NodeTerm

_NONE: frozenset[int] = frozenset()


class NodeIndex:
    """The numbers of the known nodes, by label key and value; for one rule, then thrown away.

    A condition is a set of nodes, or all but a set. So a term costs as much as the sets that it
    picks, in steps of C, and a label key one look at each node, however many terms there are.
    """

    def __init__(self, nodes: Nodes) -> None:
        self._nodes = nodes
        self._numbers = {nodes.number_of(name) for name in nodes}
        self._by_value: dict[str, dict[str, set[int]]] = {}
        self._having: dict[str, AbstractSet[int]] = {}

    def judge(self, rule: NodeRule) -> dict[int, int]:
        """Return what a rule says of each node, by number; nodes with 0 are left out."""
        common = self._all_of(rule.common, self._numbers)
        found: dict[int, int] = {}
        if not rule.adds_up:
            left = set(common)
            for term, _ in rule.terms:
                if not left:
                    break
                left -= self._matching(term, left)
            return dict.fromkeys(common - left, 1)
        for term, weight in rule.terms:
            for number in self._matching(term, common):
                found[number] = found.get(number, 0) + weight
        return {number: value for number, value in found.items() if value}

    def _matching(self, term: NodeTerm, among: AbstractSet[int]) -> AbstractSet[int]:
        if term.names is not None:
            among = among & self._named(term.names)
        if term.other_than:
            among = among - self._named(term.other_than)
        return self._all_of(term.conditions, among)

    def _named(self, names: Iterable[str]) -> set[int]:
        return {self._nodes.number_of(name) for name in names if name in self._nodes}

    def _all_of(self, conditions: Iterable[Condition], among: AbstractSet[int]) -> AbstractSet[int]:
        """Return the nodes that meet all conditions; the narrowest is applied first."""
        wanted: list[AbstractSet[int]] = [among]
        unwanted: list[AbstractSet[int]] = []
        for condition in conditions:
            found, meets = self._set_of(condition)
            (wanted if meets else unwanted).append(found)
        wanted.sort(key=len)
        return reduce(_minus, unwanted, reduce(_and, wanted))

    def _set_of(self, condition: Condition) -> tuple[AbstractSet[int], bool]:
        """Return a set of nodes, and whether these or all others meet a condition."""
        by_value = self._values(condition.key)
        if isinstance(condition, Comparison):
            return _union(by_value[value] for value in by_value if condition.covers(value)), True
        if condition.operator in (Operator.EXISTS, Operator.DOES_NOT_EXIST):
            return self._having[condition.key], condition.operator is Operator.EXISTS
        values = condition.values
        found = _union(by_value[value] for value in values if value in by_value)
        return found, condition.operator is Operator.IN

    def _values(self, key: str) -> dict[str, set[int]]:
        by_value = self._by_value.get(key)
        if by_value is None:
            by_value = self._by_value[key] = {}
            nodes = self._nodes
            for name in nodes:
                value = nodes.labels(name).get(key)
                if value is not None:
                    by_value.setdefault(value, set()).add(nodes.number_of(name))
            self._having[key] = _union(by_value.values())
        return by_value


def _union(sets: Iterable[AbstractSet[int]]) -> AbstractSet[int]:
    some = list(sets)
    return some[0] if len(some) == 1 else set().union(*some)


def _and(one: AbstractSet[int], other: AbstractSet[int]) -> AbstractSet[int]:
    return one & other


def _minus(one: AbstractSet[int], other: AbstractSet[int]) -> AbstractSet[int]:
    return one - other
