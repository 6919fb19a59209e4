"""Which sets of counted pods the rules of a class ask for."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import TypeAlias

from extender.cluster.counts.nodes import Nodes
from extender.cluster.counts.sought import How, Sought
from extender.model.pod_affinity import Affinity, PodSelector, Term

MANY_TERMS = 16
"""Terms from which those over one topology key are counted as one set. Fewer have a set each, which
pods of other classes with the same term share."""

Named: TypeAlias = tuple[Sought, str]
"""A set and its topology key."""


@dataclass(frozen=True, slots=True)
class Wanted:
    """The sets behind a class's own rules.

    Where no node has a topology key, no set is needed to know what a term means there.
    """

    affinity: tuple[Named, ...]
    """One for each key of the required affinity terms that some node has."""
    elsewhere: str | None
    """A key of a required affinity term that no node has, if there is one: then none fits."""
    anti_affinity: tuple[Named, ...]
    preferred: tuple[tuple[Named, int], ...]
    """Each with the factor of its table in a score."""

    def __iter__(self) -> Iterator[Named]:
        yield from self.affinity
        yield from self.anti_affinity
        yield from (named for named, _ in self.preferred)


def wanted(affinity: Affinity, nodes: Nodes) -> Wanted:
    """Return the sets that the rules of a class ask for; O(terms)."""
    group = Sought.all_of(term.pods for term in affinity.required)
    anti = [(term, 1) for term in affinity.required_anti if nodes.has_key(term.topology_key)]
    preferred = [
        (each.term, each.weight)
        for each in affinity.preferred
        if nodes.has_key(each.term.topology_key)
    ]
    many = len(affinity) > MANY_TERMS
    keys = dict.fromkeys(term.topology_key for term in affinity.required)
    return Wanted(
        affinity=tuple((group, key) for key in keys if nodes.has_key(key)),
        elsewhere=next((key for key in keys if not nodes.has_key(key)), None),
        anti_affinity=tuple(
            _summed(anti) if many else [(_alone(term), term.topology_key) for term, _ in anti]
        ),
        preferred=tuple(
            [(named, 1) for named in _summed(preferred)]
            if many
            else [((_alone(term), term.topology_key), weight) for term, weight in preferred]
        ),
    )


def _alone(term: Term) -> Sought:
    return Sought.all_of((term.pods,))


def _summed(weighted: Iterable[tuple[Term, int]]) -> list[Named]:
    by_key: dict[str, dict[PodSelector, int]] = {}
    for term, weight in weighted:
        weights = by_key.setdefault(term.topology_key, {})
        weights[term.pods] = weights.get(term.pods, 0) + weight
    return [(Sought(How.SUM, frozenset(weights.items())), key) for key, weights in by_key.items()]
