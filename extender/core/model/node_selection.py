"""Which nodes a pod asks for, and which it prefers, by their labels and names."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Final, TypeAlias

from extender.core.model.labels import Labels, Operator, Requirement

_INTEGER = re.compile(r"(?P<sign>[+-]?)0*(?P<digits>[0-9]{1,19})", re.ASCII)
_INT64 = range(-(1 << 63), 1 << 63)


def int64(text: str) -> int | None:
    """Return the number that a label's value is for `Gt` and `Lt`, None when it is none.

    As strconv.ParseInt reads it: no blanks or underscores, and nothing beyond 64 bits.
    """
    found = _INTEGER.fullmatch(text)
    if found is None:
        return None
    number = int(found["sign"] + found["digits"])
    return number if number in _INT64 else None


@dataclass(frozen=True, slots=True)
class Comparison:
    """A label that has to be above or below an integer."""

    key: str
    bound: int
    above: bool

    def matches(self, labels: Labels) -> bool:
        """Return whether the label is an integer on the right side."""
        value = labels.get(self.key)
        return value is not None and self.covers(value)

    def covers(self, value: str) -> bool:
        """Return whether a value of the label is an integer on the right side."""
        number = int64(value)
        if number is None:
            return False
        return number > self.bound if self.above else number < self.bound


Condition: TypeAlias = Requirement | Comparison
"""On one label of a node."""


@dataclass(frozen=True, slots=True)
class NodeTerm:
    """Conditions on a node that all have to hold; with none at all it matches every node."""

    conditions: tuple[Condition, ...] = ()
    names: frozenset[str] | None = None
    """The only nodes that it may match, None when it may match any."""
    other_than: frozenset[str] = frozenset()
    """Nodes that it does not match."""

    def matches(self, name: str, labels: Labels) -> bool:
        return (
            (self.names is None or name in self.names)
            and name not in self.other_than
            and all(condition.matches(labels) for condition in self.conditions)
        )


class NodeRule:
    """What a pod's node affinity says about each node, as a number.

    Required: 1 where the common conditions and one of the terms match, else 0. Preferred: the
    weights of the terms that match, added up. A rule is looked up often, so its hash is taken once.
    Treat instances as immutable.
    """

    __slots__ = ("_hash", "adds_up", "common", "keys", "names", "size", "terms")

    def __init__(
        self,
        terms: Iterable[tuple[NodeTerm, int]],
        common: Iterable[Condition] = (),
        *,
        adds_up: bool,
        size: int = 0,
    ) -> None:
        """`size` is about what the rule takes in memory, in bytes; who reads it can tell."""
        self.terms = tuple(terms)
        self.common = tuple(common)
        self.adds_up = adds_up
        self.size = size
        every = [*self.common, *(each for term, _ in self.terms for each in term.conditions)]
        self.keys: Final = frozenset(condition.key for condition in every)
        """The label keys that it is about."""
        self.names: Final = _names(term for term, _ in self.terms)
        """The only nodes that it may match, None when it may match any."""
        self._hash = hash((self.terms, self.common, adds_up))

    @classmethod
    def required(
        cls, terms: Iterable[NodeTerm], common: Iterable[Condition] = (), *, size: int = 0
    ) -> NodeRule:
        """Build a rule that a node meets by one of the terms; without any, none does."""
        return cls(((term, 1) for term in terms), common, adds_up=False, size=size)

    @classmethod
    def preferred(cls, terms: Iterable[tuple[NodeTerm, int]], *, size: int = 0) -> NodeRule:
        """Build a rule that gives a node the weights of the terms that it meets."""
        return cls(terms, adds_up=True, size=size)

    def __hash__(self) -> int:
        return self._hash

    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        return (
            isinstance(other, NodeRule)
            and self._hash == other._hash
            and self.adds_up is other.adds_up
            and self.terms == other.terms
            and self.common == other.common
        )

    def __repr__(self) -> str:
        return f"NodeRule({self.terms!r}, {self.common!r}, adds_up={self.adds_up})"

    @property
    def keys_needed(self) -> Iterator[str]:
        """Yield the label keys without which no node matches, in order."""
        terms = [term for term, _ in self.terms]
        of_all = terms[0].conditions if len(terms) == 1 else ()
        for each in (*self.common, *of_all):
            if isinstance(each, Comparison) or each.operator in {Operator.IN, Operator.EXISTS}:
                yield each.key

    @property
    def conditions(self) -> int:
        """Return how many comparisons it takes to judge one node, at most."""
        return 1 + len(self.common) + sum(2 + len(term.conditions) for term, _ in self.terms)

    def judge(self, name: str, labels: Labels) -> int:
        """Return what the rule says about a node, the plain way: every condition is tried."""
        if not all(condition.matches(labels) for condition in self.common):
            return 0
        weights = (weight for term, weight in self.terms if term.matches(name, labels))
        return sum(weights) if self.adds_up else next(weights, 0)


def _names(terms: Iterable[NodeTerm]) -> frozenset[str] | None:
    names: set[str] = set()
    for term in terms:
        if term.names is None:
            return None
        names |= term.names
    return frozenset(names)


@dataclass(frozen=True, slots=True)
class AnnotatedNodeRules:
    """The node affinity that a pod carries in an annotation."""

    required: NodeRule | None = None
    """Counts while the pod is scheduled."""
    during_execution: NodeRule | None = None
    """Counts while the pod is scheduled, and while it runs: when the node no longer matches, the
    pod is to be evicted."""
    preferred: NodeRule | None = None

    @property
    def required_rules(self) -> Iterator[NodeRule]:
        """Yield what a node has to meet, all of it."""
        yield from (each for each in (self.required, self.during_execution) if each is not None)

    @property
    def preferred_rules(self) -> Iterator[NodeRule]:
        if self.preferred is not None:
            yield self.preferred

    @property
    def rules(self) -> Iterator[NodeRule]:
        yield from self.required_rules
        yield from self.preferred_rules


NO_ANNOTATED_RULES = AnnotatedNodeRules()


@dataclass(frozen=True, slots=True, weakref_slot=True)
class NodeSelection:
    """A pod's node selector and node affinity, or what is added to those of every pod."""

    required: NodeRule | None = None
    """From its spec; None where every node will do."""
    preferred: NodeRule | None = None
    """Likewise; None where no node is better than another."""
    fault: tuple[str, str] | None = None
    """Which preferred term is broken and why, so that nothing can be said of how well nodes suit. A
    required term that is broken matches nothing, as in kube-scheduler."""
    size: int = field(default=0, compare=False)
    """About what it takes, in bytes."""
    annotated: AnnotatedNodeRules = NO_ANNOTATED_RULES
    """What comes from the pod's annotation, besides."""
    named: frozenset[str] | None = None
    """The only nodes that kube-scheduler tries, since every required term of the spec names nodes;
    None: all. A term that is empty or broken names none, though no node matches it."""

    @property
    def during_execution(self) -> NodeRule | None:
        """Return what the node has to meet while the pod runs; None where it may be any."""
        return self.annotated.during_execution

    @property
    def required_rules(self) -> Iterator[NodeRule]:
        if self.required is not None:
            yield self.required
        yield from self.annotated.required_rules

    @property
    def preferred_rules(self) -> Iterator[NodeRule]:
        """Yield the preferences, whose weights add up."""
        if self.preferred is not None:
            yield self.preferred
        yield from self.annotated.preferred_rules

    @property
    def rules(self) -> Iterator[NodeRule]:
        yield from self.required_rules
        yield from self.preferred_rules


NO_NODE_SELECTION = NodeSelection()
