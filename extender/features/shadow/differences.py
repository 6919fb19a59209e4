"""Where we would have refused a node that the scheduler's own rules let through."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from time import monotonic

from extender.core.metrics.series import CounterRow
from extender.core.model.objects import Pod
from extender.core.model.verdict import LEFT_TO_SCHEDULER, Reason
from extender.core.ports import Hook
from extender.core.timing import LogThrottle
from extender.core.verbs.plugins import FilterResult, Plugins

LOG_PAUSE_SECONDS = 1.0
"""Between two lines in the log: a rule that is read differently differs at every call."""
MOST_NAMES = 5
"""Nodes that a line names for each reason."""

_log = logging.getLogger(__name__)


class ShadowDifferences(Hook):
    """Compares our verdicts with those of the scheduler, which we are only asked after.

    Every node in a filter call has passed the scheduler's own rules, so each that we would refuse
    is one on which we disagree. That includes nodes about which our watch is behind the scheduler,
    which counts a pod as soon as it has decided where it goes. What the scheduler refuses and we
    would not is never shown to us.
    """

    def __init__(
        self, row: CounterRow, plugins: Plugins, *, clock: Callable[[], float] = monotonic
    ) -> None:
        self._row = row
        self.judges = plugins
        self._log = LogThrottle(_log, seconds=LOG_PAUSE_SECONDS, clock=clock)
        enabled = {plugin.name for plugin in plugins}
        for reason in (*Reason, *(each for plugin in plugins for each in plugin.reasons)):
            if reason.plugin in enabled and reason not in LEFT_TO_SCHEDULER:
                row.begin((reason.plugin,), (reason.value,))

    def judged(self, pod: Pod, verdicts: FilterResult) -> None:
        for reason, names in verdicts.refused:
            self._row.count(reason.plugin, reason.value, by=len(names))
        if verdicts.refused:
            self._log.log(
                logging.WARNING,
                "a difference",
                "the scheduler would place %s where the extender would not: %s",
                pod.key,
                "; ".join(f"{each.value}: {_some(names)}" for each, names in verdicts.refused),
            )


def _some(names: Sequence[str]) -> str:
    text = ", ".join(names[:MOST_NAMES])
    return text if len(names) <= MOST_NAMES else f"{text} and {len(names) - MOST_NAMES} more"
