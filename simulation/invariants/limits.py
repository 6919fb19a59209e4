"""`maxMatchingPods` of required terms in annotations, judged by counting the pods of a domain."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from typing import Any

from simulation.invariants.annotated import MOST, counting, said
from simulation.invariants.execution import APART, REQUIRED
from simulation.invariants.kinds import Kind
from simulation.invariants.rules import Json, Labels, speaks_of


def limits_of(pod: Json) -> tuple[dict[str, Any], ...]:
    """Return the terms with a limit that a pod was placed by, none once they were edited."""
    annotation = counting(pod)
    return _limits(annotation) if MOST in annotation else ()


@lru_cache(maxsize=1_000)
def _limits(annotation: str) -> tuple[dict[str, Any], ...]:
    terms: list[dict[str, Any]] = said(annotation)[APART][REQUIRED]
    return tuple(each for each in terms if MOST in each)


def is_exceeded(
    term: Json,
    owner: Kind,
    one: tuple[Kind, Labels],
    others: Iterable[tuple[Kind, Labels]],
    spaces: Mapping[str, Labels],
) -> bool:
    """Tell whether more pods match an owner's term in the domain of a pod than it allows.

    The pod, which may be the owner itself, and the others.
    """
    (pod, here), key = one, term["topologyKey"]
    if key not in here:
        return False
    matched: dict[Kind, bool] = {}
    count = int(speaks_of(term, owner.pod, pod.pod, spaces))
    for kind, labels in others:
        if labels.get(key) == here[key]:
            if kind not in matched:
                matched[kind] = speaks_of(term, owner.pod, kind.pod, spaces)
            count += matched[kind]
    return count > int(term[MOST])


def lets_in(
    one: tuple[Kind, Labels],
    others: Sequence[tuple[Kind, Labels]],
    spaces: Mapping[str, Labels],
) -> bool:
    """Tell whether all limits leave room for a pod on a node: its own, and those of pods there."""
    kind, here = one
    if any(is_exceeded(term, kind, one, others, spaces) for term in limits_of(kind.pod)):
        return False
    return not any(
        here.get(term["topologyKey"], "") == labels.get(term["topologyKey"])
        and speaks_of(term, owner.pod, kind.pod, spaces)
        and is_exceeded(term, owner, one, others, spaces)
        for owner, labels in others
        for term in limits_of(owner.pod)
    )
