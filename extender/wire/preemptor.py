"""What counts about a pod that others may be evicted for, read only when we are about to do so."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import msgspec

from extender.model.node_resources import Requests, Requirements
from extender.wire.decoding import Json, decode
from extender.wire.placement import read_requirements

DEFAULT_SCHEDULER = "default-scheduler"
NEVER = "Never"

_ANYWHERE = frozenset(
    ("name", "configMap", "secret", "emptyDir", "projected", "downwardAPI", "hostPath", "image")
)
"""Volumes that no node is refused for."""
_ALWAYS = "ScheduleAnyway"


class _Spread(msgspec.Struct):
    whenUnsatisfiable: str | None = None  # noqa: N815 - the API's spelling


class _Policy(msgspec.Struct, rename="camel"):
    preemption_policy: str | None = None

    @property
    def may_preempt(self) -> bool:
        """Return whether others may be evicted for the pod."""
        return self.preemption_policy != NEVER


class _Spec(_Policy, rename="camel"):
    scheduler_name: str | None = None
    volumes: list[dict[str, msgspec.Raw]] | None = None
    resource_claims: list[msgspec.Raw] | None = None
    topology_spread_constraints: list[_Spread] | None = None


class _Pod(msgspec.Struct):
    spec: _Spec = msgspec.field(default_factory=_Spec)


class _PodWithPolicy(msgspec.Struct):
    spec: _Policy | None = None


_POD = msgspec.json.Decoder(_Pod)
_POD_WITH_POLICY = msgspec.json.Decoder(_PodWithPolicy)


@dataclass(frozen=True, slots=True)
class PreemptorManifest:
    """A pod as those see it who may evict others for it."""

    requirements: Requirements
    may_preempt: bool
    scheduler: str
    """Name of the scheduler (profile) that places it."""
    is_plain: bool
    """Whether its requirements are all that it asks of a node, other pods aside. Only the scheduler
    knows which nodes have the volumes, devices or even spread that it asks for."""


def may_preempt(raw: Json) -> bool:
    """Return whether others may be evicted for a pod; ObjectError names a broken field."""
    spec = decode(_POD_WITH_POLICY, raw, "Pod").spec
    return spec is None or spec.may_preempt


def read_preemptor(raw: Json, requests: Requests) -> PreemptorManifest:
    """Read a pod that others may be evicted for; ObjectError names the field that is broken."""
    spec = decode(_POD, raw, "Pod").spec
    return PreemptorManifest(
        read_requirements(raw, requests),
        spec.may_preempt,
        spec.scheduler_name or DEFAULT_SCHEDULER,
        not any(_beyond_us(spec)),
    )


def _beyond_us(spec: _Spec) -> Iterator[object]:
    yield spec.resource_claims
    yield any(each.whenUnsatisfiable != _ALWAYS for each in spec.topology_spread_constraints or ())
    yield any(not volume.keys() <= _ANYWHERE for volume in spec.volumes or ())
