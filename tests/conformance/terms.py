"""The affinity terms of a pod's JSON, wherever they stand in it."""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"
SIDES = ("podAffinity", "podAntiAffinity")


def terms_of(pod: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield every PodAffinityTerm of a pod, required and preferred, to be read or changed."""
    affinity = pod["spec"].get("affinity", {})
    for side in SIDES:
        rules = affinity.get(side, {})
        yield from rules.get(REQUIRED, ())
        yield from (weighted["podAffinityTerm"] for weighted in rules.get(PREFERRED, ()))


def with_terms(pod: Mapping[str, Any], change: Callable[[dict[str, Any]], None]) -> dict[str, Any]:
    """Return a copy of a pod with each of its terms changed."""
    changed = copy.deepcopy(dict(pod))
    for term in terms_of(changed):
        change(term)
    return changed
