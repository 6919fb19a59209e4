"""What pods ask of the scheduler that is looked at nowhere here: volumes, devices, even spread."""

from __future__ import annotations

from collections.abc import Collection, Iterator

import msgspec

from extender.model.keys import Key
from extender.model.objects import Pod
from extender.wire.affinity import EVERY_GATE_ON, Gates
from extender.wire.decoding import Json, decode
from extender.wire.objects import GenerateName, PodReader

DEFAULT_SCHEDULER = "default-scheduler"

_ANYWHERE = frozenset(
    ("name", "configMap", "secret", "emptyDir", "projected", "downwardAPI", "hostPath", "image")
)
"""Volumes that no node is refused for."""
_ALWAYS = "ScheduleAnyway"


class _Spread(msgspec.Struct):
    whenUnsatisfiable: str | None = None  # noqa: N815 - the API's spelling


class BeyondUs(msgspec.Struct, rename="camel"):
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


class _Spec(BeyondUs, rename="camel"):
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


class NotingReader(PodReader):
    """Reads pods, and notes what those without an end ask beyond what is read."""

    def __init__(self, gates: Gates = EVERY_GATE_ON) -> None:
        super().__init__(gates, charges=True, node_affinity=True, tenures=True)
        self.beyond: dict[str, list[Key]] = {}
        """The pods by the field that is not looked at."""

    def of_pod(self, pod: Pod) -> Collection[str]:
        """Return the fields of one pod that are not looked at; O(pods that have some)."""
        # Replicas that a template would make are numbered: namespace/kind/name[0].
        key = pod.key.partition("[")[0]
        return [field for field, keys in self.beyond.items() if key in keys]

    def read(self, raw: Json, generate: GenerateName | None = None) -> Pod:
        """Read a v1.Pod; ObjectError names the field that is broken."""
        pod = super().read(raw, generate)
        if not pod.terminal:
            spec = decode(_POD, raw).spec
            for field in spec.every():
                self.beyond.setdefault(field, []).append(pod.key)
            if pod.group is not None:
                self.beyond.setdefault("schedulingGroup", []).append(pod.key)
        return pod
