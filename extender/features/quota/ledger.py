"""The quotas on cross-namespace affinity, and how much of each is in use."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Generator, Iterable, Iterator, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from itertools import islice
from types import MappingProxyType
from typing import Final

from extender.core.cluster.ledgers.ledger import Ledger
from extender.core.cluster.state import ClusterState
from extender.core.cluster.view import ClusterView
from extender.core.model.keys import namespace_of
from extender.core.model.objects import Pod
from extender.core.model.signed import shift
from extender.features.quota.quotas import CHARGE, Charge, ResourceQuota

AUDITED_PODS: Final = 5_000
"""Pods that one step of the audit counts: some milliseconds."""
AUDITED_CHARGES: Final = 10_000
"""Charges that one step compares with a quota: some milliseconds."""
MOST_DOUBTFUL: Final = 100
"""Namespaces that are counted once more in a round; those of a busy cluster change meanwhile."""

_NONE: Mapping[Charge, int] = MappingProxyType({})


@dataclass(slots=True, eq=False)
class QuotaInUse:
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
        hard = self.quota.hard
        return any(amount > hard[resource] for resource, amount in self.used.items())


class QuotaLedger(Ledger):
    """Quotas that name the scope of cross-namespace affinity; others are not kept.

    Pods are counted by what they are charged for, so a quota that appears later knows its usage
    without a walk over pods. A pod's event costs the quotas of its namespace. A pod whose bind
    ended unclear counts once, on whichever node it may turn up.

    Where a namespace uses more than one of its quotas allows, its rules in annotations count for no
    pod of another namespace; with `limited`, nor do they where it has no quota.
    """

    def __init__(self, state: ClusterState, *, limited: bool) -> None:
        self._state = state
        self._limited = limited
        self.pods = 0
        """Pods in scope that count."""
        self._in: dict[str, dict[str, QuotaInUse]] = {}
        self._charges: dict[str, dict[Charge, int]] = {}
        self._places: dict[tuple[str, str, Charge], int] = {}
        """How many places a pod has, by its key, uid and what it is charged for."""
        self.namespaces: Final[Collection[str]] = self._charges.keys()
        """Those that have pods in scope, whether these count or not."""
        self._unusual: set[str] = set()
        """Those whose rules reach out with `limited`, or do not without."""

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
        if self._covers(namespace):
            return charges
        return {each: pods for each, pods in charges.items() if not each.by_annotation}

    def exceeded(self, namespace: str) -> bool:
        """Return whether a namespace uses more than one of its quotas allows."""
        return any(each.is_exceeded for each in self.of(namespace))

    def reaches_out(self, namespace: str) -> bool:
        """Return whether its rules in annotations count for pods of other namespaces."""
        return (namespace in self._unusual) is self._limited

    def note(self, namespace: str) -> tuple[str, str]:
        """Say that they do not."""
        why = (
            f"the quotas of {namespace} do not allow its cross-namespace affinity, so rules in "
            "annotations there count for no pod of another namespace"
        )
        return "annotationOverQuota", why

    def placed(self, pod: Pod, node: str, sign: int) -> None:
        """Count a pod (1), or take it back (-1); one that is out of scope moves nothing."""
        if pod.facet(CHARGE) is not None:
            self.shifted(pod, node, sign)
            self._settle(pod.pod_class.namespace)

    def shifted(self, pod: Pod, node: str, sign: int) -> None:
        """Count it for a moment, whatever comes of it for others."""
        del node
        charge, namespace = pod.facet(CHARGE), pod.pod_class.namespace
        if charge is None:
            return
        place = pod.key, pod.uid, charge
        before = self._places.get(place, 0)
        shift(self._places, place, sign)
        if before and before + sign:
            return
        charges = self._charges.setdefault(namespace, {})
        shift(charges, charge, sign)
        if not charges:
            del self._charges[namespace]
        if not charge.by_annotation or self._covers(namespace):
            self.pods += sign
            for each in self.of(namespace):
                each.count(charge, sign)

    def scope_changed(self, namespace: str) -> None:
        """Count anew what pods use."""
        charges = self._charges.get(namespace, _NONE)
        pods = sum(pods for each, pods in charges.items() if each.by_annotation)
        self.pods += pods if self._covers(namespace) else -pods
        for each in self.of(namespace):
            each.used = self._in_use(each.quota).used
        self._settle(namespace)

    def upsert(self, quota: ResourceQuota) -> None:
        """Add a quota, or replace the one of the same key; O(distinct charges of the namespace)."""
        known = self.get(quota.key)
        if known == quota:
            return
        if quota.is_about_crossing:
            self._in.setdefault(quota.namespace, {})[quota.key] = self._in_use(quota)
            self._changed(quota.namespace)
        elif known is not None:
            self.remove(quota.key, known.uid)

    def remove(self, key: str, uid: str) -> None:
        """Forget a quota; one that is unknown, or known under another uid, is left alone."""
        quota = self.get(key)
        if quota is None or quota.uid != uid:
            return
        quotas = self._in[quota.namespace]
        del quotas[key]
        if not quotas:
            del self._in[quota.namespace]
        self._changed(quota.namespace)

    def _changed(self, namespace: str) -> None:
        self._state.version += 1
        self._settle(namespace)

    def _settle(self, namespace: str) -> None:
        """Have its rules in annotations count for other namespaces as its quotas allow."""
        allowed = bool(self.of(namespace)) or not self._limited
        if self.reaches_out(namespace) is not (allowed and not self.exceeded(namespace)):
            self._unusual ^= {namespace}
            self._state.reach_changed()

    def _in_use(self, quota: ResourceQuota) -> QuotaInUse:
        in_use, namespace = QuotaInUse(quota), quota.namespace
        for charge, pods in self.charges(namespace).items():
            in_use.count(charge, pods)
        return in_use

    def _covers(self, namespace: str) -> bool:
        return self._state.scope.covers(namespace)

    # Compared with the pods

    def audit(self) -> Iterator[str | None]:
        """Count the use of quotas again, some pods at a time.

        A namespace that does not agree may have changed meanwhile, so it is counted once more, in
        one step, O(pods) with little for each. Of several that are wrong, one is told.
        """
        counted = yield from self._counting()
        wrong = yield from self._wrong_charges(counted)
        wrong += yield from self._wrong_uses()
        if sum(sum(self.charges(each).values()) for each in self.namespaces) != self.pods:
            wrong.append("the sum of all namespaces")
        yield f"quotas of {wrong[0]}" if wrong else None

    def _counting(self) -> Generator[None, None, dict[str, Counter[Charge]]]:
        counted: dict[str, Counter[Charge]] = {}
        state = self._state
        # A list of a million takes a few milliseconds; to look at each takes a hundred.
        pods = iter([*state.pods.values(), *_once(each.pod for each in state.reservations)])
        while some := list(islice(pods, AUDITED_PODS)):
            self._count_again((pod for pod in some if pod.node is not None), counted)
            if len(some) == AUDITED_PODS:
                yield
        return counted

    def _wrong_charges(
        self, counted: Mapping[str, Mapping[Charge, int]]
    ) -> Generator[None, None, list[str]]:
        """Return the namespaces whose pods in scope are not those that there are."""
        wrong = []
        doubtful = (
            each
            for each in {*counted, *self.namespaces}
            if self.charges(each) != counted.get(each, {})
        )
        for namespace in list(islice(doubtful, MOST_DOUBTFUL)):
            yield
            now: dict[str, Counter[Charge]] = {}
            every = self._state.placed_pods
            there = _once(each for each in every if each.pod_class.namespace == namespace)
            self._count_again(there, now)
            if self.charges(namespace) != now.get(namespace, {}):
                wrong.append(namespace)
        return wrong

    def _wrong_uses(self) -> Generator[None, None, list[str]]:
        """Return the namespaces whose quotas have another use booked than their pods make."""
        wrong, compared = [], 0
        for key in list(self):
            quota, namespace = self.get(key), namespace_of(key)
            charges = self.charges(namespace)
            if quota is not None and self.used(key) != use_of(quota, charges):
                wrong.append(namespace)
            compared += 1 + len(charges)
            if compared >= AUDITED_CHARGES:
                yield
                compared = 0
        return wrong

    def _count_again(self, pods: Iterable[Pod], into: dict[str, Counter[Charge]]) -> None:
        for pod in pods:
            charge = charge_in_force(self._state, pod)
            if charge is not None:
                into.setdefault(pod.pod_class.namespace, Counter())[charge] += 1


def _once(pods: Iterable[Pod]) -> Collection[Pod]:
    """Return pods as they are charged for: once, however many places are reserved for one."""
    return {(each.key, each.uid, each.facet(CHARGE)): each for each in pods}.values()


def use_of(quota: ResourceQuota, charges: Mapping[Charge, int]) -> dict[str, int]:
    """Return what pods with these charges use of a quota, zeros left out."""
    total: Counter[str] = Counter()
    for charge, pods in charges.items():
        if quota.applies_to(charge):
            total.update({name: pods * amount for name, amount in charge.usage})
    return {name: amount for name, amount in total.items() if name in quota.hard and amount}


def charge_in_force(state: ClusterView, pod: Pod) -> Charge | None:
    """Return what a pod is charged for by the rules that hold for it."""
    charge = pod.facet(CHARGE)
    if charge is None or not charge.by_annotation:
        return charge
    return None if state.in_force(pod).pod_class.annotated is None else charge


def quotas_of(state: ClusterView) -> QuotaLedger:
    """Return the quotas that are known with a state; LookupError where none are booked."""
    found = booked_quotas(state)
    if found is None:
        raise LookupError("no quotas are booked with this state")
    return found


def booked_quotas(state: ClusterView) -> QuotaLedger | None:
    """Return the quotas that are known with a state; None where the feature is off."""
    return next((each for each in state.ledgers if isinstance(each, QuotaLedger)), None)


def book(state: ClusterState, *, limited: bool) -> QuotaLedger:
    """Have quotas booked with a state from now on."""
    ledger = QuotaLedger(state, limited=limited)
    state.book_with(ledger)
    state.scope.limits = (*state.scope.limits, ledger)
    return ledger
