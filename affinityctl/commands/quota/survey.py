"""Which pods use cross-namespace affinity, and whom another quota would refuse."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass

from extender.core.cluster.state import ClusterState
from extender.core.model.keys import key_of, namespace_of
from extender.core.model.labels import Operator, Requirement, Selector
from extender.core.model.objects import Pod
from extender.features.quota.ledger import QuotaInUse, charge_in_force, quotas_of
from extender.features.quota.quotas import CHARGE, CROSS_NAMESPACE, Amounts, ResourceQuota
from extender.features.quota.rules import judge_charge, shortfall
from extender.features.quota.survey import Refusal

WHAT_IF = "what-if"
"""Name of the quota that is only supposed."""


@dataclass(frozen=True, slots=True)
class NamespaceSurvey:
    """One namespace that has pods in scope, or quotas for them."""

    name: str
    placed: Sequence[Pod]
    """Pods in scope that are on a node; these count."""
    waiting: Sequence[Pod]
    quotas: Collection[QuotaInUse]
    refused_now: Sequence[Refusal]
    """Waiting pods that the quotas do not allow as things are."""
    refused_if: Sequence[Refusal]
    """Pods, waiting or not, that would not come back under a quota that is only supposed."""

    @property
    def in_scope(self) -> int:
        return len(self.placed) + len(self.waiting)


def survey(
    state: ClusterState,
    namespaces: Collection[str] = (),
    what_if: Amounts | None = None,
    *,
    limited: bool = False,
) -> list[NamespaceSurvey]:
    """Look at some namespaces, all when none is named, in the order of their names; O(pods).

    `what_if` supposes one more quota with these limits in each.
    """
    in_scope: dict[str, list[Pod]] = {}
    known = quotas_of(state)
    for pod in state.pods.values():
        if charge_in_force(state, pod) is not None:
            in_scope.setdefault(pod.pod_class.namespace, []).append(pod)
    names = {*in_scope, *(namespace_of(key) for key in known)}
    surveyed = []
    for name in sorted(names.intersection(namespaces) if namespaces else names):
        pods = sorted(in_scope.get(name, []), key=lambda pod: pod.key)
        placed = [pod for pod in pods if pod.node is not None]
        waiting = [pod for pod in pods if pod.node is None]
        found = ((pod, shortfall(state, pod, limited=limited)) for pod in waiting)
        refused_now = [Refusal(pod, why) for pod, why in found if why is not None]
        refused_if = list(_refused_under(name, what_if, (*placed, *waiting)))
        quotas = known.of(name)
        surveyed.append(NamespaceSurvey(name, placed, waiting, quotas, refused_now, refused_if))
    return surveyed


def _refused_under(namespace: str, hard: Amounts | None, pods: Iterable[Pod]) -> Iterator[Refusal]:
    """Yield the pods that a supposed quota refuses when they are created one after another."""
    if hard is None:
        return
    key, scope = key_of(namespace, WHAT_IF), Requirement(CROSS_NAMESPACE, Operator.EXISTS)
    quota = QuotaInUse(ResourceQuota(key, key, Selector.of((scope,)), hard))
    for pod in pods:
        charge = pod.facet(CHARGE)
        if charge is not None:
            why = judge_charge(charge, (quota,), limited=False)
            if why is None:
                quota.count(charge, 1)
            else:
                yield Refusal(pod, why)
