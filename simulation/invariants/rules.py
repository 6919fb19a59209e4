"""Rules judged the slow and obvious way; shares no code with the extender."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, TypeAlias

Json: TypeAlias = Mapping[str, Any]
Labels: TypeAlias = Mapping[str, str]

_REQUIRED: Final = "requiredDuringSchedulingIgnoredDuringExecution"
_PREFERRED: Final = "preferredDuringSchedulingIgnoredDuringExecution"


def anti_terms(pod: Json) -> list[Json]:
    """Return a pod's required anti-affinity terms."""
    return _terms(pod, "podAntiAffinity", _REQUIRED)


def affinity_terms(pod: Json) -> list[Json]:
    """Return a pod's required affinity terms."""
    return _terms(pod, "podAffinity", _REQUIRED)


def preferred_terms(pod: Json) -> list[Json]:
    """Return the terms that a pod prefers, for or against others."""
    sides = (_terms(pod, side, _PREFERRED) for side in ("podAffinity", "podAntiAffinity"))
    return [each["podAffinityTerm"] for side in sides for each in side]


def has_rules(pod: Json) -> bool:
    """Tell whether a pod has required rules."""
    return bool(anti_terms(pod) or affinity_terms(pod))


def speaks_of(term: Json, owner: Json, pod: Json, spaces: Mapping[str, Labels]) -> bool:
    """Tell whether a term of one pod is about another one."""
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
    return all(labels.get(key) == value for key, value in pairs.items()) and all(
        _holds(each, labels) for each in expressions
    )


def wanted_nodes(spec: Json) -> Json | None:
    """Return the required node affinity of a pod's spec."""
    found: Json | None = ((spec.get("affinity") or {}).get("nodeAffinity") or {}).get(_REQUIRED)
    return found


def allows(wanted: Json, labels: Labels) -> bool:
    """Tell whether required node affinity allows a node with such labels."""
    return any(selects(each, labels) for each in wanted["nodeSelectorTerms"])


def _terms(pod: Json, side: str, strength: str) -> list[Json]:
    affinity = pod["spec"].get("affinity") or {}
    found: list[Json] = (affinity.get(side) or {}).get(strength) or []
    return found


def _holds(requirement: Json, labels: Labels) -> bool:
    key, values = requirement["key"], requirement.get("values") or ()
    match requirement["operator"]:
        case "In":
            return labels.get(key) in values
        case "NotIn":
            return key not in labels or labels[key] not in values
        case "Exists":
            return key in labels
        case _:
            return key not in labels
