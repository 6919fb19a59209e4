"""What a pod asks of its placing besides rules and resources, and who would replace it.

And what the conditions in its status say: of its end, and of the rules that it was placed by.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from hashlib import blake2b
from itertools import chain
from sys import getsizeof
from typing import TypeAlias

import msgspec

from extender.core.errors import ObjectError, bounded
from extender.core.model import memory
from extender.core.model.lru_cache import CountedCache, LruCache
from extender.core.model.node_resources import (
    DEFAULT_SCHEDULER,
    EVERY_ADDRESS,
    RESTARTS,
    VOLUMES,
    HostPort,
    HostPorts,
    PodVolumes,
    Requirements,
    Toleration,
)
from extender.core.model.objects import NOT_CREATED, Said
from extender.core.model.topology_spread import SpreadConstraint
from extender.core.model.workload import Owner
from extender.core.wire.class_cache import decoded_size
from extender.core.wire.decoding import Int32, Json, decode
from extender.core.wire.manifests import (
    ALWAYS,
    NULL,
    Container,
    PodAnnotations,
    PodSpec,
)
from extender.core.wire.topology_spread import FIELD as SPREAD
from extender.core.wire.topology_spread import SOFT, read_spread

DISRUPTION_TARGET = "DisruptionTarget"
PREEMPTION_BY_SCHEDULER = "PreemptionByScheduler"
RULES_AT_PLACEMENT = "affinity-extender.io/RulesAtPlacement"
"""The type of our own condition: its message is the digest of the rules in annotations that the pod
was placed by. The right to edit a pod does not include its status."""
SCHEDULED = "PodScheduled"
CONDITIONS = frozenset((DISRUPTION_TARGET, RULES_AT_PLACEMENT, SCHEDULED))
"""Those that are read."""
MOST_SAID = 1000
"""Bytes of a scheduler's message that are kept: one names a few reasons, with numbers of nodes."""
_OF_SCHEDULER = frozenset(("Unschedulable", "SchedulerError"))
_OF_CONTROLLER = frozenset((NOT_CREATED,))
_SCHEDULED = SCHEDULED.encode()
_NAME = DISRUPTION_TARGET.encode()
_RECORD = RULES_AT_PLACEMENT.encode()
_READY = b'"Ready"'
_RESTARTS_ALL = b'"RestartAllContainers"'

_EXISTS = "Exists"
_EQUAL = "Equal"
_TCP = "TCP"
_MENTION = b"hostPort"
ANYWHERE = frozenset(
    ("name", "configMap", "secret", "emptyDir", "projected", "downwardAPI", "hostPath", "image")
)
"""Volumes that no node is refused for."""
LONGEST_UID = 64
"""The API server makes 36 characters, and takes any number from a tenant's owner reference."""
LONGEST_REFERENCES = 1_024
"""Bytes of owner references that are kept: some six."""
_SPELLINGS_OF_EVERY = frozenset(("", "0.0.0.0"))  # noqa: S104 - nothing is bound here


class _Toleration(msgspec.Struct, gc=False):
    key: str | None = None
    operator: str | None = None
    value: str | None = None
    effect: str | None = None


_TOLERATIONS: msgspec.json.Decoder[list[_Toleration] | None] = msgspec.json.Decoder(
    list[_Toleration] | None
)
_VOLUMES: msgspec.json.Decoder[list[dict[str, msgspec.Raw]] | None] = msgspec.json.Decoder(
    list[dict[str, msgspec.Raw]] | None
)
Fields: TypeAlias = Mapping[str, msgspec.Raw]
"""A volume, by the names of its fields."""
VolumesReader: TypeAlias = Callable[[Sequence[Fields]], PodVolumes]
"""Reads the volumes of a pod; ObjectError names the field that is broken."""
_Key: TypeAlias = tuple[
    bytes, str, tuple[str, ...], PodVolumes | None, str | None, tuple[str, ...], bytes, bool
]


def _read_tolerations(raw: Json) -> tuple[Toleration, ...]:
    """Read the taints that a pod does not mind; ObjectError when they are broken."""
    found: list[_Toleration] | None = decode(_TOLERATIONS, raw, "spec.tolerations")
    return tuple(_tolerations(found or ()))


def _volumes(spec: PodSpec) -> Sequence[Fields]:
    """Return the volumes of a pod if nodes may be refused for some of them."""
    volumes = () if spec.volumes is NULL else decode(_VOLUMES, spec.volumes, "spec.volumes") or ()
    return () if all(map(ANYWHERE.issuperset, volumes)) else volumes


