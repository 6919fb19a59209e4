"""What is between a pod and a node alone: its name, taints, host ports and resources, as plugins.

In a cluster the scheduler's own plugins see to these. Here they stand beside ours, so that one
verdict and one explanation covers everything.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import ClassVar, Final, TypeAlias

from extender.core.cluster.counts.nodes import NodeList
from extender.core.cluster.state import ClusterState
from extender.core.model.labels import SUCCESSORS
from extender.core.model.node_resources import (
    CORDONED,
    EVERY_ADDRESS,
    NO_REQUIREMENTS,
    PODS,
    HostPort,
    Requirements,
    Taint,
    Toleration,
    UsedPorts,
)
from extender.core.model.objects import Pod
from extender.core.model.verdict import (
    NODE_NAME,
    NODE_PORTS,
    NODE_RESOURCES_FIT,
    NODE_UNSCHEDULABLE,
    TAINT_TOLERATION,
    Reason,
)
from extender.core.model.wording import MOST_NAMED, amount_of, plural, plural_of, some
from extender.core.verbs.node_fit import NodeFit, places
from extender.core.verbs.plugins import FilterPlugin, Unknown, too_many
from extender.core.verbs.rules import Refusal, RefusalGroup, Rule

FIRST: Final = (PODS, "cpu", "memory", "ephemeral-storage")
"""The resources that NodeResourcesFit names before all others, in its order."""
MOST_ASKED: Final = 50
"""Resources, host ports or tolerations of a pod that are looked at: no pod makes others wait."""
Lacks: TypeAlias = Callable[[str], str | None]
"""In what way a node, by its name, lacks something for the pod, as below; None if it does not."""
PLAIN: Final = ""
EMPTY: Final = " even when empty"
SILENT: Final = " as the kubelet there has reported nothing yet"
HELD: Final = " beside the pods nominated there"
NOTHING_YET: Final = {PODS: 0}
"""What a node has of which the kubelet has not reported it."""
_BETWEEN: Final = " and "
"""Taints of one node."""
_PASSING: Final[Mapping[str, str]] = {
    "ebs.csi.aws.com/agent-not-ready": "ready for volumes of its driver",
    "efs.csi.aws.com/agent-not-ready": "ready for volumes of its driver",
    "karpenter.sh/unregistered": "registered by Karpenter",
    "node.cilium.io/agent-not-ready": "given a network",
    "node.cloudprovider.kubernetes.io/uninitialized": (
        "initialized by the cloud controller manager"
    ),
    "node.kubernetes.io/disk-pressure": "no longer short of disk space",
    "node.kubernetes.io/memory-pressure": "no longer short of memory",
    "node.kubernetes.io/network-unavailable": "given a network",
    "node.kubernetes.io/not-ready": "ready",
    "node.kubernetes.io/out-of-service": "back in service",
    "node.kubernetes.io/pid-pressure": "no longer short of process IDs",
    "node.kubernetes.io/unreachable": "reachable",
    CORDONED.key: "rid of what it was cordoned with",
}
"""Taints that are on a node as long as something is wrong with it, and what ends them: to tolerate
them would put the pod on a broken node."""
_STARTING: Final = re.compile(
    r"(?:startup|ignore)-taint\.cluster-autoscaler\.kubernetes\.io/|readiness\.k8s\.io/"
    r"|nidhogg\.uswitch\.com/|.*not-?ready$|node\.cluster\.x-k8s\.io/uninitialized$"
)
"""Taints that something which runs on a new node takes away once it is ready, by their names."""
_LEAVING: Final = frozenset(
    (
        "ToBeDeletedByClusterAutoscaler",
        "aws-node-termination-handler/asg-lifecycle-termination",
        "aws-node-termination-handler/rebalance-recommendation",
        "aws-node-termination-handler/scheduled-maintenance",
        "aws-node-termination-handler/spot-itn",
        "cloud.google.com/impending-node-termination",
        "karpenter.sh/disrupted",
        "karpenter.sh/disruption",
    )
)
"""Taints of nodes that an autoscaler or a cloud is about to take away."""
_ROLE: Final = "node-role.kubernetes.io/"
_BEFORE: Final = {new: old for old, new in SUCCESSORS.items()}


@dataclass(slots=True, eq=False)
class RoomRule(Rule):
    """One thing that a node may lack for a pod; the ways in which nodes lack it are domains."""

    reason: Reason
    lacks: Lacks
    what: str
    """In words: too little cpu."""
    cure: str = ""
    """What would have to be so for the node to fit: 200m cpu were free."""
    event: str = ""
    resource: str = ""
    amount: int = 0
    """Of the resource that the pod requests."""
    too_small: set[int] = field(default_factory=set)
    """What nodes have of it that were too small; `lacks` adds to it."""
    of_node = True
    looks = 9

    @property
    def largest(self) -> int:
        return max(self.too_small, default=0)

    def split(self, asked: NodeList) -> tuple[NodeList, Sequence[str]]:
        lacks = self.lacks
        hit = [name for name in asked.names if lacks(name) is not None]
        return asked.without(hit), hit

    def hits(self, asked: NodeList) -> Mapping[str, str | None]:
        found = [(name, self.lacks(name)) for name in asked.names]
        return {name: way for name, way in found if way is not None}

    def cause(self, group: RefusalGroup) -> str:
        (way, *others) = group.pods
        return self.what if others else f"{self.what}{way}{self._how_much(way)}"

    def _how_much(self, way: str | None) -> str:
        if way != EMPTY or self.resource == PODS:
            return ""
        asked, has = (amount_of(self.resource, each) for each in (self.amount, self.largest))
        return f" (asks for {asked}, the largest of them has {has})"

    def statement(self, refusal: Refusal) -> str | None:
        if not _says_more(refusal):
            return None
        nodes, way = plural(refusal.hits, "node"), refusal.domain
        return f"Refused on {nodes}: {self.what}{way}{self._how_much(way)}"

    def remedy(self, domain: str | None, nodes: int) -> str:
        if domain == HELD:
            return " if it was not for pods that are nominated there"
        if not self.cure:
            return f" but for one thing: {self.what}"
        return f" if {self.cure}{' at all' if domain == EMPTY else ''}"


@dataclass(slots=True, eq=False)
class PortRule(RoomRule):
    """A host port that is taken. Each node where it is taken is a domain, named like the node."""

    port: HostPort | None = None

    def cause(self, group: RefusalGroup) -> str:
        if any(group.pods.values()):
            return f"{self.what} by {group.in_the_way}"
        return self.what if set(group.pods) != {HELD} else f"{self.what}{HELD}"

    def statement(self, refusal: Refusal) -> str | None:
        """Say nothing more of a node where the port is taken and that shows another reason.

        There may be as many as nodes.
        """
        return RoomRule.statement(self, refusal) if refusal.domain in {PLAIN, HELD} else None


def holders(state: ClusterState, pod: Pod, refusal: Refusal) -> list[Pod]:
    """Return the pods that have the port for which a node is refused; O(pods of the node)."""
    rule, node = refusal.rule, refusal.domain or ""
    if not isinstance(rule, PortRule) or rule.port is None:
        return []
    found = []
    for other in (*state.pods_on(node), *state.reservations.on(node)):
        if other.spec.ports and other.uid != pod.uid:
            has = UsedPorts()
            has.use(other.spec.ports, 1)
            if not has.allow((rule.port,)):
                found.append(other)
    return found


def _says_more(refusal: Refusal) -> bool:
    return refusal.hits > len(refusal.nodes)


@dataclass(frozen=True, slots=True)
class NodeName(FilterPlugin):
    """The scheduler's plugin of that name.

    Of a pod that is placed already, it is asked where it might go: its place is no wish.
    """

    name: ClassVar[str] = NODE_NAME

    def rules(self, state: ClusterState, pod: Pod) -> Iterator[RoomRule]:
        wanted = named_node(state, pod)
        if wanted is not None:
            what = f"spec.nodeName names {wanted}"
            yield RoomRule(
                Reason.NODE_NAME,
                lambda node: None if node == wanted else PLAIN,
                what,
                event=Reason.NODE_NAME.value,
            )


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
        if _knows_tolerations(pod) and not pod.spec.requirements.covers(CORDONED):
            yield RoomRule(
                Reason.UNSCHEDULABLE,
                lambda node: PLAIN if resources.allocatable(node).unschedulable else None,
                "cordoned",
                "it was not cordoned",
                Reason.UNSCHEDULABLE.value,
            )


def of_role(taints: str | None) -> bool:
    """Return whether one of some taints keeps nodes for what runs the cluster."""
    return any(each.startswith(_ROLE) for each in (taints or "").split(_BETWEEN))


def of_leaving(taints: str | None) -> bool:
    """Return whether one of some taints says that the node is about to be deleted."""
    return any(_key_of(each) in _LEAVING for each in (taints or "").split(_BETWEEN))


def of_cordoned(taints: str | None) -> bool:
    """Return whether a taint is left of when the node was cordoned: it is no more."""
    return any(_key_of(each) == CORDONED.key for each in (taints or "").split(_BETWEEN))


def of_condition(taints: str | None) -> bool:
    """Return whether all of some taints say that something is wrong with the node."""
    return all(_passing(_key_of(each)) for each in (taints or "").split(_BETWEEN))


def misses(toleration: Toleration, taint: Taint) -> bool:
    """Return whether a toleration looks as if it was meant for a taint that it does not cover.

    The taint of a condition is left out: all pods tolerate some of them, with another effect.
    """
    same = toleration.key in {taint.key, _BEFORE.get(taint.key)}
    return same and not _passing(taint.key) and not toleration.covers(taint)


def is_lasting(taint: Taint) -> bool:
    """Return whether a taint is of what a node is for, and not of what becomes of it."""
    return not _passing(taint.key) and taint.key not in _LEAVING


def _passing(key: str) -> str | None:
    """Say what a node is once a taint has gone that pods need not tolerate; None of others."""
    return _PASSING.get(key, "ready" if _STARTING.match(key) else None)


@dataclass(slots=True, eq=False)
class TaintRule(Rule):
    """Taints that a pod does not tolerate; nodes with the same ones are a domain of it."""

    state: ClusterState
    requirements: Requirements
    reason = Reason.TAINT
    of_node = True
    looks: int
    after_cordoned: bool = True
    """NodeUnschedulable is asked before: it says of cordoned nodes what is wrong with them."""
    _known: dict[tuple[Taint, ...], str | None] = field(default_factory=dict)

    def split(self, asked: NodeList) -> tuple[NodeList, Sequence[str]]:
        hit = [*self.hits(asked)]
        return asked.without(hit), hit

    def hits(self, asked: NodeList) -> Mapping[str, str | None]:
        found = ((name, self._untolerated(name)) for name in asked.names)
        return {name: taints for name, taints in found if taints is not None}

    def _untolerated(self, node: str) -> str | None:
        has = self.state.node_resources.allocatable(node)
        taints = has.taints
        if self.after_cordoned and has.unschedulable:
            taints = tuple(each for each in taints if each != CORDONED)
        if not taints:
            return None
        if taints not in self._known:
            hard = [_said(each) for each in taints if not self.requirements.covers(each)]
            self._known[taints] = _BETWEEN.join(hard) or None
        return self._known[taints]

    def cause(self, group: RefusalGroup) -> str:
        taints = sorted(filter(None, group.pods))
        return f"untolerated taint {some(taints, len(taints))}"

    def statement(self, refusal: Refusal) -> str | None:
        if not _says_more(refusal):
            return None
        return f"Refused on {plural(refusal.hits, 'node')}: untolerated taint {refusal.domain}"

    def has_remedy(self, domain: str | None) -> bool:
        return not (of_role(domain) or of_leaving(domain))

    def remedy(self, domain: str | None, nodes: int) -> str:
        there = (domain or "").split(_BETWEEN)
        passing = sorted({key for key in map(_key_of, there) if _passing(key)})
        lasting = [each for each in there if not _passing(_key_of(each))]
        parts = []
        if passing:
            are = " and ".join(dict.fromkeys(str(_passing(key)) for key in passing))
            taints = f"the {plural_of('taint', passing)} {_BETWEEN.join(passing)}"
            go = "go" if passing[1:] else "goes"
            it_is = "they are" if nodes > 1 else "it is"
            parts.append(f"once {it_is} {are} ({taints} {go} then)")
        if lasting:
            parts.append(f"if the pod tolerated the taint {_BETWEEN.join(lasting)}")
        return f" {', and '.join(parts)}"


@dataclass(frozen=True, slots=True)
class TaintToleration(FilterPlugin):
    """The scheduler's plugin of that name, without its score."""

    after_cordoned: bool = True

    name: ClassVar[str] = TAINT_TOLERATION

    def rules(self, state: ClusterState, pod: Pod) -> Iterator[TaintRule]:
        if _knows_tolerations(pod) and len(pod.spec.requirements.tolerations) <= MOST_ASKED:
            looks = 4 + len(pod.spec.requirements.tolerations)
            yield TaintRule(state, pod.spec.requirements, looks, self.after_cordoned)

    def unknown(self, state: ClusterState, pod: Pod) -> Iterator[Unknown]:
        yield from too_many("tolerations", pod.spec.requirements.tolerations, MOST_ASKED)
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
        if pod.spec.ports:
            room = _Room(state, pod)
            named = len(pod.spec.ports) <= MOST_NAMED
            for port in pod.spec.ports[:MOST_ASKED]:
                yield room.port(port, named=named)

    def unknown(self, state: ClusterState, pod: Pod) -> Iterator[Unknown]:
        yield from too_many("host ports", pod.spec.ports, MOST_ASKED)


