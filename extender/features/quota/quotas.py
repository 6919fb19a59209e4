"""ResourceQuotas with the scope of cross-namespace affinity, and what a pod uses of them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, TypeAlias

from msgspec import Struct

from extender.core.model.facets import Facet
from extender.core.model.keys import Key, namespace_of
from extender.core.model.labels import Labels, Operator, Selector

TERMINATING = "Terminating"
NOT_TERMINATING = "NotTerminating"
BEST_EFFORT = "BestEffort"
NOT_BEST_EFFORT = "NotBestEffort"
PRIORITY_CLASS = "PriorityClass"
CROSS_NAMESPACE = "CrossNamespacePodAffinity"

CROSS_NAMESPACE_NAMES: Final = frozenset((CROSS_NAMESPACE, "CrossNamespaceAffinity"))
"""What the API server calls the scope, and what the enhancement proposal did."""
RESOURCE_QUOTA: Final = "ResourceQuota"

Amounts: TypeAlias = Mapping[str, int]
"""Billionths of a unit by the quota's name for the resource, such as `pods` or `limits.cpu`."""


class Charge(Struct, frozen=True, cache_hash=True, weakref=True):
    """What quotas see of a pod with cross-namespace affinity; replicas have equal ones."""

    usage: tuple[tuple[str, int], ...]
    """Amounts, sorted, without zeros."""
    unset: frozenset[str] = frozenset()
    """Names of cpu and memory amounts that some container leaves open; a quota on one of them
    admits only pods that say it for every container."""
    terminating: bool = False
    """It has a deadline (activeDeadlineSeconds)."""
    best_effort: bool = False
    priority_class: str | None = None
    by_annotation: bool = False
    """It has that affinity in its annotation alone: the API server does not see it."""

    @property
    def scopes(self) -> Labels:
        """Return the scopes that the pod is in, as labels for a quota's selector."""
        scopes = {
            CROSS_NAMESPACE: "",
            TERMINATING if self.terminating else NOT_TERMINATING: "",
            BEST_EFFORT if self.best_effort else NOT_BEST_EFFORT: "",
        }
        if self.priority_class:
            scopes[PRIORITY_CLASS] = self.priority_class
        return scopes


CHARGE: Final[Facet[Charge]] = Facet()
"""None for a pod without cross-namespace affinity."""


@dataclass(frozen=True, slots=True)
class ResourceQuota:
    """A quota, reduced to what it says about pods."""

    key: Key
    uid: str
    scopes: Selector
    """Conditions on Charge.scopes, all of which have to hold."""
    hard: Amounts

    @property
    def namespace(self) -> str:
        return namespace_of(self.key)

    @property
    def is_about_crossing(self) -> bool:
        """Return whether it names the scope of cross-namespace affinity at all."""
        return self.scopes.requires(CROSS_NAMESPACE, Operator.EXISTS)

    def applies_to(self, charge: Charge) -> bool:
        return self.scopes.matches(charge.scopes)
