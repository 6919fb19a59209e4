"""Nodes by their labels, to find those that a rule matches without looking at every node."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Collection, Iterable, Iterator, Sequence
from collections.abc import Set as AbstractSet
from itertools import chain, compress
from typing import Final, TypeAlias

from extender.core.cluster.counts.nodes import Nodes
from extender.core.model.labels import Operator
from extender.core.model.node_selection import Comparison, Condition, NodeRule, NodeTerm, int64

Bits: TypeAlias = int
"""Some nodes: bit n is 1 when the node with the number n is one of them."""

FEW: Final = 32
"""Nodes up to which a set is put together each time that it is wanted."""

_DIGITS: Final = bytes.maketrans(b"01", b"\x00\x01")


class NodeIndex:
    """The numbers of some nodes, by label key and value; for one rule, then thrown away.

    A condition is a set of nodes, and a set one integer. So a condition costs a few operations on
    as many bits as there are nodes, which the processor does by the word; a rule of a thousand
    conditions takes milliseconds, and the labels are gone through once for all its keys.
    """

    def __init__(self, nodes: Nodes, keys: AbstractSet[str], names: Collection[str]) -> None:
        self._nodes = nodes
        self._every = _bits(map(nodes.number_of, names))
        self._by_key = {key: _LabelIndex() for key in keys}
        for name in names:
            labels, number = nodes.labels(name), nodes.number_of(name)
            for key in keys if len(keys) < len(labels) else labels:
                if key in keys and key in labels:
                    self._by_key[key].add(labels[key], number)

    def judge(self, rule: NodeRule) -> dict[int, int]:
        """Return what a rule says of each node, by number; nodes with 0 are left out."""
        common = self._all_of(rule.common, self._every)
        if not rule.adds_up:
            found = 0
            for term, _ in rule.terms:
                found |= self._matching(term, common)
                if found == common:
                    break
            return dict.fromkeys(_numbers(found), 1)
        gains, losses = _Sums(), _Sums()
        for term, weight in rule.terms:
            sums = gains if weight > 0 else losses
            sums.add(self._matching(term, common), abs(weight))
        totals = gains.totals()
        for number, loss in losses.totals().items():
            totals[number] = totals.get(number, 0) - loss
        return {number: total for number, total in totals.items() if total}

    def _matching(self, term: NodeTerm, among: Bits) -> Bits:
        if term.names is not None:
            among &= self._named(term.names)
        if term.other_than:
            among &= ~self._named(term.other_than)
        return self._all_of(term.conditions, among)

    def _named(self, names: Iterable[str]) -> Bits:
        return _bits(self._nodes.number_of(name) for name in names if name in self._nodes)

    def _all_of(self, conditions: Iterable[Condition], among: Bits) -> Bits:
        for condition in conditions:
            if not among:
                break
            index = self._by_key[condition.key]
            if isinstance(condition, Comparison):
                among &= index.beyond(condition)
                continue
            match condition.operator:
                case Operator.IN:
                    among &= index.having(condition.values)
                case Operator.NOT_IN:
                    among &= ~index.having(condition.values)
                case Operator.EXISTS:
                    among &= index.labelled
                case Operator.DOES_NOT_EXIST:
                    among &= ~index.labelled
        return among


class _LabelIndex:
    """The nodes that have a label, by its value."""

    def __init__(self) -> None:
        self._by_value: dict[str, list[int]] = {}
        self._many: dict[str, Bits] = {}
        """Sets of more than FEW nodes that were wanted before."""
        self._labelled: Bits | None = None
        self._ordered: _Ordered | None = None

    def add(self, value: str, number: int) -> None:
        self._by_value.setdefault(value, []).append(number)

    @property
    def labelled(self) -> Bits:
        if self._labelled is None:
            self._labelled = _bits(chain.from_iterable(self._by_value.values()))
        return self._labelled

    def having(self, values: Collection[str]) -> Bits:
        """Return the nodes that have one of some values; O(values), or O(nodes) the first time."""
        few: list[int] = []
        found = 0
        for value in self._by_value.keys() & values:
            numbers = self._by_value[value]
            if len(numbers) <= FEW:
                few.extend(numbers)
                continue
            if value not in self._many:
                self._many[value] = _bits(numbers)
            found |= self._many[value]
        return found | _bits(few)

    def beyond(self, comparison: Comparison) -> Bits:
        """Return the nodes whose label is an integer on the right side; O(log nodes)."""
        if self._ordered is None:
            self._ordered = _Ordered(self._by_value)
        return self._ordered.beyond(comparison)


class _Ordered:
    """The nodes whose label is an integer, in the order of these."""

    def __init__(self, by_value: dict[str, list[int]]) -> None:
        read = ((int64(value), numbers) for value, numbers in by_value.items())
        every = sorted(
            (value, number) for value, some in read if value is not None for number in some
        )
        self._values = [value for value, _ in every]
        self._numbers = [number for _, number in every]
        self._from: list[Bits] = [0]
        """The nodes from every FEW-th one on."""
        for start in range(len(every) // FEW * FEW, -1, -FEW):
            self._from.append(self._from[-1] | _bits(self._numbers[start : start + FEW]))
        self._from.reverse()

    def beyond(self, comparison: Comparison) -> Bits:
        if comparison.above:
            return self._since(bisect_right(self._values, comparison.bound))
        return self._from[0] & ~self._since(bisect_left(self._values, comparison.bound))

    def _since(self, position: int) -> Bits:
        step = -(-position // FEW)
        return self._from[step] | _bits(self._numbers[position : step * FEW])


class _Sums:
    """Sums of weights, added to many nodes at a time: the n-th integer has bit n of every sum."""

    def __init__(self) -> None:
        self._binary: list[Bits] = []

    def add(self, nodes: Bits, weight: int) -> None:
        for place in range(weight.bit_length()):
            if weight >> place & 1:
                self._carry(nodes, place)

    def _carry(self, nodes: Bits, place: int) -> None:
        while nodes:
            while place >= len(self._binary):
                self._binary.append(0)
            before = self._binary[place]
            self._binary[place] = before ^ nodes
            nodes &= before
            place += 1

    def totals(self) -> dict[int, int]:
        """Return the sums by number of the node; nodes without any are left out."""
        found: dict[int, int] = {}
        for place, nodes in enumerate(self._binary):
            for number in _numbers(nodes):
                found[number] = found.get(number, 0) + (1 << place)
        return found


def _bits(numbers: Iterable[int]) -> Bits:
    some: Sequence[int] = [*numbers]
    if not some:
        return 0
    found = bytearray(max(some) // 8 + 1)
    for number in some:
        found[number >> 3] |= 1 << (number & 7)
    return int.from_bytes(found, "little")


def _numbers(bits: Bits) -> Iterator[int]:
    digits = f"{bits:b}"[::-1].encode().translate(_DIGITS)
    return compress(range(len(digits)), digits)