@dataclass(frozen=True, slots=True)
class NodeResourcesFit(FilterPlugin):
    """The scheduler's plugin of that name, without its score."""

    ignored: frozenset[str] = frozenset()
    """Extended resources that another component gives out, by name, as in NodeResourcesFitArgs."""
    ignored_groups: frozenset[str] = frozenset()
    """The same, by what comes before the slash."""

    name: ClassVar[str] = NODE_RESOURCES_FIT

    def rules(self, state: ClusterState, pod: Pod) -> Iterator[RoomRule]:
        room, amounts = _Room(state, pod), dict(pod.spec.requests)
        first = [each for each in FIRST if each in amounts]
        for resource in islice(dict.fromkeys((*first, *amounts)), MOST_ASKED):
            if amounts[resource] and not self._ignores(resource):
                yield room.resource(resource, amounts[resource])

    def _ignores(self, resource: str) -> bool:
        group, slash, _ = resource.partition("/")
        # IsExtendedResourceName: of all others, none is ignored.
        is_native = not slash or "kubernetes.io/" in resource
        return not is_native and (resource in self.ignored or group in self.ignored_groups)

    def unknown(self, state: ClusterState, pod: Pod) -> Iterator[Unknown]:
        yield from too_many("resources", pod.spec.requests, MOST_ASKED)


