"""What counts about a pod that others may be evicted for, read only when we are about to do so."""

from __future__ import annotations

from dataclasses import dataclass

import msgspec

from extender.model.node_resources import Requests, Requirements
from extender.wire.beyond import DEFAULT_SCHEDULER, BeyondUs
from extender.wire.decoding import Json, decode
from extender.wire.placement import read_requirements


class _Spec(BeyondUs, rename="camel"):
    scheduler_name: str | None = None


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
        not any(spec.hard()),
    )
