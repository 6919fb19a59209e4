"""Manifests as people write them: their faults, and what can be read in spite of them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, NamedTuple

import msgspec

from affinityctl.commands.lint.checking import REPEATED, Fault, check
from affinityctl.commands.lint.lines import repeated
from affinityctl.commands.lint.reading import spared_by
from affinityctl.scheduler.default_spread.selectors import VERSIONS
from extender.core.errors import ObjectError
from extender.core.wire.decoding import BROKEN_JSON, Json, decode, decoded

_ANY: Final = msgspec.json.Decoder(dict[str, Any])
_WITH_SELECTOR: Final = frozenset(("Deployment", "ReplicaSet", "StatefulSet", "DaemonSet"))
_OF_PODS: Final[Mapping[str, tuple[str, ...]]] = {
    "Pod": ("spec",),
    "CronJob": ("spec", "jobTemplate", "spec", "template", "spec"),
    "PodDisruptionBudget": (),
}
"""Where a kind has the pods' spec, if not in its template."""


class _Owner(msgspec.Struct):
    controller: bool | None = None


class _Version(msgspec.Struct, rename="camel"):
    resource_version: str | None = None
    owner_references: list[_Owner] | None = None


class _Stored(msgspec.Struct):
    metadata: _Version | None = None
    spec: dict[str, msgspec.Raw] | None = None


_STORED: Final = msgspec.json.Decoder(_Stored)


class Written(NamedTuple):
    faults: tuple[Fault, ...]
    ignored: frozenset[str] = frozenset()
    """Rules that it asks to be spared."""


class Looked(NamedTuple):
    """What became of looking at a manifest's fields."""

    written: Written
    name: str
    """With its namespace."""
    whole: bool
    """False for a patch, which is merged with an object that is not shown."""
    readable: msgspec.Raw
    """The manifest without what cannot be read."""


def is_stored(kind: str, raw: Json) -> bool:
    """Return whether an API server has taken an object.

    It has what has a version, what a controller made, and what `dump` has left of a controller.
    """
    try:
        found = decoded(_STORED.decode, raw)
    except BROKEN_JSON:
        return False
    metadata = found.metadata or _Version()
    owned = any(each.controller for each in metadata.owner_references or ())
    left = kind in VERSIONS and found.spec is not None and found.spec.keys() == {"selector"}
    return owned or left or metadata.resource_version is not None


def look_at(kind: str, raw: msgspec.Raw, file: str, number: int) -> Looked:
    manifest = decode(_ANY, raw)
    whole = _is_whole(kind, manifest)
    faults, kept, changed = check(kind, manifest, whole=whole)
    twice = (Fault(path, "given twice", REPEATED) for path in repeated(file, number))
    written = Written((*faults, *twice), spared_by(_annotations(kind, kept)))
    readable = _encoded(kept) if changed else raw
    metadata = _inner(kept, "metadata")
    name = metadata.get("name") or f"{metadata.get('generateName') or ''}*"
    return Looked(written, f"{metadata.get('namespace') or 'default'}/{name}", whole, readable)


def _encoded(manifest: dict[str, Any]) -> msgspec.Raw:
    try:
        return msgspec.Raw(msgspec.json.encode(manifest))
    except RecursionError as error:
        raise ObjectError("", "nested too deeply") from error


def _is_whole(kind: str, manifest: dict[str, Any]) -> bool:
    """Return whether it has what each object of its kind has, and patches do not."""
    if kind in _WITH_SELECTOR:
        return _inner(manifest, "spec").get("selector") is not None
    of_pods = _of_pods(kind)
    return not of_pods or bool(_inner(manifest, *of_pods).get("containers"))


def _of_pods(kind: str) -> tuple[str, ...]:
    """Return the path of the pods' spec; empty where there is none."""
    return _OF_PODS.get(kind, ("spec", "template", "spec"))


def _annotations(kind: str, manifest: dict[str, Any]) -> dict[str, str]:
    return {
        **(_inner(manifest, *_of_pods(kind)[:-1], "metadata").get("annotations") or {}),
        **(_inner(manifest, "metadata").get("annotations") or {}),
    }


def _inner(manifest: Any, *path: str) -> dict[str, Any]:
    """Return the object at a path; an empty one where there is none."""
    for name in path:
        manifest = manifest.get(name) if isinstance(manifest, dict) else None
    return manifest if isinstance(manifest, dict) else {}
