"""What is between a pod and a node alone: its name, taints, host ports and resources, as plugins.

In a cluster the scheduler's own plugins see to these. Here they stand beside ours, so that one
verdict and one explanation covers everything. Preemption asks the same of a node that some pods
would have left.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import ClassVar, Final, TypeAlias

from extender.cluster.counts.nodes import NodeList
from extender.cluster.state import ClusterState
from extender.model.node_resources import (
    CORDONED,
    EVERY_ADDRESS,
    NO_REQUIREMENTS,
    PODS,
    HostPort,
    Taint,
    Toleration,
)
from extender.model.objects import Pod
from extender.model.verdict import (
    NODE_NAME,
    NODE_PORTS,
    NODE_RESOURCES_FIT,
    NODE_UNSCHEDULABLE,
    TAINT_TOLERATION,
    Reason,
)
from extender.model.wording import amount_of, plural, some
from extender.verbs.filtering import holding
from extender.verbs.plugins import FilterPlugin, Unknown
from extender.verbs.rules import Refusal, RefusalGroup, Rule

FIRST: Final = (PODS, "cpu", "memory", "ephemeral-storage")
"""The resources that NodeResourcesFit names before all others, in its order."""
Allows: TypeAlias = Callable[[str], bool]
"""Whether one thing about a node, by its name, leaves room for the pod."""


@dataclass(slots=True, eq=False)
class RoomRule(Rule):
    """One thing that a node may lack for a pod."""

    reason: Reason
    allows: Allows
    what: str
    """In words: too little cpu."""
    cure: str = ""
    """What would have to be so for the node to fit: 200m cpu were free there."""
    event: str = ""

    def __post_init__(self) -> None:
        self.event = self.event or self.reason.value

    def split(self, asked: NodeList) -> tuple[NodeList, Sequence[str]]:
        """Return the nodes that have it, and the names of those that lack it."""
        return _without(asked, [name for name in asked.names if not self.allows(name)])

    def statement(self, refusal: Refusal) -> str | None:
        """Say what it refuses, unless the summary has."""
        return Rule.statement(self, refusal) if _says_more(refusal) else None

    def remedy(self, domain: str | None, nodes: int) -> str:
        """Say what would have to be so."""
        return f" if {self.cure}" if self.cure else Rule.remedy(self, domain, nodes)


def _says_more(refusal: Refusal) -> bool:
    """Return whether more nodes are refused than show the reason."""
    return refusal.hits > len(refusal.nodes)


def _without(asked: NodeList, hit: Sequence[str]) -> tuple[NodeList, Sequence[str]]:
    if not hit:
        return asked, hit
    refused = {*hit}
    return asked.only([name for name in asked.names if name not in refused]), hit


@dataclass(frozen=True, slots=True)
class NodeName(FilterPlugin):
    """The scheduler's plugin of that name.

    Of a pod that is placed already, it is asked where it might go: its place is no wish.
    """

    name: ClassVar[str] = NODE_NAME

    def rules(self, state: ClusterState, pod: Pod) -> Iterator[RoomRule]:
        """Yield the node that a manifest names."""
        wanted = named_node(state, pod)
        if wanted is not None:
            what = f"spec.nodeName names {wanted}"
            yield RoomRule(Reason.NODE_NAME, lambda node: node == wanted, what)


def named_node(state: ClusterState, pod: Pod) -> str | None:
    """Return the node that a manifest names for its pod; None of a pod that the cluster has."""
    return pod.node if state.pod(pod.key, pod.uid) is None else None


@dataclass(frozen=True, slots=True)
class NodeUnschedulable(FilterPlugin):
    """The scheduler's plugin of that name: nodes that are cordoned."""

    name: ClassVar[str] = NODE_UNSCHEDULABLE

    def rules(self, state: ClusterState, pod: Pod) -> Iterator[RoomRule]:
        """Yield the one rule, unless the pod tolerates the taint that cordoned nodes get."""
        resources = state.node_resources
        if _knows_tolerations(pod) and not _covers(pod.requirements.tolerations, CORDONED):
            yield RoomRule(
                Reason.UNSCHEDULABLE,
                lambda node: not resources.allocatable(node).unschedulable,
                "cordoned",
                "it was not cordoned",
            )


