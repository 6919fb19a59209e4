"""What a RuntimeClass adds to pods in manifests and templates, as admission does."""

from __future__ import annotations

from typing import Any, Final

import msgspec

from extender.core.wire.decoding import Json, decode
from extender.core.wire.manifests import LabelledMetadata
from extender.diagnosis.verbs.filters import RUNTIME_CLASS

KIND: Final = "RuntimeClass"
_NAME: Final = RUNTIME_CLASS.encode()


class _Overhead(msgspec.Struct, rename="camel"):
    pod_fixed: dict[str, str | int | float] | None = None


class _Scheduling(msgspec.Struct, rename="camel"):
    node_selector: dict[str, str] | None = None
    tolerations: list[msgspec.Raw] | None = None


class RuntimeClass(msgspec.Struct):
    """node.k8s.io/v1 RuntimeClass."""

    metadata: LabelledMetadata
    overhead: _Overhead | None = None
    scheduling: _Scheduling | None = None


class _Metadata(msgspec.Struct, rename="camel"):
    resource_version: str | None = None


class _Pod(msgspec.Struct):
    metadata: _Metadata = msgspec.field(default_factory=_Metadata)
    spec: dict[str, Any] = {}


_CLASS = msgspec.json.Decoder(RuntimeClass)
_POD = msgspec.json.Decoder(_Pod)
_FIELDS = msgspec.json.Decoder(dict[str, Any])


class RuntimeClasses:
    def __init__(self) -> None:
        self._known: dict[str, RuntimeClass] = {}

    def take(self, kind: str, raw: Json) -> bool:
        """Put one of some objects in, if it is a RuntimeClass; return whether it is."""
        if kind == KIND:
            found = decode(_CLASS, raw)
            self._known[found.metadata.name] = found
        return kind == KIND

    def missing(self, raw: Json) -> bool:
        """Return whether a pod that is not stored yet names a class that is not known."""
        pod = self._unstored(raw)
        return pod is not None and pod.spec[RUNTIME_CLASS] not in self._known

    def admitted(self, raw: Json) -> Json:
        """Return a pod of a manifest as it is stored; as it is, where its class is not known."""
        pod = self._unstored(raw)
        found = None if pod is None else self._known.get(pod.spec[RUNTIME_CLASS])
        if pod is None or found is None:
            return raw
        spec, asks = pod.spec, found.scheduling or _Scheduling()
        overhead = None if found.overhead is None else found.overhead.pod_fixed
        added: dict[str, Any] = {}
        if asks.node_selector:
            added["nodeSelector"] = {**(spec.get("nodeSelector") or {}), **asks.node_selector}
        if asks.tolerations:
            added["tolerations"] = [*(spec.get("tolerations") or ()), *asks.tolerations]
        if overhead:
            added["overhead"] = overhead
        return msgspec.json.encode(decode(_FIELDS, raw) | {"spec": spec | added})

    @staticmethod
    def _unstored(raw: Json) -> _Pod | None:
        if _NAME not in bytes(raw):
            return None
        pod = decode(_POD, raw)
        stored = pod.metadata.resource_version is not None
        return None if stored or not pod.spec.get(RUNTIME_CLASS) else pod
