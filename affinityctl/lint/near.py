"""What was probably meant: a name that is one slip of the finger away from one that exists."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Final

from affinityctl.lint.template import KnownPods, Surroundings
from extender.model.labels import Labels, Operator, Requirement, Selector
from extender.model.pod_affinity import Term

_SHORTEST: Final = 3
_SHORTEST_CHANGED: Final = 5
"""Of which one letter may be another: web and wed are two names."""
_BOUNDS: Final = "-._/"


def near(written: str, there: Iterable[str]) -> str | None:
    """Return the first name that was probably meant, None for none."""
    return next((each for each in sorted(there) if _is_slip(written, each)), None)


def _is_slip(one: str, other: str) -> bool:
    """Return whether case, or a letter that is missing, added, changed or swapped, is all.

    Numbers and single letters between hyphens, as of shard-a and shard-b, tell siblings apart.
    """
    if one == other or min(len(one), len(other)) < _SHORTEST:
        return False
    one, other = one.casefold(), other.casefold()
    before = _alike(one, other)
    one_end, other_end = one[before:], other[before:]
    after = _alike(one_end[::-1], other_end[::-1])
    start, end = one[:before], one_end[len(one_end) - after :]
    one_part, other_part = one_end[: len(one_end) - after], other_end[: len(other_end) - after]
    if any(map(str.isdecimal, one_part + other_part)):
        return False
    if (start[-1:] or "-") in _BOUNDS and (end[:1] or "-") in _BOUNDS:
        return not one_part and not other_part
    if len(one_part) == len(other_part) == 1:
        return min(len(one), len(other)) >= _SHORTEST_CHANGED
    swapped = len(one_part) == len("ab") and one_part == other_part[::-1]
    return swapped or len(one_part) + len(other_part) <= 1


def _alike(one: str, other: str) -> int:
    """Return how many letters two names begin with alike."""
    pairs = enumerate(zip(one, other, strict=False))
    return next((at for at, (a, b) in pairs if a != b), min(len(one), len(other)))


def meant(term: Term, known: KnownPods, around: Surroundings) -> str | None:
    """Return the label that a term without a pod was probably to ask for: app=web."""
    chosen = term.pods.selector
    for each in chosen.requirements:
        for changed in _changes(each, known.values):
            others = (other for other in chosen.requirements if other is not each)
            pods = replace(term.pods, selector=Selector.of((*others, changed)))
            if around.some_meets(known, [replace(term, pods=pods)]):
                return _said(changed)
    return None


def meant_of_nodes(asked: Iterable[Requirement], nodes: Iterable[Labels]) -> str | None:
    """Return the label of a node that was probably to be asked for."""
    values: dict[str, set[str]] = {}
    for labels in nodes:
        for key, value in labels.items():
            values.setdefault(key, set()).add(value)
    return next((_said(each) for one in asked for each in _changes(one, values)), None)


def _changes(asked: Requirement, values: dict[str, set[str]]) -> Iterator[Requirement]:
    """Yield what a requirement may have been meant to be, by the values of each key."""
    if asked.operator is not Operator.IN or not asked.values.isdisjoint(values.get(asked.key, ())):
        return
    if asked.key not in values:
        if key := near(asked.key, values):
            yield Requirement(key, asked.operator, asked.values)
        return
    for written in sorted(asked.values):
        if value := near(written, values[asked.key]):
            yield Requirement(asked.key, asked.operator, frozenset((value,)))


def _said(asked: Requirement) -> str:
    return f"{asked.key}={','.join(sorted(asked.values))}"


def hint(found: str | None) -> str:
    """Return the question that a message ends with."""
    return f"; did you mean {found}?" if found else ""
