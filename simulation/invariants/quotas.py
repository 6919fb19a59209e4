"""Quotas on pods that use affinity across namespaces, counted the slow and obvious way."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TypeAlias

from simulation.invariants.rules import Json, affinity_terms, anti_terms, weighted_terms

Limits: TypeAlias = Mapping[str, Mapping[str, str]]
"""The hard limits of all quotas with the scope CrossNamespacePodAffinity, by key, at some time."""


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


def are_too_many(pods: int, space: str, pictures: Iterable[Limits]) -> bool:
    """Tell whether so many pods in scope are more than a quota of a namespace allows, each time."""
    return all(
        any(pods > int(hard["pods"]) for key, hard in limits.items() if key.startswith(f"{space}/"))
        for limits in pictures
    )
