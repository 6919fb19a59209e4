"""Which pods a table is to count."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import NamedTuple, TypeAlias

from msgspec import structs

from extender.core.cluster.counts.nodes import Nodes
from extender.core.model.conjunctions import MOST_ENTRIES
from extender.core.model.labels import EVERYTHING, Labels, Operator, Selector
from extender.core.model.objects import PodClass
from extender.core.model.pod_affinity import Affinity, LimitedTerm, PodSelector, Term
from extender.core.model.workload import MARKS


class How(Enum):
    """What a pod adds to a set of several selectors."""

    ALL = "all"
    """1 when every selector matches it: required affinity is met by pods that match all terms."""
    SUM = "sum"
    """The weights of the selectors that match it, added up: many terms of one kind as one."""


@dataclass(frozen=True, slots=True)
class PodSet:
    """Which pods are to be counted, and how much each adds."""

    how: How
    weights: frozenset[tuple[PodSelector, int]]

    @classmethod
    def all_of(cls, selectors: Iterable[PodSelector]) -> PodSet:
        return cls(How.ALL, frozenset((pods, 1) for pods in selectors))

    @property
    def conditions(self) -> int:
        """Return how many comparisons it takes, roughly, to weigh one pod."""
        every = self.how is How.ALL
        return 1 + sum(
            pods.conditions for pods, _ in self.weights if every or not pods.selector.pins_a_label
        )

    @property
    def most_conditions(self) -> int:
        return max((pods.conditions for pods, _ in self.weights), default=1)

    @property
    def values(self) -> int:
        """Return about how much the selectors take, in domains of a table: see MATCHING_ENTRIES."""
        return sum(_values(pods) for pods, _ in self.weights)

    @property
    def keys(self) -> set[str]:
        """Return the label keys that it is about, those of namespaces not among them."""
        selectors = [pods.selector for pods, _ in self.weights]
        keys = {each.key for selector in selectors for each in selector.requirements}
        return keys | MARKS if any(pods.spared for pods, _ in self.weights) else keys

    def weigh(self, pod_class: PodClass, namespace_labels: Labels) -> int:
        """Return what one pod of a class adds, the plain way: every selector is tried."""
        namespace, labels = pod_class.namespace, pod_class.labels
        matched = [
            weight if pods.matches(namespace, namespace_labels, labels) else 0
            for pods, weight in self.weights
        ]
        return int(all(matched)) if self.how is How.ALL else sum(matched)

    def depends_on(self, namespace: str, before: Labels, now: Labels) -> bool:
        return any(pods.depends_on(namespace, before, now) for pods, _ in self.weights)


def _values(pods: PodSelector) -> int:
    every = (pods.selector, pods.namespace_selector or EVERYTHING)
    requirements = [each for selector in every for each in selector.requirements]
    return 8 + len(pods.namespaces) + sum(4 + len(each.values) for each in requirements)


MANY_TERMS = 16
"""Terms from which those over one topology key are counted as one set. Fewer have a set each, which
pods of other classes with the same term share."""

KeyedSet: TypeAlias = tuple[PodSet, str]
"""A set and its topology key."""


class Sought(NamedTuple):
    """The pods that a term, or several, seek.

    Those that a term does not refuse are all but those that it does: so terms that each leave out
    another value, such as that of the owner, have all of it in common but a small set.
    """

    among: KeyedSet
    without: KeyedSet | None = None
    """Part of these, which does not count."""

    @property
    def sets(self) -> Sequence[KeyedSet]:
        return (self.among,) if self.without is None else (self.among, self.without)

    def of(self, terms: Iterable[Term]) -> tuple[Term, ...]:
        """Return those of some terms that seek them; several may, where they are summed."""
        if self.without is not None:
            return tuple(term for term in terms if sought_by(term) == self)
        pod_set, key = self.among
        selectors = {pods for pods, _ in pod_set.weights}
        return tuple(e for e in terms if e.topology_key == key and e.pods in selectors)


@dataclass(frozen=True, slots=True)
class RuleSets:
    """The sets behind a class's own rules.

    Where no node has a topology key, no set is needed to know what a term means there.
    """

    affinity: tuple[KeyedSet, ...]
    """One for each key of the required affinity terms that some node has."""
    elsewhere: str | None
    """A key of a required affinity term that no node has, if there is one: then none fits."""
    anti_affinity: tuple[Sought, ...]
    preferred: tuple[tuple[Sought, int], ...]
    """Each with the factor of its table in a score."""
    limits: tuple[tuple[KeyedSet, LimitedTerm], ...] = ()

    def __iter__(self) -> Iterator[KeyedSet]:
        yield from self.affinity
        for sought in (*self.anti_affinity, *(each for each, _ in self.preferred)):
            yield from sought.sets
        yield from (named for named, _ in self.limits)


def rule_sets(affinity: Affinity, nodes: Nodes) -> RuleSets:
    """Return the sets that the rules of a class ask for; O(terms)."""
    group = PodSet.all_of(term.pods for term in affinity.required)
    anti = [(term, 1) for term in affinity.required_anti if nodes.has_key(term.topology_key)]
    preferred = [
        (each.term, each.weight)
        for each in affinity.preferred
        if nodes.has_key(each.term.topology_key)
    ]
    many = len(affinity) > MANY_TERMS
    keys = dict.fromkeys(term.topology_key for term in affinity.required)
    return RuleSets(
        affinity=tuple((group, key) for key in keys if nodes.has_key(key)),
        elsewhere=next((key for key in keys if not nodes.has_key(key)), None),
        anti_affinity=tuple(_summed(anti) if many else [sought_by(term) for term, _ in anti]),
        preferred=tuple(
            [(sought, 1) for sought in _summed(preferred)]
            if many
            else [(sought_by(term), weight) for term, weight in preferred]
        ),
        limits=tuple(
            (matched_by(each), each) for each in affinity.limits if nodes.has_key(each.topology_key)
        ),
    )


def matched_by_all(terms: Sequence[Term]) -> list[KeyedSet]:
    """Return, by each term's key, the set of the pods that match all of some terms."""
    group = PodSet.all_of(term.pods for term in terms)
    return [(group, term.topology_key) for term in terms]