def _unmodelled(spec: PodSpec, volumes: Sequence[Fields]) -> tuple[str, ...]:
    """Return the fields that only the scheduler looks at: volumes, devices, features of nodes."""
    found = []
    for each in chain(spec.containers or (), spec.initContainers or ()):
        if each.restartPolicyRules is not NULL and _RESTARTS_ALL in bytes(each.restartPolicyRules):
            found.append(RESTARTS)
            break
    if spec.resourceClaims:
        found.append("resourceClaims")
    if volumes:
        found.append(VOLUMES)
    return tuple(found)


class RequirementsReader:
    """Reads what pods ask of their placing; those that ask for the same share it."""

    def __init__(self, read_volumes: VolumesReader | None = None) -> None:
        """Without what reads volumes, say only that there are some that matter."""
        self._read_volumes = read_volumes
        self._known: LruCache[_Key, Requirements] = LruCache(memory.REQUIREMENTS)

    def read(self, spec: PodSpec, annotations: PodAnnotations | None) -> Requirements:
        """Return what a pod asks for; ObjectError names the field that is broken."""
        scheduler, tolerations = spec.schedulerName or DEFAULT_SCHEDULER, bytes(spec.tolerations)
        keep = None if annotations is None else annotations.keep
        volumes = _volumes(spec)
        claimed = self._read_volumes(volumes) if volumes and self._read_volumes else None
        spread = bytes(spec.topologySpreadConstraints)
        # Most pods have none, and a generator for nothing costs more than to ask.
        gates = (
            tuple(each.name or "" for each in spec.schedulingGates) if spec.schedulingGates else ()
        )
        runs_once = spec.restartPolicy not in {None, "", ALWAYS}
        key = (
            *(tolerations, scheduler, _unmodelled(spec, volumes), claimed, keep, gates, spread),
            runs_once,
        )
        known = self._known.peek(key)
        if known is None:
            size = decoded_size(tolerations) + len(scheduler) + decoded_size(spread)
            size += sum(map(getsizeof, gates))
            hard, beyond = _read_spread(spread)
            known = Requirements(
                _read_tolerations(tolerations),
                scheduler,
                key[2] + beyond,
                claimed,
                keep,
                gates,
                spread=hard,
                runs_once=runs_once,
                size=size,
            )
            self._known.put(key, known, size)
        return known


def _read_spread(raw: bytes) -> tuple[tuple[SpreadConstraint, ...], tuple[str, ...]]:
    """Return the constraints that refuse nodes, and what is not looked at of the others."""
    try:
        hard, soft = read_spread(raw)
    except ObjectError:
        return (), (SPREAD,)
    return hard, (f"{SPREAD} ({SOFT})",) if soft else ()


def _tolerations(found: Iterable[_Toleration]) -> Iterable[Toleration]:
    for each in found:
        operator = each.operator or _EQUAL
        # Comparing taints as numbers is alpha in the scheduler: such a one tolerates nothing here.
        if operator in {_EXISTS, _EQUAL}:
            value = None if operator == _EXISTS else each.value or ""
            yield Toleration(each.key or "", value, each.effect or "")


class OwnerReference(msgspec.Struct, gc=False):
    apiVersion: str = ""
    kind: str = ""
    name: str = ""
    uid: str = ""
    controller: bool | None = None


_REFERENCES: msgspec.json.Decoder[list[OwnerReference] | None] = msgspec.json.Decoder(
    list[OwnerReference] | None
)


class OwnerReader:
    """Reads who would replace a pod; those of one controller share it, recognised by its bytes."""

    def __init__(self) -> None:
        self._known: CountedCache[bytes, Owner] = CountedCache(memory.MOST_OWNERS)

    def read(self, references: msgspec.Raw) -> Owner | None:
        """Return the controller of a pod; ObjectError names the field that is broken."""
        key = bytes(references)
        known = self._known.peek(key)
        if known is None:
            found = decode(_REFERENCES, key, "metadata.ownerReferences") or ()
            known = next(_controllers(found), None)
            if known is not None and len(key) <= LONGEST_REFERENCES:
                self._known.put(key, known)
        return known


def _controllers(references: list[OwnerReference] | tuple[()]) -> Iterator[Owner]:
    for each in references:
        if each.controller:
            # In manifests there is no uid; there the name is as good.
            uid = _bounded(each.uid) or f"{each.kind}/{each.name}"
            yield Owner(each.kind, each.name, uid, each.apiVersion)


def _bounded(uid: str) -> str:
    """Return a uid, or a short one in place of a long one: it is written beside the Lease."""
    if len(uid) <= LONGEST_UID:
        return uid
    return blake2b(uid.encode(), digest_size=16).hexdigest()


