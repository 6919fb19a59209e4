"""The slow truth about quotas: what is in use of them, again from scratch."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping

from extender.cluster.state import ClusterState
from extender.model.objects import Pod
from extender.model.quota import Charge, ResourceQuota


def quota_mismatches(state: ClusterState) -> list[str]:
    """Return the namespaces whose pods in scope, or use of quotas, differ from a recount."""
    truth = _charges(state.placed_pods)
    namespaces = {*truth, *state.quotas.namespaces, *map(_namespace, state.quotas)}
    wrong = [each for each in namespaces if not _quotas_agree(state, each, truth.get(each, {}))]
    total = sum(sum(charges.values()) for charges in truth.values())
    return wrong if wrong or total == state.quotas.pods else ["the sum of all namespaces"]


def _quotas_agree(state: ClusterState, namespace: str, truth: Mapping[Charge, int]) -> bool:
    if state.quotas.charges(namespace) != truth:
        return False
    return all(each.used == _used(each.quota, truth) for each in state.quotas.of(namespace))


def _used(quota: ResourceQuota, charges: Mapping[Charge, int]) -> dict[str, int]:
    total: Counter[str] = Counter()
    for charge, pods in charges.items():
        if quota.applies_to(charge):
            total.update({name: pods * amount for name, amount in charge.usage})
    return {name: amount for name, amount in total.items() if name in quota.hard and amount}


def _charges(pods: Iterable[Pod]) -> dict[str, Counter[Charge]]:
    charges: dict[str, Counter[Charge]] = {}
    for pod in pods:
        if pod.charge is not None:
            charges.setdefault(pod.pod_class.namespace, Counter())[pod.charge] += 1
    return charges


def _namespace(key: str) -> str:
    return key.partition("/")[0]
