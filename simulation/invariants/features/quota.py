"""What pods use of quotas, counted again from scratch."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from extender.core.cluster.state import ClusterState
from extender.core.model.keys import namespace_of
from extender.core.model.labels import Operator
from extender.core.wire.quantities import BILLIONTHS
from extender.features.quota.ledger import QuotaLedger, booked_quotas
from extender.features.quota.quotas import CHARGE, Charge, ResourceQuota
from simulation.apiserver.store import Json, Store
from simulation.invariants.quotas import SCOPE, crosses_namespaces, scopes_of, use_of


def knows_all(state: ClusterState, store: Store) -> bool:
    quotas = booked_quotas(state)
    stored = store.all("resourcequotas").items()
    return quotas is None or set(quotas) == {
        key for key, each in stored if SCOPE in scopes_of(each)
    }


def mismatches(state: ClusterState) -> list[str]:
    """Return the namespaces whose pods in scope, or use of quotas, differ from a recount."""
    quotas = booked_quotas(state)
    if quotas is None:
        return []
    truth: dict[str, Counter[Charge]] = {}
    once = {(each.key, each.uid, each.facet(CHARGE)): each for each in state.placed_pods}
    for pod in once.values():
        charge, namespace = pod.facet(CHARGE), pod.pod_class.namespace
        if charge and (not charge.by_annotation or state.scope.covers(namespace)):
            truth.setdefault(namespace, Counter())[charge] += 1
    namespaces = {*truth, *quotas.namespaces, *map(namespace_of, quotas)}
    wrong = [each for each in namespaces if not _quotas_agree(quotas, each, truth.get(each, {}))]
    total = sum(sum(charges.values()) for charges in truth.values())
    return wrong if wrong or total == quotas.pods else ["the sum of all namespaces"]


def _quotas_agree(quotas: QuotaLedger, namespace: str, truth: Mapping[Charge, int]) -> bool:
    if quotas.charges(namespace) != truth:
        return False
    return all(each.used == _use_of(each.quota, truth) for each in quotas.of(namespace))


def _use_of(quota: ResourceQuota, charges: Mapping[Charge, int]) -> dict[str, int]:
    """Return what pods with these charges use of a quota, zeros left out."""
    used: Counter[str] = Counter()
    for charge, pods in charges.items():
        for name, amount in charge.usage if quota.applies_to(charge) else ():
            used[name] += pods * amount
    return {name: amount for name, amount in used.items() if name in quota.hard and amount}


def differences(
    state: ClusterState, placed: Iterable[tuple[Mapping[str, Any], str]]
) -> Iterator[str]:
    """Yield the quotas that count more or less than what pods in scope ask for."""
    quotas = booked_quotas(state)
    if quotas is None:
        return
    crossing: dict[str, list[Json]] = {}
    # One with two nodes, as its bind ended unclear, counts once.
    for pod in {pod["metadata"]["uid"]: pod for pod, _ in placed}.values():
        if crosses_namespaces(pod):
            crossing.setdefault(pod["metadata"]["namespace"], []).append(dict(pod))
    for key in quotas:
        if (quota := quotas.get(key)) is None:
            continue
        there = use_of(crossing.get(namespace_of(key), ()))
        if quota.scopes.requires("BestEffort", Operator.EXISTS):
            there.clear()
        for name in quota.hard:
            if (used := quotas.used(key).get(name, 0)) != there[name] * BILLIONTHS // 1000:
                yield f"pods use {there[name]} m of {name} of {key}, not {used / BILLIONTHS}"
