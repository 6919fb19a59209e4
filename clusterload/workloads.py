"""Pods and the controllers that have them made, and how far a pod has come."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Any

import msgspec

from extender.core.kube.frames import Metadata
from extender.core.wire.decoding import decode

_RUNNING = "running"
_ENDED = frozenset(("Succeeded", "Failed"))
_SHORT_LIVED = frozenset(("name", "emptyDir", "downwardAPI", "configMap", "secret", "projected"))


class Pod(msgspec.Struct, frozen=True):
    """A pod, as far as measurements look at it."""

    key: str
    uid: str
    owner: str
    """The uid of its controller, or ""."""
    node: str
    phase: str
    ready: bool
    deleting: bool
    stateless: bool
    """Whether none of its volumes outlives it."""


class Controller(msgspec.Struct, frozen=True):
    """A Deployment, ReplicaSet, StatefulSet or ReplicationController."""

    key: str
    uid: str
    generation: int
    owner: str
    replicas: int
    pod_spec: dict[str, Any]


class WholePod(Pod, frozen=True):
    spec: bytes


class _Owner(msgspec.Struct, rename="camel"):
    uid: str
    controller: bool = False


class OwnedMetadata(Metadata, rename="camel", frozen=True):
    """Metadata with labels, owners and the time of deletion."""

    labels: dict[str, str] | None = None
    deletion_timestamp: str | None = None
    owner_references: list[_Owner] | None = None

    @property
    def owner(self) -> str:
        """The uid of the controller, or ""."""
        references = self.owner_references or ()
        return next((each.uid for each in references if each.controller), "")


class _PodSpec(msgspec.Struct, rename="camel"):
    node_name: str = ""
    volumes: list[dict[str, Any]] | None = None


class _Condition(msgspec.Struct):
    type: str
    status: str


class _Status(msgspec.Struct):
    phase: str = ""
    conditions: list[_Condition] | None = None


class _Pod(msgspec.Struct):
    metadata: OwnedMetadata
    spec: _PodSpec
    status: _Status


class _ControllerMetadata(OwnedMetadata, frozen=True, rename="camel"):
    generation: int = 0


class _Template(msgspec.Struct, frozen=True):
    spec: dict[str, Any] = {}


class _ControllerSpec(msgspec.Struct):
    replicas: int | None = None
    template: _Template = _Template()


class _Controller(msgspec.Struct):
    metadata: _ControllerMetadata
    spec: _ControllerSpec


class _Specified(msgspec.Struct):
    spec: msgspec.Raw


_POD = msgspec.json.Decoder(_Pod)
_SPECIFIED = msgspec.json.Decoder(_Specified)
_CONTROLLER = msgspec.json.Decoder(_Controller)


def read_pod(raw: msgspec.Raw) -> Pod:
    pod = decode(_POD, raw)
    conditions = pod.status.conditions or ()
    return Pod(
        key=pod.metadata.key,
        uid=pod.metadata.uid,
        owner=pod.metadata.owner,
        node=pod.spec.node_name,
        phase=pod.status.phase,
        ready=any(each.type == "Ready" and each.status == "True" for each in conditions),
        deleting=pod.metadata.deletion_timestamp is not None,
        stateless=all(volume.keys() <= _SHORT_LIVED for volume in pod.spec.volumes or ()),
    )


def read_whole_pod(raw: msgspec.Raw) -> WholePod:
    spec = bytes(decode(_SPECIFIED, raw).spec)
    return WholePod(**msgspec.structs.asdict(read_pod(raw)), spec=spec)


def read_controller(raw: msgspec.Raw) -> Controller:
    read = decode(_CONTROLLER, raw)
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


def agrees(wanted: Any, actual: Any) -> bool:
    """Tell whether `actual` has every value that `wanted` gives; it may have more.

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


def runs(pod: Pod) -> bool:
    """Tell whether a pod is running and ready, and not being deleted."""
    return pod.phase == "Running" and pod.ready and not pod.deleting


def all_run(pods: Iterable[Pod], wanted: int) -> bool:
    """Tell whether exactly `wanted` pods run, and all others have ended."""
    live = [pod for pod in pods if pod.deleting or pod.phase not in _ENDED]
    return len(live) == wanted and all(map(runs, live))


def describe(pods: Iterable[Pod]) -> str:
    """Return how many pods are in each state, in words."""
    counts = Counter(map(state, pods))
    return ", ".join(f"{count} {state}" for state, count in sorted(counts.items())) or "no pods"


def running(pods: Iterable[Pod], wanted: int) -> str:
    """Return how many of the pods that are wanted run, and in which states the others are."""
    counts = Counter(map(state, pods))
    run = counts.pop(_RUNNING, 0)
    rest = "".join(f", {count:,} {state}" for state, count in sorted(counts.items()))
    return f"{run:,} of {wanted:,} pod{'' if wanted == 1 else 's'} run{rest}"


def state(pod: Pod) -> str:
    if pod.deleting:
        return "terminating"
    if pod.phase in _ENDED:
        return "ended"
    if pod.phase == "Running":
        return _RUNNING if pod.ready else "running but not ready"
    return "not running yet" if pod.node else "without a node"
