"""What node affinity says of every node, kept up to date as nodes come, go and are relabelled."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from itertools import chain, islice
from typing import Final, TypeAlias

from extender.core.cluster.counts.node_index import NodeIndex
from extender.core.cluster.counts.nodes import NodeList, Nodes
from extender.core.cluster.counts.topology import picker
from extender.core.model import memory
from extender.core.model.labels import Labels
from extender.core.model.lru_cache import LruCache
from extender.core.model.node_selection import NodeRule, NodeSelection
from extender.core.model.signed import shift

FIRST_CAPACITY: Final = 1024
"""Nodes that a column has room for at first. With more, columns twice as long are made anew."""
AT_ONCE: Final = 250
"""Nodes that are judged in one step: half a millisecond. More if the rule is longer than that, for
each step goes through all of it."""


class NodeColumn:
    """What one rule says of each node, by the node's number."""

    __slots__ = ("_nodes", "by_number", "matching", "rule")

    def __init__(self, rule: NodeRule, nodes: Nodes, capacity: int) -> None:
        self.rule = rule
        self.matching = 0
        """How many known nodes the rule says something of."""
        self.by_number: bytearray | list[int] = (
            [0] * capacity if rule.adds_up else bytearray(capacity)
        )
        self._nodes = nodes

    def of(self, name: str) -> int:
        return self.by_number[self._nodes.number_of(name)] if name in self._nodes else 0

    def values(self, asked: NodeList) -> Sequence[int]:
        """Return what the rule says of the known nodes of a question, by position."""
        found: Sequence[int] = picker(asked.numbers)(self.by_number)
        return found

    def put(self, number: int, value: int) -> None:
        """Take over what the rule says of a node, 0 of one that is gone."""
        self.matching += bool(value) - bool(self.by_number[number])
        self.by_number[number] = value

    @property
    def size(self) -> int:
        """Return about what it takes, in bytes."""
        return self.rule.size + len(self.by_number) * (8 if self.rule.adds_up else 1)


class NamedNodes:
    """What a rule says that is about few nodes and names them."""

    __slots__ = ("_values",)

    def __init__(self, values: Mapping[str, int]) -> None:
        self._values = values

    @property
    def matching(self) -> int:
        return len(self._values)

    def of(self, name: str) -> int:
        return self._values.get(name, 0)

    def values(self, asked: NodeList) -> Sequence[int]:
        found = self._values
        if found.keys().isdisjoint(asked.names):
            return [0] * len(asked.names)
        return [found.get(name, 0) for name in asked.names]


Judged: TypeAlias = NodeColumn | NamedNodes
"""What a rule says of the nodes, 0 of all others."""


