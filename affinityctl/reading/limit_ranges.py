"""What a LimitRange adds to the containers of pods in manifests and templates, as admission does.

What it refuses for being too small or too large is not looked at.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final, TypeAlias

import msgspec

from affinityctl.scheduler.listed_once import listed_once
from extender.core.resources import WatchedResource
from extender.core.wire.decoding import Json, decode
from extender.core.wire.manifests import NamespacedMetadata

KIND: Final = "LimitRange"
WITHOUT: Final = "the requests that LimitRanges add to manifests are not known"
_CONTAINER: Final = "Container"

_Amounts: TypeAlias = dict[str, str | int | float]


class LimitRangeItem(msgspec.Struct, rename="camel"):
    type: str = ""
    default: _Amounts | None = None
    default_request: _Amounts | None = None
    max: _Amounts | None = None
    min: _Amounts | None = None

    @property
    def limits(self) -> _Amounts:
        return {**(self.max or {}), **(self.default or {})}

    @property
    def requests(self) -> _Amounts:
        """Return them with what an API server fills in (SetDefaults_LimitRangeItem)."""
        return {**(self.min or {}), **self.limits, **(self.default_request or {})}


class _Spec(msgspec.Struct):
    limits: list[LimitRangeItem] | None = None


class LimitRange(msgspec.Struct):
    """v1.LimitRange."""

    metadata: NamespacedMetadata
    spec: _Spec = msgspec.field(default_factory=_Spec)

    @property
    def of_containers(self) -> Iterator[LimitRangeItem]:
        yield from (each for each in self.spec.limits or () if each.type == _CONTAINER)


class _Metadata(msgspec.Struct, rename="camel"):
    namespace: str | None = None
    resource_version: str | None = None


class _Pod(msgspec.Struct):
    metadata: _Metadata = msgspec.field(default_factory=_Metadata)


_RANGE = msgspec.json.Decoder(LimitRange)
_POD = msgspec.json.Decoder(_Pod)
_FIELDS = msgspec.json.Decoder(dict[str, Any])


def _read(raw: Json) -> LimitRange:
    return decode(_RANGE, raw)


class LimitRanges:
    def __init__(self) -> None:
        self._known: dict[str, dict[str, LimitRange]] = {}
        """By namespace and name."""

    def put(self, found: LimitRange) -> None:
        metadata = found.metadata
        self._known.setdefault(metadata.namespace or "default", {})[metadata.name] = found

    def take(self, kind: str, raw: Json) -> bool:
        """Put one of some objects in, if it is a LimitRange; return whether it is."""
        if kind == KIND:
            self.put(_read(raw))
        return kind == KIND

    def admitted(self, raw: Json) -> Json:
        """Return a pod of a manifest as it is stored; one that is stored already as it is."""
        metadata = decode(_POD, raw).metadata if self._known else None
        if metadata is None or metadata.resource_version is not None:
            return raw
        ranges = self._known.get(metadata.namespace or "default", {}).values()
        items = [item for each in ranges for item in each.of_containers]
        pod = decode(_FIELDS, raw) if items else {}
        spec = pod.get("spec")
        if not isinstance(spec, dict):
            return raw
        for field in ("containers", "initContainers"):
            containers = spec.get(field)
            for container in containers if isinstance(containers, list) else ():
                if isinstance(container, dict):
                    _add(items, container)
        return msgspec.json.encode(pod)


def _add(items: list[LimitRangeItem], container: dict[str, Any]) -> None:
    """Add what a container does not say; what it limits, it requests. What is broken stays so."""
    said = container.get("resources") or {}
    limits, requests = (
        (said.get(each) or {}) if isinstance(said, dict) else None
        for each in ("limits", "requests")
    )
    if not isinstance(limits, dict) or not isinstance(requests, dict):
        return
    requests = {**limits, **requests}
    for each in items:
        requests = {**each.requests, **requests}
        limits = {**each.limits, **limits}
    container["resources"] = {**said, "limits": limits, "requests": requests}


def limit_ranges(known: LimitRanges) -> WatchedResource[LimitRange]:
    return listed_once("limitranges", KIND, _read, lambda _, each: known.put(each), without=WITHOUT)


LIMIT_RANGES: Final = limit_ranges(LimitRanges())
"""As a dump lists them."""
