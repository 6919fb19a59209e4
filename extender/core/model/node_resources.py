"""What a pod requires of a node besides other pods, ports included, and what a node has to give."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from operator import methodcaller
from typing import Final, NamedTuple, TypeAlias

from extender.core.model.signed import shift
from extender.core.model.topology_spread import SpreadConstraint

Requests: TypeAlias = tuple[tuple[str, int], ...]
"""Amounts by resource, sorted; thousandths for cpu, whole units for the rest, rounded up."""

PODS = "pods"
JUST_A_POD: Requests = ((PODS, 1),)
"""A pod without requests still takes one of the places that a node has for pods."""

DEFAULT_SCHEDULER: Final = "default-scheduler"
KNOWN_SCHEDULERS: Final = frozenset((DEFAULT_SCHEDULER, "affinity-scheduler"))
"""Those that go by the rules here: Kubernetes' own, and the second one of manifests and chart."""
SPREAD: Final = "topologySpreadConstraints"
VOLUMES: Final = "volumes"
RESTARTS: Final = "restartPolicyRules"
HARD: Final = ("resourceClaims", RESTARTS, SPREAD, VOLUMES)
"""Fields of a pod for which the scheduler may refuse nodes, and which are not looked at here:
topology spread constraints, only those that cannot be read; of rules about restarts those that
restart all containers, which nodes have to declare (NodeDeclaredFeatures, a plugin since 1.36)."""

EVERY_ADDRESS = ""
"""In the place of one address of the node: the port is taken on all of them."""


@dataclass(frozen=True, slots=True)
class Taint:
    """A reason for pods not to go to a node, NoSchedule or NoExecute."""

    key: str
    value: str
    effect: str


CORDONED = Taint("node.kubernetes.io/unschedulable", "", "NoSchedule")


@dataclass(frozen=True, slots=True)
class Toleration:
    """Taints that a pod does not mind; an empty key or effect means any."""

    key: str
    value: str | None
    """None for any value."""
    effect: str

    def covers(self, taint: Taint) -> bool:
        return (
            self.effect in {"", taint.effect}
            and self.key in {"", taint.key}
            and self.value in {None, taint.value}
        )


@dataclass(frozen=True, slots=True, weakref_slot=True)
class Allocatable:
    """What a node has for pods, and which pods it keeps away."""

    amounts: Mapping[str, int]
    """Amounts as in Requests; what is missing is not there."""
    taints: tuple[Taint, ...] = ()
    """Those that keep pods away. A node that is cordoned gets one for that, if late."""
    unschedulable: bool = False
    """It is cordoned: its spec says so, and a taint alone does not."""


NOTHING_ALLOCATABLE = Allocatable({})


class PodVolumes:
    """What is read of the volumes of a pod where they are wanted; a value that can be hashed."""

    __slots__ = ()


@dataclass(frozen=True, slots=True)
class Requirements:
    """What a pod asks of its placing besides rules, requests and ports; replicas share it."""

    tolerations: tuple[Toleration, ...] = ()
    scheduler: str = DEFAULT_SCHEDULER
    """Name of the scheduler (profile) that places it."""
    unmodelled: tuple[str, ...] = ()
    """Fields of its spec that only the scheduler looks at."""
    volumes: PodVolumes | None = None
    """What the scheduler may refuse nodes for of its volumes; None where that is not read."""
    keep: str | None = None
    """The annotation by which it asks to be left where it is."""
    gates: tuple[str, ...] = ()
    """Its scheduling gates: until they are removed, no scheduler looks at it."""
    spread: tuple[SpreadConstraint, ...] = ()
    """Its topology spread constraints that refuse nodes."""
    runs_once: bool = False
    """Its restartPolicy is not Always: it comes to an end, and what it has done is lost before."""
    size: int = field(default=0, compare=False)
    """About what it takes, in bytes."""

    @property
    def conditions(self) -> int:
        """Return how many conditions a node is compared with, at most."""
        return 1 + len(self.tolerations)

    @property
    def is_plain(self) -> bool:
        """Return whether there is nothing that only the scheduler knows the right nodes for."""
        return not self.spread and not any(each in HARD for each in self.unmodelled)

    def tolerates(self, allocatable: Allocatable) -> bool:
        if allocatable.unschedulable and not self.covers(CORDONED):
            return False
        return all(map(self.covers, allocatable.taints))

    def covers(self, taint: Taint) -> bool:
        return any(map(methodcaller("covers", taint), self.tolerations))


NO_REQUIREMENTS = Requirements()


class HostPort(NamedTuple):
    """A port, on one address of a node or on all."""

    address: str
    protocol: str
    number: int


HostPorts: TypeAlias = tuple[HostPort, ...]


@dataclass(slots=True)
class UsedPorts:
    """The ports that pods have on one node (HostPortInfo of kube-scheduler).

    Counted, for on a node that was filled by hand two pods may name the same one.
    """

    _addresses: dict[tuple[str, int], dict[str, int]] = field(default_factory=dict)
    """How many have a port, by protocol and number, then by address."""

    def __bool__(self) -> bool:
        return bool(self._addresses)

    def use(self, ports: Iterable[HostPort], sign: int) -> None:
        """Count a pod's ports (1), or take them back (-1)."""
        for port in ports:
            addresses = self._addresses.setdefault((port.protocol, port.number), {})
            shift(addresses, port.address, sign)
            if not addresses:
                del self._addresses[port.protocol, port.number]

    def allow(self, ports: Iterable[HostPort]) -> bool:
        """Return whether none of these ports is taken; O(ports)."""
        return not any(self._conflict(port) for port in ports)

    def _conflict(self, port: HostPort) -> bool:
        addresses = self._addresses.get((port.protocol, port.number))
        if addresses is None:
            return False
        return (
            port.address == EVERY_ADDRESS or port.address in addresses or EVERY_ADDRESS in addresses
        )

    def copy(self) -> UsedPorts:
        return UsedPorts({port: dict(found) for port, found in self._addresses.items()})