@dataclass(slots=True, eq=False)
class TaintRule(Rule):
    """Taints that a pod does not tolerate; nodes with the same ones are a domain of it."""

    state: ClusterState
    tolerations: Sequence[Toleration]
    reason = Reason.TAINT
    _known: dict[tuple[Taint, ...], str | None] = field(default_factory=dict)

    def split(self, asked: NodeList) -> tuple[NodeList, Sequence[str]]:
        """Return the nodes whose taints are tolerated, and the names of the others; O(nodes)."""
        return _without(asked, [*self.hits(asked)])

    def hits(self, asked: NodeList) -> Mapping[str, str | None]:
        """Return the nodes that it refuses, each with the taints that are not tolerated."""
        found = ((name, self._untolerated(name)) for name in asked.names)
        return {name: taints for name, taints in found if taints is not None}

    def _untolerated(self, node: str) -> str | None:
        has = self.state.node_resources.allocatable(node)
        taints = has.taints
        if has.unschedulable:
            # Said by NodeUnschedulable: one thing is wrong, and not two.
            taints = tuple(each for each in taints if each != CORDONED)
        if not taints:
            return None
        if taints not in self._known:
            hard = [_said(each) for each in taints if not _covers(self.tolerations, each)]
            self._known[taints] = " and ".join(hard) or None
        return self._known[taints]

    def cause(self, group: RefusalGroup) -> str:
        """Name the taints."""
        taints = sorted(filter(None, group.pods))
        return f"untolerated taint {some(taints, len(taints))}"

    def statement(self, refusal: Refusal) -> str | None:
        """Name the taints of some nodes, unless the summary has."""
        if not _says_more(refusal):
            return None
        return f"Refused on {plural(refusal.hits, 'node')}: untolerated taint {refusal.domain}"

    def remedy(self, domain: str | None, nodes: int) -> str:
        """Say what would have to be tolerated."""
        del nodes
        return f" if the pod tolerated the taint {domain}"


@dataclass(frozen=True, slots=True)
class TaintToleration(FilterPlugin):
    """The scheduler's plugin of that name, without its score."""

    name: ClassVar[str] = TAINT_TOLERATION

    def rules(self, state: ClusterState, pod: Pod) -> Iterator[TaintRule]:
        """Yield the one rule."""
        if _knows_tolerations(pod):
            yield TaintRule(state, pod.requirements.tolerations)

    def unknown(self, state: ClusterState, pod: Pod) -> Iterator[Unknown]:
        """Say that it is not known what a placed pod tolerates, or asks for besides."""
        del state
        if not _knows_tolerations(pod):
            yield Unknown(
                "spec",
                "a running extender does not keep what placed pods tolerate and ask of nodes; "
                "`affinity-extender explain` from the command line knows more",
            )


@dataclass(frozen=True, slots=True)
class NodePorts(FilterPlugin):
    """The scheduler's plugin of that name."""

    name: ClassVar[str] = NODE_PORTS

    def rules(self, state: ClusterState, pod: Pod) -> Iterator[RoomRule]:
        """Yield the pod's host ports."""
        if not pod.ports:
            return
        room = _Room(state, pod)
        for port in pod.ports:
            yield from room.port(port)


@dataclass(frozen=True, slots=True)
class NodeResourcesFit(FilterPlugin):
    """The scheduler's plugin of that name, without its score."""

    name: ClassVar[str] = NODE_RESOURCES_FIT

    def rules(self, state: ClusterState, pod: Pod) -> Iterator[RoomRule]:
        """Yield the resources that the pod requests."""
        room, amounts = _Room(state, pod), dict(pod.requests)
        first = [each for each in FIRST if each in amounts]
        for resource in dict.fromkeys((*first, *amounts)):
            if amounts[resource]:
                yield from room.resource(resource, amounts[resource])