def matched_by(term: Term) -> KeyedSet:
    return PodSet.all_of((term.pods,)), term.topology_key


def sought_by(term: Term) -> Sought:
    """Return the pods that one term seeks: where it refuses labels under one key, as two sets."""
    pods, key = term.pods, term.topology_key
    requirements = pods.selector.requirements
    refusing = [each for each in requirements if each.is_negative]
    if len(refusing) != 1 or pods.spared is not None:
        return Sought(matched_by(term))
    (refused,) = refusing
    if len(refused.values) > MOST_ENTRIES:
        # Its values would be kept twice, and few terms have the rest in common with it.
        return Sought(matched_by(term))
    left = [each for each in requirements if each is not refused]
    # A pod with such a value has the key.
    part = [r for r in left if r.key != refused.key or r.operator is not Operator.EXISTS]
    whole = structs.replace(pods, selector=Selector.of(left))
    without = structs.replace(pods, selector=Selector.of((*part, refused.opposite)))
    return Sought((PodSet.all_of((whole,)), key), (PodSet.all_of((without,)), key))


def _summed(weighted: Iterable[tuple[Term, int]]) -> list[Sought]:
    by_key: dict[str, dict[PodSelector, int]] = {}
    for term, weight in weighted:
        weights = by_key.setdefault(term.topology_key, {})
        weights[term.pods] = weights.get(term.pods, 0) + weight
    return [
        Sought((PodSet(How.SUM, frozenset(weights.items())), key))
        for key, weights in by_key.items()
    ]
