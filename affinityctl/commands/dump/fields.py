"""The fields of each kind that the commands read, found in the types that they read them with.

So a dump has what is read and nothing else, and what such a type gains is in the next dump.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain
from types import NoneType, UnionType
from typing import Annotated, Any, Final, TypeAlias, Union, get_args, get_origin

import msgspec
from msgspec import UNSET, Raw, Struct

from affinityctl.commands.lint.budgets import LintedBudget
from affinityctl.commands.lint.objects import POLICIES, NamedManifest
from affinityctl.commands.lint.reading import IGNORE, Manifest
from affinityctl.reading.limit_ranges import LIMIT_RANGES, LimitRange
from affinityctl.reading.priorities import PRIORITY_CLASSES, PriorityClass
from affinityctl.reading.workloads import OwnedPod
from affinityctl.scheduler.default_spread.selectors import SelectingManifest
from affinityctl.scheduler.volumes import manifests as volumes
from affinityctl.scheduler.volumes.pod_volumes import SOURCES, ClaimTemplate
from extender.core.config.features import features, reads_rules
from extender.core.offline import READS
from extender.core.resources import of_features
from extender.core.wire import manifests
from extender.core.wire.decoding import Json, decode
from extender.core.wire.placement import (
    CONDITIONS,
    SCHEDULED,
    ContainerPort,
    OwnerReference,
)
from extender.core.wire.resized import RESIZING, ResizedPod, is_resized
from extender.core.wire.topology_spread import FIELD as SPREAD
from extender.core.wire.topology_spread import Constraint
from extender.diagnosis.wire.workloads import WORKLOADS, WorkloadManifest

Inner: TypeAlias = Mapping[str, tuple[Any, ...]]
"""What fields, by name, are read as whose outer types leave them as they are; () drops one."""


_WITHOUT_MESSAGE: Final = frozenset(("Ready", "DisruptionAllowed")) | RESIZING
"""Conditions of pods and of budgets that are read without their messages."""
_FIELDS: Final = ("type", "status", "reason")


class _KeptConditions:
    def __init__(self, found: list[dict[str, Any]]) -> None:
        self.kept = [
            each if each.get("type") in CONDITIONS else {k: each[k] for k in _FIELDS if k in each}
            for each in found
            if each.get("type") in CONDITIONS | _WITHOUT_MESSAGE and not _is_placed(each)
        ]


def _is_placed(condition: dict[str, Any]) -> bool:
    return condition.get("type") == SCHEDULED and condition.get("status") == "True"


class _KeptVolumes:
    """Volumes, without what decides nothing: names of Secrets, keys, options of drivers."""

    def __init__(self, found: list[dict[str, Any]]) -> None:
        self.kept = [
            {name: _read_of(SOURCES.get(name), each[name]) for name in each} for each in found
        ]


def _read_of(type_: type[Struct] | None, found: Any) -> Any:
    """Return what such a type reads of an object, {} without one; any other value as it is."""
    if not isinstance(found, dict):
        return found
    kept = {}
    for field in () if type_ is None else msgspec.structs.fields(type_):
        if (name := field.encode_name) in found:
            inner = next(filter(_is_struct, _alternatives(field.type)), None)
            kept[name] = found[name] if inner is None else _read_of(inner, found[name])
    return kept


_RULES: Final = reads_rules(features())
_NAMES: Final = (IGNORE, *volumes.ANNOTATIONS, *(() if _RULES is None else _RULES.annotations))
_OURS: Final[Sequence[Any]] = [
    (f"annotation{number}", Raw, UNSET) for number, _ in enumerate(_NAMES)
]
_FURTHER: Final = msgspec.defstruct(
    "Further", _OURS, rename=dict(zip((name for name, *_ in _OURS), _NAMES, strict=True))
)


_OF_POD: Final = (manifests.PodManifest, OwnedPod, Manifest)
_OF_WORKLOAD: Final = (WorkloadManifest, Manifest)

ReadAs: TypeAlias = Mapping[str, tuple[type[Struct], ...]]
"""The types that objects are read with, by kind."""

READ_AS: Final[ReadAs] = {
    "Node": (manifests.NodeManifest,),
    "Namespace": (manifests.NamespaceManifest,),
    "Pod": _OF_POD,
    "PodDisruptionBudget": (LintedBudget,),
    **{each.kind: (each.manifest,) for each in of_features() if each.manifest},
    **dict.fromkeys(WORKLOADS, _OF_WORKLOAD),
    **{kind: (read_as,) for kind, read_as in volumes.MANIFESTS.items()},
    "Service": (SelectingManifest,),
    POLICIES.kind: (NamedManifest,),
    PRIORITY_CLASSES.kind: (PriorityClass,),
    LIMIT_RANGES.kind: (LimitRange,),
}
LISTED_AS: Final[ReadAs] = {
    **READ_AS,
    **dict.fromkeys(("ReplicaSet", "ReplicationController"), (SelectingManifest,)),
}
"""Of a cluster, whose ReplicaSets are many and repeat the templates of Deployments."""

_INNER: Final[Inner] = {
    "annotations": (manifests.PodAnnotations, _FURTHER),
    "conditions": (_KeptConditions,),
    # They may hold secrets, and lint looks at them in manifests alone.
    **dict.fromkeys(("env", "command", "args", "image"), ()),
    "jobTemplate": (Manifest,),
    "ownerReferences": (list[OwnerReference],),
    "ports": (list[ContainerPort],),
    "template": _OF_POD,
    SPREAD: (list[Constraint],),
    "volumeClaimTemplates": (list[ClaimTemplate],),
    "volumes": (_KeptVolumes,),
}


class Pruner:
    """Leaves the fields of one kind that are read."""

    def __init__(self, kind: str, read_as: ReadAs = READ_AS) -> None:
        self._usual = _decoder(kind, read_as[kind])
        further = (ResizedPod,) if kind == "Pod" else ()
        self._resized = _decoder(kind, (*read_as[kind], *further))
        self._encode = msgspec.json.Encoder(enc_hook=lambda each: each.kept).encode

    def prune(self, raw: Json) -> bytes:
        """Return an object with these fields; ObjectError names what is broken."""
        decoder = self._resized if is_resized(bytes(raw)) else self._usual
        return self._encode(decode(decoder, raw))


def _decoder(kind: str, types: Iterable[Any]) -> msgspec.json.Decoder[Any]:
    group = min(READS[kind])
    # Objects in lists do not say what they are.
    version = f"{group}/v1" if group else "v1"
    type_ = kept(types, _INNER, kind=kind, apiVersion=version)
    return msgspec.json.Decoder(type_, dec_hook=lambda kind, found: kind(found))


def kept(types: Iterable[Any], inner: Inner, **further: str) -> type[Struct]:
    """Return a type with the fields of all of these, and so of what is in them.

    What has no type of its own is left as it is. `further` fields are added, with their values.
    """
    found: dict[str, list[Any]] = {}
    for each in chain.from_iterable(map(msgspec.structs.fields, types)):
        found.setdefault(each.encode_name, []).append(each.type)
    fields: list[Any] = [(name, str, value) for name, value in further.items()]
    names = {}
    for number, (name, here) in enumerate(found.items()):
        if inner.get(name) != ():
            names[f"field{number}"] = name
            fields.append((f"field{number}", _field(here, name, inner), UNSET))
    return msgspec.defstruct("Kept", fields, rename=names)


def _field(types: list[Any], name: str, inner: Inner) -> Any:
    every = [each for type_ in types for each in _alternatives(type_)]
    if name in inner:
        every += inner[name]
        # Once: a template in a template is none.
        inner = {**inner, name: ()}
    for each in (_KeptConditions, _KeptVolumes):
        if each in every:
            return each | None
    # What some reader takes as it is, another takes apart.
    if structs := [each for each in every if _is_struct(each)]:
        return kept(structs, inner) | None
    elements = [get_args(each)[0] for each in every if get_origin(each) in {list, tuple}]
    if structs := [each for each in elements if _is_struct(each)]:
        element: Any = kept(structs, inner)
        return list[element] | None
    return Raw


def _alternatives(type_: Any) -> Iterator[Any]:
    """Yield what a value may be besides null."""
    if get_origin(type_) is Annotated:
        type_ = get_args(type_)[0]
    if get_origin(type_) in {Union, UnionType}:
        yield from chain.from_iterable(map(_alternatives, get_args(type_)))
    elif type_ is not NoneType:
        yield type_


def _is_struct(type_: Any) -> bool:
    return isinstance(type_, type) and issubclass(type_, Struct)
