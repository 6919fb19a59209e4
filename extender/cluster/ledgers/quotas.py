"""The quotas on cross-namespace affinity, and how much of each is in use."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Final

from extender.model.keys import namespace_of
from extender.model.objects import Pod
from extender.model.quota import Charge, ResourceQuota
from extender.model.signed import shift

_NONE: Mapping[Charge, int] = MappingProxyType({})


@dataclass(slots=True, eq=False)
class QuotaInUse:
    """A quota, and what the pods that count use of it."""

    quota: ResourceQuota
    used: dict[str, int] = field(default_factory=dict)
    """Amounts of the resources that the quota limits, zeros left out."""

    def count(self, charge: Charge, pods: int) -> None:
        """Add pods with a charge, negative to take away, if the quota is about them."""
        if not self.quota.applies_to(charge):
            return
        for resource, amount in charge.usage:
            if resource in self.quota.hard:
                shift(self.used, resource, pods * amount)

    @property
    def is_exceeded(self) -> bool:
        """Return whether more is in use than the quota allows."""
        hard = self.quota.hard
        return any(amount > hard[resource] for resource, amount in self.used.items())


class Quotas:
    """Quotas that name the scope of cross-namespace affinity; others are not kept.

    Pods are counted by what they are charged for, so a quota that appears later knows its usage
    without a walk over pods. A pod's event costs the quotas of its namespace. A pod whose bind
    ended unclear counts for each node that it may turn up on.
    """

    def __init__(self, takes_annotations: Callable[[str], bool]) -> None:
        """Say of namespaces whether what pods have in annotations counts there."""
        self._takes_annotations = takes_annotations
        self.pods = 0
        """Pods in scope that count."""
        self._in: dict[str, dict[str, QuotaInUse]] = {}
        self._charges: dict[str, dict[Charge, int]] = {}
        self.namespaces: Final[Collection[str]] = self._charges.keys()
        """Those that have pods in scope, whether these count or not."""

    def __len__(self) -> int:
        return sum(map(len, self._in.values()))

    def __iter__(self) -> Iterator[str]:
        for quotas in self._in.values():
            yield from quotas

    def keys(self) -> AbstractSet[str]:
        """Return namespace/name of all quotas that are kept."""
        return frozenset(self)

    def get(self, key: str) -> ResourceQuota | None:
        """Return a quota by its key, None when there is none."""
        found = self._in.get(namespace_of(key), {}).get(key)
        return None if found is None else found.quota

    def used(self, key: str) -> Mapping[str, int]:
        """Return what is used of a quota by its key, nothing when there is none."""
        found = self._in.get(namespace_of(key), {}).get(key)
        return {} if found is None else found.used

    def of(self, namespace: str) -> Collection[QuotaInUse]:
        """Return the quotas of a namespace."""
        return self._in.get(namespace, {}).values()

    def charges(self, namespace: str) -> Mapping[Charge, int]:
        """Return the pods of a namespace that count, by what they are charged for."""
        charges = self._charges.get(namespace, _NONE)
        if self._takes_annotations(namespace):
            return charges
        return {each: pods for each, pods in charges.items() if not each.by_annotation}

    def exceeded(self, namespace: str) -> bool:
        """Return whether a namespace uses more than one of its quotas allows."""
        return any(each.is_exceeded for each in self.of(namespace))


class QuotaLedger(Quotas):
    """The quotas as watch and pods change them."""

    def count(self, pod: Pod, pods: int) -> None:
        """Count a pod (1), or take it back (-1); one that is out of scope moves nothing."""
        charge, namespace = pod.spec.charge, pod.pod_class.namespace
        if charge is None:
            return
        charges = self._charges.setdefault(namespace, {})
        shift(charges, charge, pods)
        if not charges:
            del self._charges[namespace]
        if not charge.by_annotation or self._takes_annotations(namespace):
            self.pods += pods
            for each in self.of(namespace):
                each.count(charge, pods)

    def count_again(self, namespace: str) -> None:
        """Count what pods use anew, where annotations begin or cease to count; as `upsert`."""
        charges = self._charges.get(namespace, _NONE)
        pods = sum(pods for each, pods in charges.items() if each.by_annotation)
        self.pods += pods if self._takes_annotations(namespace) else -pods
        for each in self.of(namespace):
            each.used = self._in_use(each.quota).used

    def upsert(self, quota: ResourceQuota) -> bool:
        """Add a quota, or replace the one of the same key; return whether anything changed.

        O(distinct charges of the namespace).
        """
        known = self.get(quota.key)
        if known == quota:
            return False
        if not quota.is_about_crossing:
            return known is not None and self.remove(quota.key, known.uid)
        self._in.setdefault(quota.namespace, {})[quota.key] = self._in_use(quota)
        return True

    def _in_use(self, quota: ResourceQuota) -> QuotaInUse:
        in_use, namespace = QuotaInUse(quota), quota.namespace
        for charge, pods in self.charges(namespace).items():
            in_use.count(charge, pods)
        return in_use

    def remove(self, key: str, uid: str) -> bool:
        """Forget a quota and return whether it was there, under this uid."""
        quota = self.get(key)
        if quota is None or quota.uid != uid:
            return False
        quotas = self._in[quota.namespace]
        del quotas[key]
        if not quotas:
            del self._in[quota.namespace]
        return True
