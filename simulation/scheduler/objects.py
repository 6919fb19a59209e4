"""Pods and nodes as a scheduler knows them."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Any

from simulation.apiserver.store import Json, encode, key_of
from simulation.invariants.kinds import Kind
from simulation.invariants.node_terms import allows, wanted_nodes
from simulation.templates import VOLUME, ZONE

MOST_PODS = 110


@dataclass(slots=True, eq=False)
class PodInfo:
    key: str
    uid: str
    raw: Json
    node: str
    """The node it is bound to, "" without one."""
    priority: int
    cpu: int
    """Requested, in thousandths."""
    nominated: str
    scheduler: str
    deleting: bool
    volume_zone: str = ""
    """The zone of its volume; "" without one."""
    wants: Mapping[str, Any] | None = None
    """The required node affinity of its spec."""
    ports: frozenset[int] = frozenset()
    """Of the host, which no two pods of a node may have."""
    group: str = ""
    """The key of its pod group; "" without one."""
    kind: Kind | None = None

    encoded: bytes = b""

    @property
    def json(self) -> bytes:
        """Return it as it is sent."""
        if not self.encoded:
            self.encoded = encode(self.raw)
        return self.encoded

    @property
    def never_preempts(self) -> bool:
        return bool(self.raw["spec"].get("preemptionPolicy") == "Never")


def pod_info(raw: Json) -> PodInfo:
    metadata, spec, status = raw["metadata"], raw["spec"], raw["status"]
    group = spec.get("schedulingGroup", {}).get("podGroupName")
    return PodInfo(
        key=f"{metadata['namespace']}/{metadata['name']}",
        uid=metadata["uid"],
        raw=raw,
        node=spec.get("nodeName", ""),
        priority=spec.get("priority", 0),
        cpu=sum(_milli(each) for each in spec["containers"]),
        nominated=status.get("nominatedNodeName", ""),
        scheduler=spec.get("schedulerName", ""),
        deleting="deletionTimestamp" in metadata,
        volume_zone=metadata.get("annotations", {}).get(VOLUME, ""),
        wants=wanted_nodes(spec),
        ports=frozenset(
            port["hostPort"] for each in spec["containers"] for port in each.get("ports", ())
        ),
        group=f"{metadata['namespace']}/{group}" if group else "",
    )


@dataclass(frozen=True, slots=True)
class GroupInfo:
    key: str
    least: int
    """Members that must have a node before one is bound: minCount of a gang, 1 of others."""
    topology: str | None
    """The key of the domain that has to hold all of them."""


def group_info(raw: Json) -> GroupInfo:
    spec = raw["spec"]
    gang = spec["schedulingPolicy"].get("gang")
    keys = spec.get("schedulingConstraints", {}).get("topology", ())
    # The API knows one constraint at most.
    topology = keys[0]["key"] if keys else None
    return GroupInfo(key_of(raw), 1 if gang is None else gang["minCount"], topology)


def _milli(container: Json) -> int:
    amount = container.get("resources", {}).get("requests", {}).get("cpu", "0")
    return int(amount.removesuffix("m")) if amount.endswith("m") else 1000 * int(amount)


@dataclass(slots=True, eq=False)
class NodeInfo:
    """One node, and the pods that a scheduler has there, assumed ones as well."""

    name: str
    raw: Json
    pods: dict[str, PodInfo] = field(default_factory=dict)
    """By uid."""
    used: int = 0
    cpu: int = 0
    """The thousandths there are."""
    open: bool = True
    """Whether pods may come."""
    zone: str = ""

    def __post_init__(self) -> None:
        self.cpu = 1000 * int(self.raw["status"]["allocatable"]["cpu"])
        spec = self.raw["spec"]
        self.open = not spec.get("unschedulable", False) and not spec.get("taints")
        self.zone = self.labels.get(ZONE, "")

    @property
    def labels(self) -> Mapping[str, str]:
        found: Mapping[str, str] = self.raw["metadata"].get("labels", {})
        return found

    def copy(self) -> NodeInfo:
        return NodeInfo(self.name, self.raw, {**self.pods}, self.used)

    def add(self, pod: PodInfo) -> None:
        self.pods[pod.uid] = pod
        self.used += pod.cpu

    def remove(self, uid: str) -> None:
        pod = self.pods.pop(uid, None)
        if pod is not None:
            self.used -= pod.cpu

    def takes(self, pod: PodInfo) -> bool:
        """Tell whether a pod may come, room aside."""
        return (
            self.open
            and pod.volume_zone in {"", self.zone}
            and (pod.wants is None or allows(pod.wants, self.name, self.labels))
        )

    def has_ports(self, ports: frozenset[int], gone: Collection[PodInfo] = ()) -> bool:
        """Tell whether nobody but pods that leave has any of some ports."""
        return all(ports.isdisjoint(each.ports) or each in gone for each in self.pods.values())

    def has_room(self, cpu: int, without: int = 0, gone: int = 0) -> bool:
        """Tell whether so much fits, `without` and `gone` being what leaves, in cpu and pods."""
        return self.used - without + cpu <= self.cpu and len(self.pods) - gone < MOST_PODS
