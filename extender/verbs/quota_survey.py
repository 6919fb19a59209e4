"""Who uses cross-namespace affinity, what the quotas say, and whom another quota would refuse."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass

from extender.cluster.ledgers.quotas import QuotaInUse
from extender.cluster.state import ClusterState
from extender.model.keys import key_of, namespace_of
from extender.model.labels import Operator, Requirement, Selector
from extender.model.objects import Pod
from extender.model.quota import CROSS_NAMESPACE, Amounts, ResourceQuota
from extender.verbs.quota import Shortfall, judge_charge, shortfall

WHAT_IF = "what-if"
"""Name of the quota that is only supposed."""


@dataclass(frozen=True, slots=True)
class Refusal:
    """A pod that quotas do not allow."""

    pod: Pod
    shortfall: Shortfall


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
        """Return how many pods are in scope."""
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
    for pod in state.pods.values():
        if pod.charge is not None:
            in_scope.setdefault(pod.pod_class.namespace, []).append(pod)
    names = {*in_scope, *(namespace_of(key) for key in state.quotas)}
    wanted = sorted(names.intersection(namespaces) if namespaces else names)
    return [_look_at(state, name, in_scope.get(name, []), what_if, limited) for name in wanted]


def _look_at(
    state: ClusterState,
    name: str,
    pods: list[Pod],
    what_if: Amounts | None,
    limited: bool,  # noqa: FBT001 - handed on
) -> NamespaceSurvey:
    pods.sort(key=lambda pod: (pod.node is None, pod.key))
    waiting = [pod for pod in pods if pod.node is None]
    found = ((pod, shortfall(state, pod, limited=limited)) for pod in waiting)
    return NamespaceSurvey(
        name=name,
        placed=pods[: len(pods) - len(waiting)],
        waiting=waiting,
        quotas=state.quotas.of(name),
        refused_now=[Refusal(pod, why) for pod, why in found if why is not None],
        refused_if=[] if what_if is None else list(_refused_under(_supposed(name, what_if), pods)),
    )


def _supposed(namespace: str, hard: Amounts) -> QuotaInUse:
    scope = Selector.of((Requirement(CROSS_NAMESPACE, Operator.EXISTS),))
    key = key_of(namespace, WHAT_IF)
    return QuotaInUse(ResourceQuota(key, key, scope, hard))


def _refused_under(quota: QuotaInUse, pods: Iterable[Pod]) -> Iterable[Refusal]:
    """Yield the pods that a quota refuses when they are created one after another."""
    for pod in pods:
        if pod.charge is not None:
            why = judge_charge(pod.charge, (quota,), limited=False)
            if why is None:
                quota.count(pod.charge, 1)
            else:
                yield Refusal(pod, why)
