"""Pod selectors taken apart into what a pod must have, and what it must not have.

An index finds a selector by what pods must have. Of `NotIn` and `DoesNotExist` it finds the
opposite, the selectors that a pod does not match: what all selectors say together, without those,
is what the others say.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import product
from typing import Final, NamedTuple, TypeAlias

from extender.core.model.labels import Operator, Requirement, Selector
from extender.core.model.pod_affinity import PodSelector
from extender.core.model.workload import WORKLOAD

_IN, _EXISTS = Operator.IN, Operator.EXISTS
MOST_ENTRIES: Final = 16
"""Parts of a selector, each with what pods must not have there, if these are more than its values
and names. A part takes some 30 µs to file: a pod's 64 terms, and the 1,024 values that they may
name, are filed in 35 ms at most."""
NAME: Final = " name"
"""A mark of a namespace: its name."""

Unwanted: TypeAlias = tuple[str, str | None]
"""A label key, or a mark, and a value that a pod must not have there; None: any."""


class Conjunction(NamedTuple):
    """A part of a selector: it matches the pods that have all of one thing, and none of another."""

    wanted: PodSelector
    """Has `In` with one value and `Exists` alone, and one namespace or a selector of such."""
    unwanted: Sequence[Unwanted] = ()
    """Labels of pods."""
    unwanted_spaces: Sequence[Unwanted] = ()
    """Labels of namespaces, and names under NAME."""
    spared: Sequence[Unwanted] = ()
    """The workload, under WORKLOAD, whose other revisions are spared."""


class _Sides(NamedTuple):
    """What a label selector says of each key."""

    wanted: Mapping[str, Sequence[str] | None]
    """The values that will do; None: any."""
    unwanted: Sequence[Unwanted]

    def each(self) -> Iterator[Selector]:
        """Yield selectors with one value each; a pod matches one of them at most."""
        keys = [*self.wanted]
        for values in product(*(self.wanted[key] or (None,) for key in keys)):
            yield Selector.of(map(_requirement, keys, values))


def _requirement(key: str, value: str | None) -> Requirement:
    if value is None:
        return Requirement(key, _EXISTS)
    return Requirement(key, _IN, (value,))


def is_conjunction(pods: PodSelector) -> bool:
    """Return whether a selector is the one part of itself, with nothing unwanted."""
    chosen = pods.namespace_selector
    if pods.spared is not None or not _is_wanted(pods.selector):
        return False
    if chosen is None:
        return len(pods.namespaces) == 1
    return not pods.namespaces and _is_wanted(chosen)


def _is_wanted(selector: Selector) -> bool:
    for each in selector.requirements:
        if each.operator is _IN:
            if len(each.values) != 1:
                return False
        elif each.operator is not _EXISTS:
            return False
    return True


def is_too_wide(pods: PodSelector) -> bool:
    """Return whether a selector would have more entries than values, names and MOST_ENTRIES.

    So it is where it chooses among several values more than once. O(requirements)
    """
    parts, entries, named = _extent(pods.selector)
    entries += pods.spared is not None
    names, chosen = len(pods.namespaces), pods.namespace_selector
    total = names * entries
    if chosen is not None:
        spaces, more, besides = _extent(chosen)
        total += spaces * (entries + more - 1 + names)
        named += besides
    return parts * total > max(MOST_ENTRIES, named + names + 2)


def _extent(selector: Selector) -> tuple[int, int, int]:
    """Return how many parts there are at most, how many entries each has, and all values."""
    parts, entries, named = 1, 1, 0
    for each in selector.requirements:
        values = len(each.values) or 1
        named += values
        if each.operator is _IN:
            parts *= values
        elif each.operator is not _EXISTS:
            entries += values
    return parts, entries, named


def conjunctions(pods: PodSelector) -> Sequence[Conjunction]:
    """Take a selector apart, one that is not too wide.

    A pod that it matches is matched by one part alone, any other by none.
    """
    sides, chosen = _sides(pods.selector), pods.namespace_selector
    spaces = None if chosen is None else _sides(chosen)
    if sides is None:
        return ()
    unwanted = sides.unwanted
    spared = () if pods.spared is None else ((WORKLOAD, pods.spared.workload),)
    everywhere = spaces is not None and not spaces.wanted and not spaces.unwanted
    names = () if everywhere else sorted(pods.namespaces)
    unwanted_spaces = () if spaces is None else (*spaces.unwanted, *((NAME, n) for n in names))
    found = []
    for selector in sides.each():
        for name in names:
            wanted = PodSelector(selector, (name,))
            found.append(Conjunction(wanted, unwanted, (), spared))
        for space in () if spaces is None else spaces.each():
            wanted = PodSelector(selector, (), space)
            found.append(Conjunction(wanted, unwanted, unwanted_spaces, spared))
    return found


def _sides(selector: Selector) -> _Sides | None:
    """Return what a selector says of each key, None where it contradicts itself."""
    if selector.matches_nothing:
        return None
    by_key: dict[str, list[Requirement]] = {}
    for each in selector.requirements:
        by_key.setdefault(each.key, []).append(each)
    wanted: dict[str, Sequence[str] | None] = {}
    unwanted: list[Unwanted] = []
    for key, every in by_key.items():
        operators = {each.operator for each in every}
        chosen = [{*each.values} for each in every if each.operator is _IN]
        refused = {v for each in every if each.operator is Operator.NOT_IN for v in each.values}
        absent = Operator.DOES_NOT_EXIST in operators
        if chosen:
            values = chosen[0].intersection(*chosen[1:]) - refused
            if absent or not values:
                return None
            wanted[key] = sorted(values)
        elif absent:
            if _EXISTS in operators:
                return None
            unwanted.append((key, None))
        else:
            if _EXISTS in operators:
                wanted[key] = None
            unwanted += [(key, value) for value in sorted(refused)]
    return _Sides(wanted, unwanted)
