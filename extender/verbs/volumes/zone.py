"""The zone and region that volumes have as labels."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import ClassVar, Final

from extender.cluster.state import ClusterState
from extender.model.keys import Key, name_of
from extender.model.objects import Pod
from extender.model.verdict import (
    VOLUME_ZONE,
    Reason,
)
from extender.model.volumes import (
    PersistentVolume,
)
from extender.verbs.plugins import FilterPlugin
from extender.verbs.volumes.binder import reaches
from extender.verbs.volumes.binding import place_in
from extender.verbs.volumes.claims import claim_of, may_go_somewhere, uses
from extender.verbs.volumes.rule import VolumeRule

ZONE: Final = "topology.kubernetes.io/zone"
REGION: Final = "topology.kubernetes.io/region"
NEWER: Final[Mapping[str, str]] = {
    "failure-domain.beta.kubernetes.io/zone": ZONE,
    "failure-domain.beta.kubernetes.io/region": REGION,
    ZONE: ZONE,
    REGION: REGION,
}
"""The labels that say where a volume is, with those that nodes have today."""
BETWEEN_ZONES: Final = "__"


@dataclass(frozen=True, slots=True)
class VolumeZone(FilterPlugin):
    """The scheduler's plugin of that name: the zone and region that a volume has as labels."""

    name: ClassVar[str] = VOLUME_ZONE

    def rules(self, state: ClusterState, pod: Pod) -> Iterator[VolumeRule]:
        """Yield each label of a claim's volume that says where it is."""
        for use in uses(pod) if may_go_somewhere(state, pod) else ():
            claim = None if use.ephemeral else claim_of(state, pod, use)
            volume = None if claim is None else state.volumes.volume_of(claim)
            for key in () if volume is None else NEWER:
                if volume is not None and key in volume.labels:
                    yield from _in_zone(state, use.key_for(pod.key), volume, key)


def _in_zone(
    state: ClusterState, claim: Key, volume: PersistentVolume, key: str
) -> Iterator[VolumeRule]:
    values = [each.strip() for each in volume.labels[key].split(BETWEEN_ZONES)]
    if not all(values):
        return  # the label is no list of zones, and so says nothing

    def allows(node: str) -> bool:
        labels = state.nodes.labels(node)
        if not any(each in labels for each in NEWER):
            return True
        if volume.plugin is None and not reaches(volume, labels):
            return True  # said by VolumeBinding: one thing is wrong, and not two
        return labels.get(key, labels.get(NEWER[key])) in values

    what = f"volume: claim {name_of(claim)} is bound to a volume {place_in(key, values)}"
    yield VolumeRule(Reason.VOLUME_ZONE, allows, what)
