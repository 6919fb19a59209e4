"""What is between a pod and a node alone: taints, host ports and resources, as filter plugins.

In a cluster the scheduler's own plugins see to these. Where nobody else does, as in a simulation,
they stand beside ours, so that one verdict and one explanation covers everything. Preemption asks
the same of a node that some pods would have left.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import ClassVar, Final, TypeAlias

from extender.cluster.counts.nodes import NodeList
from extender.cluster.state import ClusterState
from extender.model.node_resources import (
    CORDONED,
    EVERY_ADDRESS,
    PODS,
    Allocatable,
    HostPort,
    Taint,
    UsedPorts,
)
from extender.model.objects import Pod
from extender.model.verdict import NODE_PORTS, NODE_RESOURCES_FIT, TAINT_TOLERATION, Reason
from extender.verbs.filtering import CountingPlugin, holding
from extender.verbs.plugins import FilterPlugin
from extender.verbs.rules import Rule

UNSCHEDULABLE: Final = "cordoned"
"""What is said of a node on which nothing is to be scheduled."""
Allows: TypeAlias = Callable[[str], bool]
"""Whether one thing about a node, by its name, leaves room for the pod."""


@dataclass(slots=True, eq=False)
class RoomRule(Rule):
    """One thing that a node may lack for a pod."""

    reason: Reason
    allows: Allows
    what: str
    """In words: too little cpu."""

    def split(self, asked: NodeList) -> tuple[NodeList, Sequence[str]]:
        """Return the nodes that have it, and the names of those that lack it."""
        hit = [name for name in asked.names if not self.allows(name)]
        if not hit:
            return asked, hit
        refused = {*hit}
        return asked.only([name for name in asked.names if name not in refused]), hit


@dataclass(frozen=True, slots=True)
class TaintToleration(FilterPlugin):
    """The scheduler's plugin of that name, with NodeUnschedulable before it."""

    name: ClassVar[str] = TAINT_TOLERATION

    def rules(self, state: ClusterState, pod: Pod) -> Iterator[RoomRule]:
        """Yield cordons, then each taint that some node has, unless tolerated; O(nodes)."""
        resources, covers = state.node_resources, pod.requirements.covers
        if not covers(CORDONED):
            yield RoomRule(Reason.UNSCHEDULABLE, _not_cordoned(state), UNSCHEDULABLE)
        every = dict.fromkeys(
            taint for name in state.nodes for taint in resources.allocatable(name).taints
        )
        for taint in every:
            if not covers(taint):
                yield RoomRule(Reason.TAINT, _without(state, taint), _said(taint))


@dataclass(frozen=True, slots=True)
class NodePorts(CountingPlugin):
    """The scheduler's plugin of that name."""

    name: ClassVar[str] = NODE_PORTS

    def rules_beside(
        self, state: ClusterState, pod: Pod, others: Sequence[Pod]
    ) -> Iterator[RoomRule]:
        """Yield the pod's host ports."""
        held = UsedPorts()
        for each in others:
            held.use(each.ports, 1)
        for port in pod.ports:
            at = "" if port.address == EVERY_ADDRESS else f"{port.address}:"
            what = f"host port {at}{port.number}/{port.protocol} taken"
            yield RoomRule(Reason.PORTS, _free(state, port, held), what)


@dataclass(frozen=True, slots=True)
class NodeResourcesFit(CountingPlugin):
    """The scheduler's plugin of that name, without its score."""

    name: ClassVar[str] = NODE_RESOURCES_FIT

    def rules_beside(
        self, state: ClusterState, pod: Pod, others: Sequence[Pod]
    ) -> Iterator[RoomRule]:
        """Yield the resources that the pod requests."""
        for resource, amount in pod.requests:
            if amount:
                what = "too many pods" if resource == PODS else f"too little {resource}"
                held = sum(dict(each.requests).get(resource, 0) for each in others)
                yield RoomRule(Reason.RESOURCES, _enough(state, resource, amount + held), what)


