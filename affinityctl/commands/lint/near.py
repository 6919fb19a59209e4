"""What was probably meant: a name that is one slip of the finger away from one that exists."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

from extender.core.model.labels import Operator, Requirement

_SHORTEST: Final = 3
_SHORTEST_CHANGED: Final = 5
"""Of which one letter may be another: web and wed are two names."""
_BOUNDS: Final = "-._/"


class Names:
    """Names that exist, found by one that is a slip away in O(its length)."""

    def __init__(self, names: Iterable[str]) -> None:
        self._by_rest: dict[str, list[str]] = {}
        for name in names:
            for rest in _rests(name):
                self._by_rest.setdefault(rest, []).append(name)

    def near(self, written: str) -> str | None:
        """Return the first name that was probably meant, None for none."""
        found = {each for rest in _rests(written) for each in self._by_rest.get(rest, ())}
        return min((each for each in found if _is_slip(written, each)), default=None)


def _rests(name: str) -> set[str]:
    """Return a name, and what is left of it without one of its letters."""
    folded = name.casefold()
    return {folded, *(folded[:at] + folded[at + 1 :] for at in range(len(folded)))}


class Vocabulary:
    """The labels that objects have."""

    def __init__(self) -> None:
        self._values: dict[str, set[str]] = {}
        self._near: dict[str | None, Names] = {}
        """Values by their key, and all keys by None; made when what is near is asked for."""

    def __contains__(self, key: str) -> bool:
        return key in self._values

    def add(self, labels: Iterable[tuple[str, str]]) -> None:
        """Take the labels of an object; to be called before any question."""
        for key, value in labels:
            self._values.setdefault(key, set()).add(value)

    def near(self, written: str, key: str | None = None) -> str | None:
        """Return the value of a key, or the key, that was probably meant."""
        names = self._near.get(key)
        if names is None:
            there = self._values if key is None else self._values.get(key, ())
            names = self._near[key] = Names(there)
        return names.near(written)

    def changes(self, asked: Requirement) -> Iterator[Requirement]:
        """Yield what a requirement that nothing meets may have been meant to be."""
        there = self._values.get(asked.key)
        if asked.operator is not Operator.IN or not frozenset(asked.values).isdisjoint(there or ()):
            return
        if there is None:
            if key := self.near(asked.key):
                yield Requirement(key, asked.operator, asked.values)
            return
        for written in sorted(asked.values):
            if value := self.near(written, asked.key):
                yield Requirement(asked.key, asked.operator, frozenset((value,)))


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


def said(asked: Requirement) -> str:
    """Write a requirement as label selectors are written."""
    return f"{asked.key}={','.join(sorted(asked.values))}"


def hint(found: str | None) -> str:
    return f"; did you mean {found}?" if found else ""
