"""Quotas on pods that use affinity across namespaces, counted the slow and obvious way."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Final, TypeAlias

from simulation.invariants.rooms import milli
from simulation.invariants.rules import Json, affinity_terms, anti_terms, weighted_terms

Limits: TypeAlias = Mapping[str, Mapping[str, str]]
"""The hard limits of all quotas with the scope CrossNamespacePodAffinity, by key, at some time."""
SCOPE: Final = "CrossNamespacePodAffinity"
OF_ALL: Final = {SCOPE, "NotBestEffort", "NotTerminating"}
"""Scopes that all pods here are in which use affinity across namespaces."""


def crosses_namespaces(pod: Json) -> bool:
    """Tell whether a pod is in the scope: a term of any kind names namespaces or selects them."""
    return any(
        term.get("namespaces") or term.get("namespaceSelector") is not None
        for term in (
            *affinity_terms(pod),
            *anti_terms(pod),
            *(term for term, _ in weighted_terms(pod)),
        )
    )


def scopes_of(quota: Json) -> set[str]:
    spec = quota["spec"]
    selected = spec.get("scopeSelector", {}).get("matchExpressions", ())
    return {*spec.get("scopes", ()), *(each["scopeName"] for each in selected)}


def limits_of(quota: Json) -> dict[str, str] | None:
    """Return what a quota allows pods in the scope, {} if it is about none, None without it."""
    scopes = scopes_of(quota)
    return None if SCOPE not in scopes else dict(quota["spec"]["hard"]) if scopes <= OF_ALL else {}


def use_of(pods: Iterable[Json]) -> Counter[str]:
    """Return what pods take of the resources that they say, in thousandths."""
    used: Counter[str] = Counter()
    for pod in pods:
        used.update({"pods": 1000, "count/pods": 1000})
        used.update(dict.fromkeys(("cpu", "requests.cpu"), milli(pod)))
    return used


def refuse(pods: Sequence[Json], space: str, pictures: Iterable[Limits], *, limited: bool) -> bool:
    """Tell whether quotas do not allow these pods in scope in a namespace, each time."""
    used = use_of(pods)
    return all(
        any(_exceeds(used, hard) for hard in there) or (limited and not there)
        for there in (
            [hard for key, hard in limits.items() if key.startswith(f"{space}/")]
            for limits in pictures
        )
    )


def _exceeds(used: Mapping[str, int], hard: Mapping[str, str]) -> bool:
    """Tell whether something is used beyond a limit, or is left open by all pods here."""
    return any(name not in used or used[name] > amount_of(amount) for name, amount in hard.items())


def amount_of(quantity: str) -> int:
    """Return thousandths."""
    return int(quantity[:-1]) if quantity.endswith("m") else 1000 * int(quantity)
