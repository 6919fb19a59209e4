"""What makes pods, and whether a pod is as its maker wants it now."""

from __future__ import annotations

from typing import Any

import msgspec

from clusterload.watching import OwnedMetadata, Pod, read_pod
from extender.errors import ObjectError


class Controller(msgspec.Struct, frozen=True):
    """An object that has pods made."""

    key: str
    uid: str
    generation: int
    owner: str
    replicas: int
    pod_spec: dict[str, Any]


class WholePod(Pod, frozen=True):
    """A pod with its spec, still as JSON."""

    spec: bytes


class _Metadata(OwnedMetadata, frozen=True, rename="camel"):
    generation: int = 0


class _Template(msgspec.Struct, frozen=True):
    spec: dict[str, Any] = {}


class _Spec(msgspec.Struct):
    replicas: int | None = None
    template: _Template = _Template()


class _Controller(msgspec.Struct):
    metadata: _Metadata
    spec: _Spec


class _Specified(msgspec.Struct):
    spec: msgspec.Raw


def read_controller(raw: msgspec.Raw) -> Controller:
    """Read a Deployment or something like it."""
    try:
        read = msgspec.json.decode(raw, type=_Controller)
    except msgspec.MsgspecError as error:
        raise ObjectError("", str(error)) from error
    metadata, spec = read.metadata, read.spec
    replicas = 1 if spec.replicas is None else spec.replicas
    return Controller(
        metadata.key,
        metadata.uid,
        metadata.generation,
        metadata.owner,
        replicas,
        spec.template.spec,
    )


def read_whole_pod(raw: msgspec.Raw) -> WholePod:
    """Read a pod, and keep its spec."""
    spec = bytes(msgspec.json.decode(raw, type=_Specified).spec)
    return WholePod(**msgspec.structs.asdict(read_pod(raw)), spec=spec)


def agrees(wanted: Any, actual: Any) -> bool:
    """Whether everything that is said in `wanted` is so in `actual`, which may say more.

    Of lists too: admission adds volumes and the like behind those of the template.
    """
    if not wanted:
        return True
    match wanted, actual:
        case dict(), dict():
            return all(agrees(value, actual.get(key)) for key, value in wanted.items())
        case list(), list():
            return len(wanted) <= len(actual) and all(map(agrees, wanted, actual))
        case _:
            return bool(wanted == actual)
