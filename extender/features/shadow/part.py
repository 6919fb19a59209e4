"""What the program gets in mode shadow."""

from __future__ import annotations

from extender.core.enabled import filter_plugins
from extender.core.metrics.series import Collectors, CounterRow
from extender.core.parts import Context, Part
from extender.features.shadow.differences import ShadowDifferences


class Shadowing(Part):
    """Judges each filter call by all rules that are enabled, and refuses nothing."""

    def __init__(self, context: Context) -> None:
        row = self.metrics(context.metrics.make)
        clock = context.clocks.clock
        self.hooks = (ShadowDifferences(row, filter_plugins(context.config), clock=clock),)

    @staticmethod
    def metrics(make: Collectors) -> CounterRow:
        return make.counters(
            "shadow_disagreements",
            "Nodes that the scheduler accepted and the extender would have refused, some of them "
            "only because its watch was behind the scheduler.",
            *("plugin", "reason"),
        )


PART = Shadowing
