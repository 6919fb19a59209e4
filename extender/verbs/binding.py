"""Whether a pod may be bound to a node now, and whether two pods get in each other's way."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from extender.cluster.ledgers.reservations import Reservation
from extender.cluster.state import ClusterState
from extender.model.objects import Pod, PodClass
from extender.model.verdict import Reason
from extender.verbs.plugins import Plugins, judge, unclear

MOST_COMPARED = 64
"""Terms of a class up to which it is compared with others pair by pair, hundreds at once."""


class Decision(Enum):
    """What is to be done about a bind."""

    BIND = "bind"
    DONE = "the pod is on that node already"
    REFUSE = "refuse"


@dataclass(frozen=True, slots=True)
class BindVerdict:
    """A decision, and in words why a bind is refused."""

    decision: Decision
    why: str = ""
    reason: Reason | None = None
    """The rule that refuses."""


def may_bind(state: ClusterState, pod: Pod, node: str, plugins: Plugins) -> BindVerdict:
    """Judge a bind by filter's rules, against everything that is placed or reserved by now."""
    known = state.pod(pod.key, pod.uid)
    if known is not None and known.node is not None:
        if known.node == node:
            return BindVerdict(Decision.DONE)
        return BindVerdict(Decision.REFUSE, f"the pod is bound to {known.node} already")
    # At the filter call the watch may not have shown the others yet.
    why_unclear = unclear(state, pod, plugins)
    if why_unclear is not None:
        return BindVerdict(Decision.REFUSE, why_unclear)
    with state.without(pod.key, pod.uid):
        verdicts = judge(state, pod, state.nodes.asked([node]), plugins)
    for reason, _ in verdicts.refused:
        why = f"{node} since the filter call: {reason.value}"
        return BindVerdict(Decision.REFUSE, why, reason)
    return BindVerdict(Decision.BIND)


def unconfirmed_support(
    state: ClusterState, pod: Pod, node: str, plugins: Plugins
) -> list[Reservation]:
    """Return the reservations without which a pod's required affinity is not met on a node.

    Those of pods that are known to be bound do not count. In-tree counts a pod from the moment it
    is assumed; the binds of two pods run side by side, so the one that must be near the other may
    be bound first, and stay alone when the other's bind fails.
    """
    if not 0 < len(pod.pod_class.affinity.required) <= MOST_COMPARED:
        return []
    support = [
        each
        for each in state.reservations
        if not each.confirmed
        and each.pod.uid != pod.uid
        and _joins(state, each.pod.pod_class, pod.pod_class)
    ]
    if not support:
        return []
    with state.without(pod.key, pod.uid, gone=[each.pod for each in support]):
        refused = judge(state, pod, state.nodes.asked([node]), plugins).refused
    return support if refused else []


def interact(state: ClusterState, one: PodClass, other: PodClass) -> bool:
    """Tell whether placing a pod of one class can take a node away from a pod of the other.

    That is so when either's required anti-affinity speaks of the other, or when one would be the
    first pod of a group that the other may start as well: then only one of them may choose. Where
    there are more than MOST_COMPARED terms, it is taken to be so: the other waits for nothing.
    """
    if not (one.affinity.constrains or other.affinity.constrains):
        return False
    if len(one.affinity) > MOST_COMPARED or len(other.affinity) > MOST_COMPARED:
        return True
    return (
        _repels(state, one, other)
        or _repels(state, other, one)
        or (_joins(state, one, other) and _joins(state, other, other))
        or (_joins(state, other, one) and _joins(state, one, one))
    )


def _repels(state: ClusterState, owner: PodClass, other: PodClass) -> bool:
    return any(state.speaks_of(term, other) for term in owner.affinity.required_anti)


def _joins(state: ClusterState, pod: PodClass, owner: PodClass) -> bool:
    """Tell whether a pod matches all required affinity terms of an owner that has some."""
    terms = owner.affinity.required
    return bool(terms) and all(state.speaks_of(term, pod) for term in terms)
