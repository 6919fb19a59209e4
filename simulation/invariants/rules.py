"""Rules about pods judged the slow and obvious way; shares no code with the extender.

Pods are read as the API server has stored them: with their label keys in the selectors.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, TypeAlias

Json: TypeAlias = Mapping[str, Any]
Labels: TypeAlias = Mapping[str, str]

_REQUIRED: Final = "requiredDuringSchedulingIgnoredDuringExecution"
_PREFERRED: Final = "preferredDuringSchedulingIgnoredDuringExecution"


def anti_terms(pod: Json) -> list[Json]:
    return _terms(pod, "podAntiAffinity", _REQUIRED)


def affinity_terms(pod: Json) -> list[Json]:
    return _terms(pod, "podAffinity", _REQUIRED)


def weighted_terms(pod: Json) -> list[tuple[Json, int]]:
    """Return the terms that a pod prefers, each with its weight, negative for those against."""
    return [
        (each["podAffinityTerm"], sign * each["weight"])
        for side, sign in (("podAffinity", 1), ("podAntiAffinity", -1))
        for each in _terms(pod, side, _PREFERRED)
    ]


def has_rules(pod: Json) -> bool:
    return bool(anti_terms(pod) or affinity_terms(pod))


def speaks_of(term: Json, owner: Json, pod: Json, spaces: Mapping[str, Labels]) -> bool:
    space = pod["metadata"]["namespace"]
    listed, chosen = term.get("namespaces") or (), term.get("namespaceSelector")
    if not listed and chosen is None:
        covered = space == owner["metadata"]["namespace"]
    else:
        covered = space in listed or selects(chosen, spaces.get(space, {}))
    return covered and selects(term.get("labelSelector"), pod["metadata"].get("labels") or {})


def selects(selector: Json | None, labels: Labels) -> bool:
    """Match a LabelSelector: null selects nothing, an empty one everything."""
    if selector is None:
        return False
    pairs = selector.get("matchLabels") or {}
    expressions = selector.get("matchExpressions") or ()
    return all(key in labels and labels[key] == value for key, value in pairs.items()) and all(
        _holds(each, labels) for each in expressions
    )


def _terms(pod: Json, side: str, strength: str) -> list[Json]:
    affinity = pod["spec"].get("affinity") or {}
    found: list[Json] = (affinity.get(side) or {}).get(strength) or []
    return found


def _holds(requirement: Json, labels: Labels) -> bool:
    key, values = requirement["key"], requirement.get("values") or ()
    match requirement["operator"]:
        case "In":
            return key in labels and labels[key] in values
        case "NotIn":
            return key not in labels or labels[key] not in values
        case "Exists":
            return key in labels
        case "DoesNotExist":
            return key not in labels
        case other:
            raise ValueError(f"no operator of a label selector: {other}")