class _Room:
    """What nodes have left for a pod.

    Itself left out, and with the pods nominated there that it yields to. Pods that are `gone` in a
    question keep their room.
    """

    def __init__(self, state: ClusterState, pod: Pod) -> None:
        self._state = state
        self._pod = pod
        self._own = {each.node for each in places(state, pod)}
        self._fits: dict[tuple[str, bool], NodeFit] = {}

    def port(self, port: HostPort, *, named: bool) -> RoomRule:
        """Return what refuses nodes that have a port taken, each for itself if it is `named`."""
        ports, own, asked = self._state.node_resources.ports, self._own, (port,)
        nominated = self._state.nominated

        def lacks(node: str) -> str | None:
            taken = ports(node)
            if taken and not (self._fit(node).allows(port) if node in own else taken.allow(asked)):
                return node if named else PLAIN
            held = nominated.on(node) and not self._fit(node, held=True).allows(port)
            return HELD if held else None

        at = "" if port.address == EVERY_ADDRESS else f"{port.address}:"
        what = f"host port {at}{port.number}/{port.protocol}"
        event = Reason.PORTS.value
        said = f"{what} taken", f"{what} were free", event
        return PortRule(Reason.PORTS, lacks, *said, port=port)

    def resource(self, resource: str, amount: int) -> RoomRule:
        """Return what refuses nodes that have too little of a resource, or too little left."""
        resources, own, nominated = self._state.node_resources, self._own, self._state.nominated
        allocatable, used = resources.allocatable, resources.used
        too_small = set[int]()

        def lacks(node: str) -> str | None:
            has = allocatable(node).amounts
            room = has.get(resource, 0)
            if not has:
                return None
            if has == NOTHING_YET:
                return SILENT
            if amount > room:
                too_small.add(room)
                return EMPTY
            taken = self._fit(node).used(resource) if node in own else used(node).get(resource, 0)
            if taken + amount > room:
                return PLAIN
            if not nominated or not nominated.on(node):
                return None
            return HELD if self._fit(node, held=True).used(resource) + amount > room else None

        if resource == PODS:
            said = "too many pods", "one pod fewer were there", "Too many pods"
        else:
            cure = f"{amount_of(resource, amount)} {resource} were free"
            said = f"too little {resource}", cure, f"Insufficient {resource}"
        return RoomRule(Reason.RESOURCES, lacks, *said, resource, amount, too_small)

    def _fit(self, node: str, *, held: bool = False) -> NodeFit:
        found = self._fits.get((node, held))
        if found is None:
            found = NodeFit(self._state, self._pod, node, nominated=held)
            self._fits[node, held] = found
        return found


def _knows_tolerations(pod: Pod) -> bool:
    """Return whether the tolerations of a pod were read; those of a placed pod may not be."""
    return pod.node is None or pod.spec.requirements is not NO_REQUIREMENTS


def _said(taint: Taint) -> str:
    value = f"={taint.value}" if taint.value else ""
    return f"{taint.key}{value}:{taint.effect}"


def _key_of(said: str) -> str:
    return said.rpartition(":")[0].partition("=")[0]
