"""Reads pods with all that their placing hangs on, volumes and costs of deletion as well."""

from __future__ import annotations

from typing import Any

from affinityctl.reading.deletion_cost import DELETION_COST
from affinityctl.scheduler.volumes.pod_volumes import read_pod_volumes
from extender.config.features import features
from extender.model.facets import Facet
from extender.wire.affinity import EVERY_GATE_ON, Gates
from extender.wire.objects import PodReader


def _of_costs() -> tuple[Facet[Any], ...]:
    """Return what features look at that would give pods other costs."""
    return tuple(facet for each in features() if each.costs for facet in each.facets)


class WholePodReader(PodReader):
    """Reads pods with all that their placing hangs on."""

    def __init__(self, gates: Gates = EVERY_GATE_ON) -> None:
        super().__init__(
            gates,
            charges=True,
            node_affinity=True,
            waiting=True,
            owners=True,
            facets=(DELETION_COST, *_of_costs()),
            requirements=True,
            read_volumes=read_pod_volumes,
        )