class _Room:
    """What nodes have left for a pod.

    Itself left out; pods nominated to a node that it yields to count as there, in rules that say
    so. Pods that are `gone` in a question keep their room.
    """

    def __init__(self, state: ClusterState, pod: Pod) -> None:
        self._state = state
        self._pod = pod
        self._own = {each.node for each in _places(state, pod)}

    def port(self, port: HostPort) -> Iterator[RoomRule]:
        """Yield what refuses nodes that have a port taken."""
        at = "" if port.address == EVERY_ADDRESS else f"{port.address}:"
        what = f"host port {at}{port.number}/{port.protocol}"
        ports, own = self._state.node_resources.ports, self._own

        def allows(node: str) -> bool:
            if node in own:
                return self._fit(node).allows(port)
            return ports(node).allow((port,))

        yield RoomRule(Reason.PORTS, allows, f"{what} taken", f"{what} were free")
        yield from self._beside(Reason.PORTS, allows, f"{what} taken", lambda fit: fit.allows(port))

    def resource(self, resource: str, amount: int) -> Iterator[RoomRule]:
        """Yield what refuses nodes that have too little of a resource, or too little left."""
        state, resources, own = self._state, self._state.node_resources, self._own
        reason, what, event = Reason.RESOURCES, f"too little {resource}", f"Insufficient {resource}"
        cure = f"{amount_of(resource, amount)} {resource} were free"
        if resource == PODS:
            what, event, cure = "too many pods", "Too many pods", "one pod fewer were there"

        def large(node: str) -> bool:
            has = resources.allocatable(node).amounts
            return not has or amount <= has.get(resource, 0)

        def allows(node: str) -> bool:
            if not large(node) or is_unmeasured(state, node):
                return True
            if node in own:
                return self._fit(node).has(resource, amount)
            return resources.has(node, ((resource, amount),))

        at_all = f"{amount_of(resource, amount)} {resource} were there at all"
        yield RoomRule(reason, large, f"{what} even when empty", at_all, event)
        yield RoomRule(reason, allows, what, cure, event)
        yield from self._beside(
            reason,
            lambda node: large(node) and allows(node),
            what,
            lambda fit: fit.has(resource, amount),
            event,
        )

    def _beside(
        self,
        reason: Reason,
        allows: Allows,
        what: str,
        fits: Callable[[NodeFit], bool],
        event: str = "",
    ) -> Iterator[RoomRule]:
        """Yield what refuses nodes that would do but for the pods nominated there."""
        nominated = self._state.nominated
        if not nominated:
            return

        def beside(node: str) -> bool:
            if not nominated.on(node) or not allows(node) or is_unmeasured(self._state, node):
                return True
            return fits(NodeFit(self._state, self._pod, node))

        yield RoomRule(reason, beside, f"{what} beside the pods nominated there", event=event)

    def _fit(self, node: str) -> NodeFit:
        return NodeFit(self._state, self._pod, node, nominated=False)


def _places(state: ClusterState, pod: Pod) -> Iterator[Pod]:
    """Yield the pod where it counts: on its node, or where it is reserved."""
    known = state.pod(pod.key, pod.uid)
    if known is not None and known.node is not None:
        yield known
    yield from (each.pod for each in state.reservations.of(pod.key, pod.uid))


def is_unmeasured(state: ClusterState, node: str) -> bool:
    """Return whether nothing is said of what a node has, as in a manifest: it takes anything."""
    return not state.node_resources.allocatable(node).amounts


def has_room(state: ClusterState, pod: Pod, node: str) -> bool:
    """Return whether a node has the resources and host ports that a pod asks for."""
    resources = state.node_resources
    if is_unmeasured(state, node):
        return resources.ports(node).allow(pod.ports)
    return resources.has(node, pod.requests, pod.ports)


def _knows_tolerations(pod: Pod) -> bool:
    """Return whether somebody has read what a pod tolerates; of a placed one, not all do."""
    return pod.node is None or pod.requirements is not NO_REQUIREMENTS


def _covers(tolerations: Sequence[Toleration], taint: Taint) -> bool:
    return any(each.covers(taint) for each in tolerations)


def _said(taint: Taint) -> str:
    value = f"={taint.value}" if taint.value else ""
    return f"{taint.key}{value}:{taint.effect}"


class NodeFit:
    """What is taken on a node beside what it has: NodeResourcesFit and NodePorts.

    Pods nominated to the node that ours yields to count as there, unless they are not to: with them
    is harder than without.
    """

    def __init__(self, state: ClusterState, pod: Pod, node: str, *, nominated: bool = True) -> None:
        self._requests = pod.requests
        self._wanted = pod.ports
        self._allocatable = state.node_resources.allocatable(node).amounts
        self._used = Counter(state.node_resources.used(node))
        self._ports = state.node_resources.ports(node).copy()
        for other in holding(state, pod, node) if nominated else ():
            self._put(other)
        for place in _places(state, pod):
            if place.node == node:
                self.free(place)

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
        return self._ports.allow(self._wanted) and all(
            self.has(resource, amount) for resource, amount in self._requests if amount
        )

    def has(self, resource: str, amount: int) -> bool:
        """Return whether so much of a resource is left."""
        return self._used[resource] + amount <= self._allocatable.get(resource, 0)

    def allows(self, port: HostPort) -> bool:
        """Return whether nobody has a port."""
        return self._ports.allow((port,))

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
