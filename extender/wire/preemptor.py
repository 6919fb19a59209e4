"""What counts about a pod that others may be evicted for, read only when we are about to do so."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import msgspec

from extender.model.node_resources import Requests, Requirements
from extender.wire.decoding import Json, decode
from extender.wire.placement import read_requirements

DEFAULT_SCHEDULER = "default-scheduler"

_ANYWHERE = frozenset(
    ("name", "configMap", "secret", "emptyDir", "projected", "downwardAPI", "hostPath", "image")
)
"""Volumes that no node is refused for."""
_ALWAYS = "ScheduleAnyway"


class _Spread(msgspec.Struct):
    whenUnsatisfiable: str | None = None  # noqa: N815 - the API's spelling


class _Spec(msgspec.Struct, rename="camel"):
    scheduler_name: str | None = None
    volumes: list[dict[str, msgspec.Raw]] | None = None
    resource_claims: list[msgspec.Raw] | None = None
    topology_spread_constraints: list[_Spread] | None = None


class _Pod(msgspec.Struct):
    spec: _Spec = msgspec.field(default_factory=_Spec)


_POD = msgspec.json.Decoder(_Pod)


@dataclass(frozen=True, slots=True)
class PreemptorManifest:
    """A pod as those see it who may evict others for it."""

    requirements: Requirements
    scheduler: str
    """Name of the scheduler (profile) that places it."""
    is_plain: bool
    """Whether its requirements are all that it asks of a node, other pods aside. Only the scheduler
    knows which nodes have the volumes, devices or even spread that it asks for."""


def read_preemptor(raw: Json, requests: Requests) -> PreemptorManifest:
    """Read a pod that others may be evicted for; ObjectError names the field that is broken."""
    spec = decode(_POD, raw, "Pod").spec
    return PreemptorManifest(
        read_requirements(raw, requests),
        spec.scheduler_name or DEFAULT_SCHEDULER,
        not any(_beyond_us(spec)),
    )


def _beyond_us(spec: _Spec) -> Iterator[object]:
    yield spec.resource_claims
    yield any(each.whenUnsatisfiable != _ALWAYS for each in spec.topology_spread_constraints or ())
    yield any(not volume.keys() <= _ANYWHERE for volume in spec.volumes or ())