class ContainerPort(msgspec.Struct, gc=False):
    containerPort: Int32 | None = None
    hostPort: Int32 | None = None
    hostIP: str | None = None
    protocol: str | None = None


_PORTS = msgspec.json.Decoder(list[ContainerPort] | None)


def read_host_ports(spec: PodSpec) -> HostPorts:
    """Return the ports that a pod holds as long as it runs (GetHostPorts of kube-scheduler).

    In the network of its host these are all, as the API server fills in when it is created.
    """
    for container in chain(spec.containers or (), spec.initContainers or ()):
        if container.ports is not NULL and (spec.hostNetwork or _MENTION in bytes(container.ports)):
            return tuple(dict.fromkeys(_of_containers(spec)))
    return ()


def _of_containers(spec: PodSpec) -> Iterator[HostPort]:
    of_host = bool(spec.hostNetwork)
    for index, container in enumerate(spec.initContainers or ()):
        # Those that only run before the others hold nothing afterwards.
        if container.restartPolicy == ALWAYS:
            yield from _ports(container, f"spec.initContainers[{index}].ports", of_host=of_host)
    for index, container in enumerate(spec.containers or ()):
        yield from _ports(container, f"spec.containers[{index}].ports", of_host=of_host)


def _ports(container: Container, path: str, *, of_host: bool) -> Iterator[HostPort]:
    for port in decode(_PORTS, container.ports, path) or ():
        number = port.hostPort or (port.containerPort if of_host else None) or 0
        if number > 0:
            address = port.hostIP or EVERY_ADDRESS
            yield HostPort(
                EVERY_ADDRESS if address in _SPELLINGS_OF_EVERY else address,
                port.protocol or _TCP,
                number,
            )


class _Condition(msgspec.Struct, gc=False):
    """v1.PodCondition."""

    type: str = ""
    status: str = ""
    reason: str | None = None
    message: str | None = None
    lastTransitionTime: str | None = None


_CONDITIONS: msgspec.json.Decoder[list[_Condition] | None] = msgspec.json.Decoder(
    list[_Condition] | None
)


def recorded_rules(conditions: bytes) -> str:
    """Return the digest of the rules that a pod was placed by; "" where none is on record."""
    if _RECORD not in conditions:
        return ""
    for each in decode(_CONDITIONS, conditions, "status.conditions") or ():
        if each.type == RULES_AT_PLACEMENT:
            return each.message or "" if each.status == "True" else ""
    return ""


def scheduler_said(conditions: bytes) -> Said | None:
    """Return what a scheduler has said of a pod that it did not place.

    That a pod is gated, the API server has said.
    """
    if _SCHEDULED not in conditions:
        return None
    return _said(conditions, SCHEDULED, "False", _OF_SCHEDULER)


def controller_said(conditions: bytes) -> Said | None:
    """Return what a controller has said, in its own status, of pods that it could not make."""
    return _said(conditions, "ReplicaFailure", "True", _OF_CONTROLLER)


def _said(conditions: bytes, of: str, status: str, reasons: Collection[str]) -> Said | None:
    for each in decode(_CONDITIONS, conditions, "status.conditions") or ():
        if (each.type, each.status) == (of, status) and each.reason in reasons:
            message = bounded(each.message or "", MOST_SAID)
            return Said(each.reason or "", message, moment(each.lastTransitionTime))
    return None


def moment(written: str | None) -> int | None:
    """Return a time in seconds since 1970; None for one that cannot be reckoned with.

    Who may write a pod's status can have an API server store the years 0 and 10000: that must not
    hide the pod. Of a time without an offset nothing says when it is.
    """
    try:
        if written is None:
            return None
        # One before the year 1 of UTC can be reckoned with, and not be shown.
        found = datetime.fromisoformat(written)
        return None if found.tzinfo is None else int(found.astimezone(UTC).timestamp())
    except (ValueError, OverflowError):
        return None


def is_ready(conditions: bytes) -> bool:
    if _READY not in conditions:
        return False
    found = decode(_CONDITIONS, conditions, "status.conditions") or ()
    return any(each.type == "Ready" and each.status == "True" for each in found)


def preemption_message(conditions: bytes) -> str | None:
    """Return what marks a pod that is to go for a more important one's sake; None without that.

    The mark of any preemptor counts. As in kube-scheduler's PodTerminatingByPreemption: the first
    condition of the type counts.
    """
    if _NAME not in conditions:
        return None
    for each in decode(_CONDITIONS, conditions, "status.conditions") or ():
        if each.type == DISRUPTION_TARGET:
            marked = each.status == "True" and each.reason == PREEMPTION_BY_SCHEDULER
            return each.message or "" if marked else None
    return None
