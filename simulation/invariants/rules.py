"""Required rules judged the slow and obvious way; shares no code with the extender."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final, TypeAlias

Json: TypeAlias = Mapping[str, Any]
Labels: TypeAlias = Mapping[str, str]

_REQUIRED: Final = "requiredDuringSchedulingIgnoredDuringExecution"


def anti_terms(pod: Json) -> list[Json]:
    """Return a pod's required anti-affinity terms."""
    return _terms(pod, "podAntiAffinity")


def affinity_terms(pod: Json) -> list[Json]:
    """Return a pod's required affinity terms."""
    return _terms(pod, "podAffinity")


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


def same_domain(key: str, one: Labels | None, other: Labels | None) -> bool:
    """Tell whether two nodes with these labels are in one domain."""
    return one is not None and other is not None and key in one and one[key] == other.get(key)


def exclude(
    one: tuple[Json, Labels | None], other: tuple[Json, Labels | None], spaces: Mapping[str, Labels]
) -> bool:
    """Tell whether the anti-affinity of either of two placed pods forbids the other."""
    (first, here), (second, there) = one, other
    return any(
        same_domain(term["topologyKey"], here, there) and speaks_of(term, owner, pod, spaces)
        for owner, pod in ((first, second), (second, first))
        for term in anti_terms(owner)
    )


def has_company(
    pod: Json,
    here: Labels | None,
    others: Iterable[tuple[Json, Labels | None]],
    spaces: Mapping[str, Labels],
) -> bool:
    """Tell whether all required affinity of a pod is met, or nobody is there to meet it."""
    terms = affinity_terms(pod)
    if not terms:
        return True
    if here is None or any(term["topologyKey"] not in here for term in terms):
        return False
    matching = [
        there
        for other, there in others
        if all(speaks_of(term, pod, other, spaces) for term in terms)
    ]
    if all(
        any(same_domain(term["topologyKey"], here, there) for there in matching) for term in terms
    ):
        return True
    return starts_group(pod, spaces) and not any(
        there is not None and term["topologyKey"] in there for there in matching for term in terms
    )


def starts_group(pod: Json, spaces: Mapping[str, Labels]) -> bool:
    """Tell whether a pod matches its own terms, so that it may be the first."""
    return all(speaks_of(term, pod, pod, spaces) for term in affinity_terms(pod))


def _terms(pod: Json, side: str) -> list[Json]:
    affinity = pod["spec"].get("affinity") or {}
    found: list[Json] = (affinity.get(side) or {}).get(_REQUIRED) or []
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
