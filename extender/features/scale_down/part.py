"""What the program gets where deletion costs are given."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from extender.core.metrics.series import Collectors, CounterRow
from extender.core.model.objects import Pod
from extender.core.parts import Context, Hook, Part, Task
from extender.features.scale_down.controller import CostController, CostLimits
from extender.features.scale_down.ledger import Replicas
from extender.features.scale_down.rules import with_cost
from extender.features.scale_down.section import ScaleDown


class Ranking(Part, Hook):
    """Ranks of pods: given with binds, put in order by patches."""

    def __init__(self, context: Context) -> None:
        self._replicas: Final = Replicas(context.state)
        self.ledgers = (self._replicas,)
        self.hooks = (self,)
        self._controller = self._built(context)

    @staticmethod
    def metrics(make: Collectors) -> CounterRow:
        return make.counters(
            "deletion_cost_patches",
            "Pods whose deletion cost was missing or out of order, by what came of writing it.",
            result=("written", "changed", "failed"),
        )

    def _built(self, context: Context) -> CostController | None:
        patches = self.metrics(context.metrics.make)
        api, leadership = context.source.api, context.source.leadership
        if api is None or leadership is None:
            return None
        from extender.features.scale_down.writer import ApiCostWriter  # noqa: PLC0415

        settings = context.config.section(ScaleDown)
        return CostController(
            context.of_controllers,
            self._replicas,
            ApiCostWriter(api.client, api.objects),
            leadership,
            CostLimits(settings.settle_seconds, settings.patches_per_minute),
            patches=patches,
            unready=context.unsynced,
        )

    def placing(self, pod: Pod, node: str) -> Pod:
        return with_cost(self._replicas, pod, node)

    def tasks(self) -> Iterator[Task]:
        if self._controller is not None:
            yield "deletion costs", self._controller.run()


PART = Ranking
