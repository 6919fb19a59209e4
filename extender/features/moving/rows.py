"""The metrics of what is moved, beside `evictions`."""

from __future__ import annotations

from typing import Final, NamedTuple, Self

from extender.core.metrics.series import Collectors, CounterRow, GaugeRow
from extender.core.metrics.table import EVICTIONS

MOVES: Final = (*EVICTIONS, "refused", "dryRun", "unconfirmed", "changed")
"""What comes of evictions by the Eviction API."""


class Rows(NamedTuple):
    """One for each."""

    violating_pods: GaugeRow
    repairs: CounterRow
    repairable: GaugeRow
    paused: GaugeRow
    paused_namespaces: GaugeRow
    stopped: GaugeRow
    stopped_namespaces: GaugeRow
    leader: GaugeRow

    @classmethod
    def made(cls, make: Collectors) -> Self:
        """Make them."""
        return cls(
            make.gauges(
                "execution_violating_pods",
                "Pods that break a rule which holds during execution, by what becomes of them.",
                "outcome",
            ),
            make.counters(
                "repairs",
                "Pods moved for preferred rules, by what became of their successors: better off "
                "and ready, not so, or gone within an hour.",
                result=("landed", "missed", "undone"),
            ),
            make.gauges(
                "repairable_controllers",
                "Controllers with a pod that would sit better elsewhere by preferred rules.",
            ),
            make.gauges("evictions_paused", "1 while more pods than maxAffected would have to go."),
            make.gauges(
                "evictions_paused_namespaces",
                "Namespaces in which evictions are paused, for more than half of maxAffected of "
                "their pods would have to go.",
            ),
            make.gauges(
                "evictions_stopped",
                "1 while pods are moved one at a time, for the last ones in several namespaces "
                "were not replaced.",
            ),
            make.gauges(
                "evictions_stopped_namespaces",
                "Namespaces in which no pod is moved, for the last ones were not replaced.",
            ),
            make.gauges("evictions_leader", "1 while this replica is the one that evicts."),
        )