def untolerated(state: ClusterState, pod: Pod, node: str) -> Iterator[str]:
    """Yield in words why a pod is kept from a node: its cordon, and its taints."""
    has, covers = state.node_resources.allocatable(node), pod.requirements.covers
    if has.unschedulable and not covers(CORDONED):
        yield UNSCHEDULABLE
    for taint in has.taints:
        if not covers(taint) and not _says_cordoned(has, taint):
            yield _said(taint)


def is_unmeasured(state: ClusterState, node: str) -> bool:
    """Return whether nothing is said of what a node has, as in a manifest: it takes anything."""
    return not state.node_resources.allocatable(node).amounts


def has_room(state: ClusterState, pod: Pod, node: str) -> bool:
    """Return whether a node has the resources and host ports that a pod asks for."""
    resources = state.node_resources
    if is_unmeasured(state, node):
        return resources.ports(node).allow(pod.ports)
    return resources.has(node, pod.requests, pod.ports)


def _said(taint: Taint) -> str:
    value = f"={taint.value}" if taint.value else ""
    return f"taint {taint.key}{value}:{taint.effect}"


def _says_cordoned(has: Allocatable, taint: Taint) -> bool:
    """Return whether a taint of a node says what its cordon says already."""
    return taint == CORDONED and has.unschedulable


def _not_cordoned(state: ClusterState) -> Allows:
    resources = state.node_resources
    return lambda node: not resources.allocatable(node).unschedulable


def _without(state: ClusterState, taint: Taint) -> Allows:
    def allows(node: str) -> bool:
        has = state.node_resources.allocatable(node)
        return taint not in has.taints or _says_cordoned(has, taint)

    return allows


def _free(state: ClusterState, port: HostPort, held: UsedPorts) -> Allows:
    resources = state.node_resources
    return lambda node: held.allow((port,)) and resources.ports(node).allow((port,))


def _enough(state: ClusterState, resource: str, amount: int) -> Allows:
    resources, wanted = state.node_resources, ((resource, amount),)
    return lambda node: is_unmeasured(state, node) or resources.has(node, wanted)


class NodeFit:
    """What is taken on a node beside what it has: NodeResourcesFit and NodePorts.

    Pods nominated to the node that ours yields to count as there: with them is harder than without.
    """

    def __init__(self, state: ClusterState, pod: Pod, node: str) -> None:
        self._requests = pod.requests
        self._wanted = pod.ports
        self._allocatable = state.node_resources.allocatable(node).amounts
        self._used = Counter(state.node_resources.used(node))
        self._ports = state.node_resources.ports(node).copy()
        for other in holding(state, pod, node):
            self._put(other)
        for reservation in state.reservations.of(pod.key, pod.uid):
            if reservation.pod.node == node:
                self.free(reservation.pod)

    def _put(self, pod: Pod) -> None:
        self._used.update(dict(pod.requests))
        self._ports.use(pod.ports, 1)

    def free(self, pod: Pod) -> None:
        """Take a pod away."""
        self._used.subtract(dict(pod.requests))
        self._ports.use(pod.ports, -1)

    def spare(self, pod: Pod) -> bool:
        """Put a pod back if ours fits all the same; tell whether it does."""
        self._put(pod)
        if self.fits:
            return True
        self.free(pod)
        return False

    @property
    def fits(self) -> bool:
        """Return whether the pod has what it requests, and its ports."""
        used, allocatable = self._used, self._allocatable
        return self._ports.allow(self._wanted) and all(
            used[resource] + amount <= allocatable.get(resource, 0)
            for resource, amount in self._requests
            if amount
        )

    @property
    def is_curable(self) -> bool:
        """Return whether it might fit were the node empty.

        Ports are judged first, and of what is taken one can think that it will be free.
        """
        allocatable = self._allocatable
        return not self._ports.allow(self._wanted) or all(
            amount <= allocatable.get(resource, 0) or resource == PODS
            for resource, amount in self._requests
        )
