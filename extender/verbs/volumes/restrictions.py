"""Disks and claims that one pod has for itself."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

from extender.cluster.state import ClusterState
from extender.model.objects import Pod
from extender.model.verdict import (
    VOLUME_RESTRICTIONS,
    Reason,
)
from extender.model.volumes import (
    READ_WRITE_ONCE_POD,
    Disk,
)
from extender.verbs.plugins import FilterPlugin
from extender.verbs.volumes.claims import claim_of, may_go_somewhere
from extender.verbs.volumes.rule import VolumeRule, nominated, unless


@dataclass(frozen=True, slots=True)
class VolumeRestrictions(FilterPlugin):
    """The scheduler's plugin of that name: disks and claims that one pod has for itself."""

    name: ClassVar[str] = VOLUME_RESTRICTIONS

    def rules(self, state: ClusterState, pod: Pod) -> Iterator[VolumeRule]:
        """Yield the disks of the pod, and the claims that another pod has."""
        volumes = pod.requirements.volumes
        if volumes is None or not may_go_somewhere(state, pod):
            return
        disks = [_other_disk(state, pod, each) for each in volumes.disks if each.alone]
        yield from disks
        for use in volumes.claims:
            claim = None if use.ephemeral else claim_of(state, pod, use)
            if (
                claim is not None
                and READ_WRITE_ONCE_POD in claim.spec.access_modes
                and state.volumes.is_used(claim.key)
            ):
                what = f"volume: claim {claim.name} is for one pod alone, and another one has it"
                yield VolumeRule(Reason.CLAIM_IN_USE, unless(disks), what)


def _other_disk(state: ClusterState, pod: Pod, disk: Disk) -> VolumeRule:
    def allows(node: str) -> bool:
        return not any(disk.conflicts(each) for each in _disks_on(state, pod, node))

    what = f"volume: another pod has {disk.kind} {'/'.join(disk.identity)} there"
    return VolumeRule(Reason.DISK, allows, what)


def _disks_on(state: ClusterState, pod: Pod, node: str) -> Iterator[Disk]:
    yield from state.volumes.disks_on(node)
    for other in nominated(state, pod, node):
        yield from () if other.requirements.volumes is None else other.requirements.volumes.disks
