"""What is between a pod and its node alone: tolerations, host ports, and who would replace it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import msgspec

from extender.model import memory
from extender.model.lru_cache import LruCache, Pool
from extender.model.node_resources import (
    EVERY_ADDRESS,
    HostPort,
    HostPorts,
    Requests,
    Requirements,
    Toleration,
)
from extender.model.workload import Owner, Tenure
from extender.wire.class_cache import PER_STRING, decoded_size
from extender.wire.decoding import Int32, Json, decode
from extender.wire.manifests import ALWAYS, Container, PodAnnotations, PodSpec

_EXISTS = "Exists"
_EQUAL = "Equal"
_TCP = "TCP"
_MENTION = b"hostPort"
_SPELLINGS_OF_EVERY = frozenset(("", "0.0.0.0"))  # noqa: S104 - nothing is bound here


class _Toleration(msgspec.Struct, gc=False):
    key: str | None = None
    operator: str | None = None
    value: str | None = None
    effect: str | None = None


class _Spec(msgspec.Struct):
    tolerations: list[_Toleration] | None = None


class _Pod(msgspec.Struct):
    spec: _Spec = msgspec.field(default_factory=_Spec)


_POD = msgspec.json.Decoder(_Pod)
_TOLERATIONS: msgspec.json.Decoder[list[_Toleration] | None] = msgspec.json.Decoder(
    list[_Toleration] | None
)


def _read_tolerations(raw: Json) -> tuple[Toleration, ...]:
    """Read the taints that a pod does not mind; ObjectError when they are broken."""
    found: list[_Toleration] | None = decode(_TOLERATIONS, raw, "spec.tolerations")
    return tuple(_tolerations(found or ()))


def read_requirements(raw: Json, requests: Requests) -> Requirements:
    """Read what a pod asks of its node."""
    spec = decode(_POD, raw, "Pod").spec
    return Requirements(
        requests,
        tuple(_tolerations(spec.tolerations or ())),
        # The decoded part in JSON again: of the pod's, most is about other things.
        decoded_size(msgspec.json.encode(spec)),
    )


def _tolerations(found: Iterable[_Toleration]) -> Iterable[Toleration]:
    for each in found:
        operator = each.operator or _EQUAL
        # Comparing taints as numbers is alpha in the scheduler: such a one tolerates nothing here.
        if operator in {_EXISTS, _EQUAL}:
            value = None if operator == _EXISTS else each.value or ""
            yield Toleration(each.key or "", value, each.effect or "")


class _Reference(msgspec.Struct, gc=False):
    """metav1.OwnerReference."""

    kind: str = ""
    name: str = ""
    uid: str = ""
    controller: bool | None = None


_REFERENCES: msgspec.json.Decoder[list[_Reference] | None] = msgspec.json.Decoder(
    list[_Reference] | None
)


class TenureReader:
    """Reads them; pods of one controller share theirs, recognised by their bytes."""

    def __init__(self) -> None:
        self._known: LruCache[tuple[bytes, bytes, str | None], Tenure] = LruCache(memory.TENURES)

    def read(
        self,
        owners: msgspec.Raw,
        tolerations: msgspec.Raw,
        annotations: PodAnnotations | None = None,
    ) -> Tenure:
        """Return what counts of a pod; ObjectError names the field that is broken."""
        keep = None if annotations is None else annotations.keep
        key = (bytes(owners), bytes(tolerations), keep)
        known = self._known.get(key)
        if known is None:
            references = decode(_REFERENCES, key[0], "metadata.ownerReferences") or ()
            owner = next(_controllers(references), None)
            known = Tenure(owner, _read_tolerations(key[1]), keep)
            self._known.put(key, known, decoded_size(*key[:2]))
        return known


def _controllers(references: list[_Reference] | tuple[()]) -> Iterator[Owner]:
    for each in references:
        if each.controller:
            # In manifests there is no uid; there the name is as good.
            yield Owner(each.kind, each.name, each.uid or f"{each.kind}/{each.name}")


class _Port(msgspec.Struct, gc=False):
    """v1.ContainerPort."""

    hostPort: Int32 | None = None  # noqa: N815 - the API's spelling
    hostIP: str | None = None  # noqa: N815 - the API's spelling
    protocol: str | None = None


_PORTS = msgspec.json.Decoder(list[_Port] | None)


class HostPortsReader:
    """Reads host ports; pods with the same ones share them."""

    def __init__(self) -> None:
        self._distinct: Pool[HostPorts] = Pool(memory.NUMBERS)

    def read(self, spec: PodSpec) -> HostPorts:
        """Return the ports that a pod holds as long as it runs (GetHostPorts of kube-scheduler)."""
        found = [*_of_containers(spec)]
        if not found:
            return ()
        size = sum(6 * PER_STRING + len(port.address) + len(port.protocol) for port in found)
        return self._distinct.shared(tuple(dict.fromkeys(found)), size)


def _of_containers(spec: PodSpec) -> Iterator[HostPort]:
    for index, container in enumerate(spec.initContainers or ()):
        # Those that only run before the others hold nothing afterwards.
        if container.restartPolicy == ALWAYS:
            yield from _ports(container, f"spec.initContainers[{index}].ports")
    for index, container in enumerate(spec.containers or ()):
        yield from _ports(container, f"spec.containers[{index}].ports")


def _ports(container: Container, path: str) -> Iterator[HostPort]:
    if _MENTION not in bytes(container.ports):
        return
    for port in decode(_PORTS, container.ports, path) or ():
        if port.hostPort is not None and port.hostPort > 0:
            address = port.hostIP or EVERY_ADDRESS
            yield HostPort(
                EVERY_ADDRESS if address in _SPELLINGS_OF_EVERY else address,
                port.protocol or _TCP,
                port.hostPort,
            )
