"""Who uses cross-namespace affinity, what the quotas say, and whom another quota would refuse."""

from __future__ import annotations

from collections.abc import Collection, Generator, Iterable, Iterator, Sequence
from dataclasses import dataclass

from extender.cluster.ledgers.quotas import QuotaInUse
from extender.cluster.state import ClusterState
from extender.model.keys import key_of, namespace_of
from extender.model.labels import Operator, Requirement, Selector
from extender.model.objects import Pod
from extender.model.quota import CROSS_NAMESPACE, Amounts, ResourceQuota
from extender.verbs.quota import Cause, Shortfall, judge_charge, shortfall

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
    for pod in map(state.in_force, state.pods.values()):
        if pod.spec.charge is not None:
            in_scope.setdefault(pod.pod_class.namespace, []).append(pod)
    names = {*in_scope, *(namespace_of(key) for key in state.quotas)}
    surveyed = []
    for name in sorted(names.intersection(namespaces) if namespaces else names):
        pods = sorted(in_scope.get(name, []), key=lambda pod: pod.key)
        placed = [pod for pod in pods if pod.node is not None]
        waiting = [pod for pod in pods if pod.node is None]
        found = ((pod, shortfall(state, pod, limited=limited)) for pod in waiting)
        refused_now = [Refusal(pod, why) for pod, why in found if why is not None]
        refused_if = list(_refused_under(name, what_if, (*placed, *waiting)))
        quotas = state.quotas.of(name)
        surveyed.append(NamespaceSurvey(name, placed, waiting, quotas, refused_now, refused_if))
    return surveyed


def in_words(why: Shortfall) -> str:
    """Say why quotas do not allow a pod."""
    resources = ", ".join(why.resources)
    said = {
        Cause.EXCEEDED: f"{resources}: no room",
        Cause.UNSET: f"{resources}: not set for every container",
        Cause.UNCOVERED: "no quota speaks of affinity across namespaces",
    }
    return said[why.cause]


def _refused_under(namespace: str, hard: Amounts | None, pods: Iterable[Pod]) -> Iterator[Refusal]:
    """Yield the pods that a supposed quota refuses when they are created one after another."""
    if hard is None:
        return
    key, scope = key_of(namespace, WHAT_IF), Requirement(CROSS_NAMESPACE, Operator.EXISTS)
    quota = QuotaInUse(ResourceQuota(key, key, Selector.of((scope,)), hard))
    for pod in pods:
        if pod.spec.charge is not None:
            why = judge_charge(pod.spec.charge, (quota,), limited=False)
            if why is None:
                quota.count(pod.spec.charge, 1)
            else:
                yield Refusal(pod, why)


@dataclass(slots=True)
class NamespaceUse:
    """How one namespace uses cross-namespace affinity, in numbers."""

    name: str
    quotas: Collection[QuotaInUse]
    placed: int
    """Pods in scope that are on a node; these count."""
    waiting: int = 0
    refused: int = 0
    """Waiting pods that the quotas do not allow as things are."""
    example: Refusal | None = None
    """One of them."""


def counting_use(
    state: ClusterState, *, limited: bool
) -> Generator[None, None, list[NamespaceUse]]:
    """Count what `survey` lists, a waiting pod at a step, in the order of names.

    Assumed pods are among those that are placed. The state may change between two steps.
    """
    names = {each for each in state.quotas.namespaces if state.quotas.charges(each)}
    names.update(namespace_of(key) for key in state.quotas)
    found = {name: _use_of(state, name) for name in names}
    for pod in map(state.in_force, list(state.waiting_pods)):
        if pod.spec.charge is not None:
            name = pod.pod_class.namespace
            if name not in found:
                found[name] = _use_of(state, name)
            use = found[name]
            use.waiting += 1
            why = shortfall(state, pod, limited=limited)
            if why is not None:
                use.refused += 1
                use.example = use.example or Refusal(pod, why)
        yield
    return sorted(found.values(), key=lambda each: each.name)


def _use_of(state: ClusterState, name: str) -> NamespaceUse:
    placed = sum(state.quotas.charges(name).values())
    return NamespaceUse(name, state.quotas.of(name), placed)
