"""What follows from selectors alone: that nothing meets one, that one is part of another."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final

from extender.core.model.labels import EVERYTHING, HOSTNAME, Operator, Requirement, Selector
from extender.core.model.pod_affinity import PodSelector

_NESTED: Final[Mapping[str, int]] = {
    HOSTNAME: 0,
    "topology.kubernetes.io/zone": 1,
    "topology.kubernetes.io/region": 2,
}
"""Domains of one lie within a domain of those after it."""


def contradictory(requirements: Iterable[Requirement]) -> str | None:
    """Return the key on which no label can meet all requirements, None when there is none."""
    by_key: dict[str, list[Requirement]] = {}
    for each in requirements:
        by_key.setdefault(each.key, []).append(each)
    return next((key for key, each in by_key.items() if not _can_be_met(each)), None)


def _can_be_met(requirements: list[Requirement]) -> bool:
    """Return whether a value, or no label at all, meets requirements on one key."""
    # Of what is written nowhere, one value stands for all.
    values = {value for each in requirements for value in each.values} | {"\0"}
    labels = [{}, *({each.key: value} for each in requirements[:1] for value in values)]
    return any(all(each.matches(one) for each in requirements) for one in labels)


def within(narrow: PodSelector, wide: PodSelector) -> bool:
    """Return whether all that one is about is certain to be what the other is about."""
    if narrow.selector.matches_nothing or wide.selector.matches_nothing:
        return False
    return _namespaces_within(narrow, wide) and all(
        any(_implies(have, asked) for have in narrow.selector.requirements)
        for asked in wide.selector.requirements
    )


def _namespaces_within(narrow: PodSelector, wide: PodSelector) -> bool:
    if wide.namespace_selector == EVERYTHING:
        return True
    chosen = narrow.namespace_selector
    return frozenset(narrow.namespaces).issubset(wide.namespaces) and (
        chosen is None or chosen == wide.namespace_selector
    )


def _implies(have: Requirement, asked: Requirement) -> bool:
    if have.key != asked.key:
        return False
    match have.operator, asked.operator:
        case Operator.IN, Operator.IN:
            return frozenset(have.values).issubset(asked.values)
        case Operator.IN, Operator.NOT_IN:
            return frozenset(have.values).isdisjoint(asked.values)
        case Operator.NOT_IN, Operator.NOT_IN:
            return frozenset(asked.values).issubset(have.values)
        case both:
            return both in _FOLLOW or have.operator is asked.operator


_FOLLOW: Final = (
    (Operator.IN, Operator.EXISTS),
    (Operator.DOES_NOT_EXIST, Operator.NOT_IN),
)
"""The second follows from the first, whatever the values."""


def no_common_pod(pods: Iterable[PodSelector]) -> str | None:
    """Return why no pod can be what all of them are about, None when one may be."""
    every = list(pods)
    key = contradictory(r for each in every for r in each.selector.requirements)
    if key is not None:
        return f"no label {key} meets all of them"
    named = [frozenset(each.namespaces) for each in every if each.namespace_selector is None]
    if named and not frozenset.intersection(*named):
        return "they are about different namespaces"
    return None


def negative(selector: Selector) -> bool:
    """Return whether a selector asks for nothing but absence."""
    absent = {Operator.NOT_IN, Operator.DOES_NOT_EXIST}
    return bool(selector.requirements) and all(
        each.operator in absent for each in selector.requirements
    )


def contains(outer: str, inner: str) -> bool:
    """Return whether each domain of the inner topology key lies within one of the outer."""
    if outer == inner:
        return True
    ranks = _NESTED.get(outer), _NESTED.get(inner)
    return ranks[0] is not None and ranks[1] is not None and ranks[0] > ranks[1]
