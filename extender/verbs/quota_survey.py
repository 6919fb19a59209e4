"""Who uses cross-namespace affinity, what the quotas say, and whom another quota would refuse."""

from __future__ import annotations

from collections.abc import Collection, Generator, Iterable, Sequence
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


def in_words(why: Shortfall) -> str:
    """Say why quotas do not allow a pod."""
    resources = ", ".join(why.resources)
    said = {
        Cause.EXCEEDED: f"{resources}: no room",
        Cause.UNSET: f"{resources}: not set for every container",
        Cause.UNCOVERED: "no quota speaks of affinity across namespaces",
    }
    return said[why.cause]


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
        if pod.charge is not None:
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