class NodeRules:
    """The rules that questions asked for lately, each with what it says of every node.

    A rule that names its nodes (those of a DaemonSet's pods) is answered from these nodes alone.
    For any other a column is made when it is first asked for, and kept up to date by the events of
    nodes. Bounded by bytes, those not asked for the longest time go first; and when the last pod
    goes that has a rule, its column goes too.
    """

    def __init__(self, nodes: Nodes) -> None:
        self._nodes = nodes
        self._capacity = FIRST_CAPACITY
        # It may be made when there are nodes already.
        highest = max(map(nodes.number_of, nodes), default=0)
        while self._capacity <= highest:
            self._capacity *= 2
        self._columns: LruCache[NodeRule, NodeColumn] = LruCache(
            memory.NODE_RULES, share=1, dropped=self._drop
        )
        self._latest: tuple[NodeRule, NodeRule] | None = None
        """A rule that was asked for, and its equal that has the column: those of one call ask for
        the same again and again, and equal rules of thousands of terms are expensive to compare."""
        self._unfinished: dict[NodeColumn, None] = {}
        """Columns of which a part is still to be judged; events reach them as well."""
        self._by_key: dict[str, dict[NodeColumn, None]] = {}
        """Columns by the label keys that their rules are about."""
        self._pods: dict[NodeRule, int] = {}

    def __len__(self) -> int:
        return len(self._columns)

    def __iter__(self) -> Iterator[NodeColumn]:
        return self._columns.values()

    def keeps(self, column: NodeColumn) -> bool:
        return self._columns.peek(column.rule) is column

    def judge(self, rule: NodeRule) -> Judged:
        """Return what a rule says of the nodes.

        O(1), or O(nodes) at the first question and after it was given up; of a rule that names its
        nodes, O(names).
        """
        if rule.names is not None:
            return self._named(rule)
        asked = rule
        if self._latest is not None and self._latest[0] is asked:
            rule = self._latest[1]
        column = self._columns.get(rule) or self._made(rule)
        self._latest = asked, column.rule
        return column

    def preparing(self, rule: NodeRule) -> Iterator[None]:
        """Judge the nodes in steps, so that `judge` is O(1) afterwards; none where it already is.

        Nodes may change between two steps. If they outgrow the column, it is left to `judge`.
        """
        if rule.names is not None or self._knows(rule):
            return
        column = NodeColumn(rule, self._nodes, self._capacity)
        self._unfinished[column] = None
        try:
            names = iter(list(self._nodes))
            while some := list(islice(names, max(AT_ONCE, rule.conditions))):
                self._fill(column, [name for name in some if name in self._nodes])
                yield
                if column not in self._unfinished:
                    return
            if not self._knows(rule):
                self._keep(column)
        finally:
            self._unfinished.pop(column, None)

    def _knows(self, rule: NodeRule) -> bool:
        return self._columns.peek(rule) is not None

    def _named(self, rule: NodeRule) -> NamedNodes:
        nodes, found = self._nodes, dict[str, int]()
        for term, weight in rule.terms:
            for name in term.names or ():
                if name in nodes and (rule.adds_up or name not in found):
                    labels = nodes.labels(name)
                    if term.matches(name, labels):
                        found[name] = found.get(name, 0) + weight
        met = {
            name: value
            for name, value in found.items()
            if all(condition.matches(nodes.labels(name)) for condition in rule.common)
        }
        return NamedNodes(met)

    def _made(self, rule: NodeRule) -> NodeColumn:
        column = NodeColumn(rule, self._nodes, self._capacity)
        self._fill(column, self._nodes.keys())
        self._keep(column)
        return column

    def _fill(self, column: NodeColumn, names: Collection[str]) -> None:
        rule = column.rule
        for number, value in NodeIndex(self._nodes, rule.keys, names).judge(rule).items():
            column.put(number, value)

    def _keep(self, column: NodeColumn) -> None:
        rule = column.rule
        if self._columns.put(rule, column, column.size):
            for key in rule.keys:
                self._by_key.setdefault(key, {})[column] = None

    def _drop(self, column: NodeColumn) -> None:
        for key in column.rule.keys:
            columns = self._by_key[key]
            del columns[column]
            if not columns:
                del self._by_key[key]


class NodeRuleRegistry(NodeRules):
    def count(self, asked: NodeSelection, pods: int) -> None:
        """Add `pods`, which may be negative, to the pods that have these rules."""
        for rule in asked.rules:
            shift(self._pods, rule, pods)
            if rule not in self._pods:
                self._latest = None
                column = self._columns.pop(rule)
                if column is not None:
                    self._drop(column)

    def changed(self, name: str, before: Labels | None) -> None:
        """Judge a node again that has other labels than before, None if it was not known.

        O(columns about the labels that changed), or O(columns).
        """
        number, labels = self._nodes.number_of(name), self._nodes.labels(name)
        if number >= self._capacity:
            self._outgrow(number)
        known = list(self) if before is None else self._about(before, labels)
        for column in chain(known, self._unfinished):
            column.put(number, column.rule.judge(name, labels))

    def _about(self, before: Labels, labels: Labels) -> Iterable[NodeColumn]:
        changed = {key for key, _ in before.items() ^ labels.items()}
        return {column: None for key in changed for column in self._by_key.get(key, ())}

    def disappears(self, name: str) -> None:
        """Forget a node that is about to become unknown."""
        number = self._nodes.number_of(name)
        for column in chain(self, self._unfinished):
            column.put(number, 0)

    def _outgrow(self, number: int) -> None:
        while self._capacity <= number:
            self._capacity *= 2
        self._unfinished.clear()
        for _ in range(len(self._columns)):
            self._drop(self._columns.pop_oldest())
