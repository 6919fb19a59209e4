"""Whether a pod may be bound to a node now, and whether it has to wait for other binds."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from extender.core.cluster.ledgers.reservations import Reservation
from extender.core.cluster.state import ClusterState
from extender.core.model.objects import Pod, PodClass
from extender.core.model.pod_affinity import Term
from extender.core.model.verdict import AnyReason
from extender.core.verbs.filtering import indeterminate, judge
from extender.core.verbs.interaction import attracted
from extender.core.verbs.plugins import Plugins


class Decision(Enum):
    BIND = "bind"
    DONE = "the pod is on that node already"
    REFUSE = "refuse"


@dataclass(frozen=True, slots=True)
class BindVerdict:
    decision: Decision
    why: str = ""
    reason: AnyReason | None = None


def may_bind(state: ClusterState, pod: Pod, node: str, plugins: Plugins) -> BindVerdict:
    """Judge a bind by filter's rules, against everything that is placed or reserved by now."""
    known = state.pod(pod.key, pod.uid)
    if known is not None and known.node is not None:
        if known.node == node:
            return BindVerdict(Decision.DONE)
        return BindVerdict(Decision.REFUSE, f"the pod is bound to {known.node} already")
    if (known or pod).status.deleting:
        return BindVerdict(Decision.REFUSE, "the pod is being deleted")
    # At the filter call the watch may not have shown the others yet.
    why_indeterminate = indeterminate(state, pod, plugins)
    if why_indeterminate is not None:
        return BindVerdict(Decision.REFUSE, why_indeterminate)
    verdicts = judge(state, pod, state.nodes.asked([node]), plugins)
    for reason, _ in verdicts.refused:
        why = f"{node} since the filter call: {reason.value}"
        return BindVerdict(Decision.REFUSE, why, reason)
    return BindVerdict(Decision.BIND)


def _judged(pod: Pod, plugins: Plugins) -> PodClass:
    of_specs = any(each.compares_pods and not each.of_annotations for each in plugins)
    return pod.pod_class if of_specs else pod.pod_class.by_annotation


def unconfirmed_support(
    state: ClusterState, pod: Pod, node: str, plugins: Plugins
) -> list[Reservation]:
    """Return the reservations without which a pod's required affinity is not met on a node.

    Places of its own are among them, if they would help another pod like it.
    Those of pods that are known to be bound do not count. In-tree counts a pod from the moment it
    is assumed; the binds of two pods run side by side, so the one that must be near the other may
    be bound first, and stay alone when the other's bind fails.
    """
    own = _judged(pod, plugins)
    if not own.affinity.required:
        return []
    support = [
        each
        for each in state.reservations
        if not each.confirmed and attracted(state, each.pod.pod_class, own)
    ]
    if not support:
        return []
    asked = state.nodes.asked([node])
    gone = [each.pod for each in support if each.pod.uid != pod.uid]
    # Whether a pod nominated there is in the way is no matter here: no bind changes that.
    alone = judge(state, pod, asked, plugins, gone=gone, nominated=False)
    return support if alone.refused else []


class Support:
    """Asks for support, and remembers which pods need none while nothing changes.

    The members of a gang, whose places are reserved in one step, ask alike.
    """

    def __init__(self, state: ClusterState, plugins: Plugins) -> None:
        self._state, self._plugins = state, plugins
        self._version = state.version
        self._none: set[tuple[tuple[Term, ...], bool, str]] = set()

    def changed(self) -> None:
        """Hear that a reserved pod is known to be bound, which changes no state's version."""
        self._none.clear()

    def of(self, pod: Pod, node: str) -> list[Reservation]:
        """Return the support of a pod, its own places apart; O(1) where such a pod had none."""
        if self._state.version != self._version:
            self._version = self._state.version
            self._none.clear()
        own = _judged(pod, self._plugins)
        may_start = attracted(self._state, own, own)
        alike = own.affinity.required, may_start, node
        if alike in self._none:
            return []
        support = unconfirmed_support(self._state, pod, node, self._plugins)
        if not support:
            self._none.add(alike)
        return [each for each in support if each.pod.uid != pod.uid]
