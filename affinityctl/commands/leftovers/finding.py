"""Finds what the extender, or a user for its sake, has written into one object."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final, Literal, NamedTuple, TypeAlias

import msgspec

from extender.core.command_line import PROGRAM
from extender.core.config.features import Trace, features
from extender.core.wire.decoding import Json, decode
from extender.core.wire.placement import moment

POD: Final = "Pod"
NAMESPACE: Final = "Namespace"
LEASE: Final = "Lease"
OBJECT: Final = "object"
OURS: Final = "affinity-extender.io/"
"""Begins the names of what users write for the extender, and of what it writes itself."""


class Metadata(msgspec.Struct, rename="camel"):
    name: str = ""
    namespace: str | None = None
    uid: str = ""
    resource_version: str = ""
    annotations: dict[str, str] | None = None
    labels: dict[str, str] | None = None
    managed_fields: list[_Writer] | None = None


class _Writer(msgspec.Struct, rename="camel"):
    manager: str = ""
    subresource: str = ""
    fields_v1: _Written | None = None


class _Written(msgspec.Struct):
    status: dict[str, Any] | None = msgspec.field(default=None, name="f:status")


class _Condition(msgspec.Struct, rename="camel"):
    type: str = ""
    status: str = ""


class _Object(msgspec.Struct, rename="camel"):
    metadata: Metadata
    spec: msgspec.Raw = msgspec.Raw(b"{}")
    status: msgspec.Raw = msgspec.Raw(b"{}")


class _PodSpec(msgspec.Struct, rename="camel"):
    node_name: str | None = None


class _PodStatus(msgspec.Struct, rename="camel"):
    conditions: list[_Condition] | None = None


class _LeaseSpec(msgspec.Struct, rename="camel"):
    holder_identity: str | None = None
    lease_duration_seconds: int | None = None
    renew_time: str | None = None


_OBJECT: Final = msgspec.json.Decoder(_Object)
_POD_SPEC: Final = msgspec.json.Decoder(_PodSpec)
_POD_STATUS: Final = msgspec.json.Decoder(_PodStatus)
_STATUS: Final = msgspec.json.Decoder(dict[str, msgspec.Raw])
_TEXT: Final = msgspec.json.Decoder(str | None)
_LEASE_SPEC: Final = msgspec.json.Decoder(_LeaseSpec)


Where: TypeAlias = Literal["annotation", "label", "condition", "field", "object"]


class Remnant(NamedTuple):
    """One thing that is left on an object."""

    place: Where
    key: str
    value: str
    by_user: bool


class Marked(NamedTuple):
    """An object with what is left on it."""

    kind: str
    metadata: Metadata
    remnants: Sequence[Remnant]
    held_until: int = 0
    """Of a Lease: when it ends unless it is renewed, in seconds since 1970."""


def marked(kind: str, raw: Json, leases: Sequence[str]) -> Marked | None:
    """Look at a pod, namespace or Lease; None if nothing is left on it. ObjectError if broken."""
    found = decode(_OBJECT, raw)
    if kind == LEASE:
        about = found.metadata
        return _lease(found) if f"{about.namespace}/{about.name}" in leases else None
    remnants = tuple(_remnants(kind, found))
    found.metadata.managed_fields = None  # larger than the rest, and needed no more
    return Marked(kind, found.metadata, remnants) if remnants else None


def _remnants(kind: str, found: _Object) -> Iterator[Remnant]:
    traces = [each for one in features() for each in one.traces if not each.ends]
    metadata = found.metadata
    annotations, labels = metadata.annotations or {}, metadata.labels or {}
    if kind == POD:
        yield from _of_program(traces, found, annotations)
    program = {each.name for each in traces if each.place == "annotation"}
    of_users: dict[Where, Mapping[str, str]] = {"annotation": annotations, "label": labels}
    for place, written in of_users.items():
        for key, value in written.items():
            if key.startswith(OURS) and not (kind == POD and key in program):
                yield Remnant(place, key, value, by_user=True)


def _of_program(
    traces: Sequence[Trace], found: _Object, annotations: Mapping[str, str]
) -> Iterator[Remnant]:
    conditions = decode(_POD_STATUS, found.status, "status").conditions or ()
    for place, key, beside, _ in traces:
        match place:
            case "annotation":
                value = annotations.get(key)
                if value is not None and (not beside or annotations.get(beside) == value):
                    yield Remnant(place, key, value, by_user=False)
            case "condition":
                for each in conditions:
                    if each.type == key:
                        yield Remnant(place, key, each.status, by_user=False)
            case "field":
                raw = decode(_STATUS, found.status, "status").get(key)
                value = decode(_TEXT, raw, f"status.{key}") if raw else None
                if value is not None and _wrote(found.metadata, key) and not _node(found):
                    yield Remnant(place, key, value, by_user=False)


def _node(found: _Object) -> str | None:
    return decode(_POD_SPEC, found.spec, "spec").node_name


def _wrote(metadata: Metadata, field: str) -> bool:
    """Return whether the API server has noted that the program wrote a field of the status."""
    return any(
        each.manager == PROGRAM and each.fields_v1 and f"f:{field}" in (each.fields_v1.status or {})
        for each in metadata.managed_fields or ()
    )


def _lease(found: _Object) -> Marked:
    spec = decode(_LEASE_SPEC, found.spec, "spec")
    held = 0
    if spec.holder_identity:
        held = (moment(spec.renew_time) or 0) + (spec.lease_duration_seconds or 0)
    remnant = Remnant(OBJECT, "", spec.holder_identity or "", by_user=False)
    return Marked(LEASE, found.metadata, (remnant,), held)
