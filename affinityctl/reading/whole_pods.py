"""Reads pods with all that their placing hangs on, volumes and costs of deletion as well."""

from __future__ import annotations

from dataclasses import replace

from affinityctl.reading.deletion_cost import DELETION_COST
from affinityctl.reading.limit_ranges import LimitRanges
from affinityctl.reading.priorities import PriorityClasses
from affinityctl.reading.runtime_classes import RuntimeClasses
from affinityctl.scheduler.volumes.pod_volumes import read_pod_volumes
from extender.core.config.features import features, reads_rules
from extender.core.model.objects import Pod
from extender.core.wire.affinity import EVERY_GATE_ON, Gates
from extender.core.wire.decoding import Json
from extender.core.wire.objects import GenerateName, PodReader, ReadFacet
from extender.diagnosis.verbs.filters import RUNTIME_CLASS


def _of_features() -> tuple[ReadFacet, ...]:
    """Return what features look at that would refuse nodes, or give pods other costs."""
    wanted = (each for each in features() if each.costs or each.plugin)
    return tuple(facet for each in wanted for facet in each.facets)


class WholePodReader(PodReader):
    def __init__(self, gates: Gates = EVERY_GATE_ON) -> None:
        super().__init__(
            gates,
            node_selection=True,
            waiting=True,
            owners=True,
            facets=(DELETION_COST, *_of_features()),
            requirements=True,
            classes=True,
            read_volumes=read_pod_volumes,
            rules=reads_rules(features()),
        )
        self.priorities = PriorityClasses()
        self.runtimes = RuntimeClasses()
        self.limits = LimitRanges()

    def read(self, raw: Json, generate: GenerateName | None = None) -> Pod:
        admitted = self.limits.admitted(self.runtimes.admitted(raw))
        found = self.priorities.admitted(super().read(admitted, generate))
        if not self.runtimes.missing(raw):
            return found
        asks = found.spec.requirements
        unmodelled = (*asks.unmodelled, RUNTIME_CLASS)
        return found.with_spec(requirements=replace(asks, unmodelled=unmodelled))
