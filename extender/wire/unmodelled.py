"""What pods ask of the scheduler that is looked at nowhere here: volumes, devices, even spread."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from extender.wire.decoding import Json, decode

DEFAULT_SCHEDULER = "default-scheduler"

_ANYWHERE = frozenset(
    ("name", "configMap", "secret", "emptyDir", "projected", "downwardAPI", "hostPath", "image")
)
"""Volumes that no node is refused for."""
_ALWAYS = "ScheduleAnyway"


class _Spread(msgspec.Struct):
    whenUnsatisfiable: str | None = None  # noqa: N815 - the API's spelling


class UnmodelledConstraints(msgspec.Struct, rename="camel"):
    """The fields of a pod's spec by which the scheduler refuses nodes on its own."""

    volumes: list[dict[str, msgspec.Raw]] | None = None
    resource_claims: list[msgspec.Raw] | None = None
    topology_spread_constraints: list[_Spread] | None = None

    def hard(self) -> Iterator[str]:
        """Yield the fields that only the scheduler can say which nodes meet."""
        if self.resource_claims:
            yield "resourceClaims"
        if any(
            each.whenUnsatisfiable != _ALWAYS for each in self.topology_spread_constraints or ()
        ):
            yield "topologySpreadConstraints"
        if any(not volume.keys() <= _ANYWHERE for volume in self.volumes or ()):
            yield "volumes"


class _Spec(UnmodelledConstraints, rename="camel"):
    scheduling_gates: list[msgspec.Raw] | None = None
    scheduler_name: str | None = None

    def every(self) -> Iterator[str]:
        """Yield all that a simulation without it may be wrong about."""
        yield from self.hard()
        if self.topology_spread_constraints and "topologySpreadConstraints" not in self.hard():
            yield "topologySpreadConstraints (ScheduleAnyway)"
        if self.scheduling_gates:
            yield "schedulingGates"
        if (self.scheduler_name or DEFAULT_SCHEDULER) != DEFAULT_SCHEDULER:
            yield "schedulerName"


class _Pod(msgspec.Struct):
    spec: _Spec = msgspec.field(default_factory=_Spec)


_POD = msgspec.json.Decoder(_Pod)


def fields_beyond(raw: Json) -> tuple[str, ...]:
    """Return the fields of a pod's spec that are looked at nowhere here."""
    return tuple(decode(_POD, raw).spec.every())
