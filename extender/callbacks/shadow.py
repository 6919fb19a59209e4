"""Where we would have refused a node that the scheduler's own rules let through."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Sequence
from time import monotonic
from typing import TypeAlias

from extender.cluster.state import ClusterState
from extender.metrics import Metrics
from extender.model import memory
from extender.model.lru_cache import PER_NAME
from extender.model.objects import Pod
from extender.model.verdict import Reason
from extender.timing import LogThrottle
from extender.verbs.filtering import judge
from extender.verbs.plugins import FilterResult, Plugins, Refused

SETTLE_SECONDS = 2.0
"""After which a difference is looked at again. The scheduler counts what it has just decided, and
its watch may be ahead of ours: what comes from that is over within milliseconds."""
MOST_OPEN = 256
"""Differences that wait for their second look; further ones are counted as they stand."""
LOG_PAUSE_SECONDS = 1.0
"""Between two lines in the log: a rule that is read differently differs at every call."""
MOST_NAMES = 5
"""Nodes that a line names for each reason."""

RULE, LAG = "rule", "lag"
"""Causes of a difference: still there at the second look, or gone by then."""

Later: TypeAlias = Callable[[float, Callable[[], None]], object]
"""Calls a function after some seconds, as an event loop's call_later."""


_log = logging.getLogger(__name__)


class ShadowDifferences:
    """Compares our verdicts with those of the scheduler, which we are only asked after.

    Every node in a filter call has passed the scheduler's own rules, so each that we would refuse
    is one on which we disagree. What it refuses and we would not is never shown to us.
    """

    def __init__(
        self,
        state: ClusterState,
        metrics: Metrics,
        plugins: Plugins,
        *,
        later: Later | None = None,
        clock: Callable[[], float] = monotonic,
    ) -> None:
        self._state = state
        self._metrics = metrics
        self.plugins = plugins
        self._later = later
        self._log = LogThrottle(_log, seconds=LOG_PAUSE_SECONDS, clock=clock)
        self._open = 0
        self._open_bytes = 0
        enabled = {plugin.name for plugin in plugins}
        for reason in Reason:
            if reason.plugin in enabled:
                metrics.shadow_disagreements.begin((reason.plugin,), (reason.value,), (RULE, LAG))

    def note(self, pod: Pod, verdicts: FilterResult) -> None:
        """Take up the nodes that we would have refused, and look at them again a little later."""
        if not verdicts.refused:
            return
        refused = verdicts.refused
        size = pod.size + PER_NAME * sum(len(names) for _, names in refused)
        if self._open >= MOST_OPEN or self._open_bytes + size > memory.DIFFERENCES:
            self._count(RULE, refused)
            return
        self._open += 1
        self._open_bytes += size
        later = self._later or asyncio.get_running_loop().call_later
        later(SETTLE_SECONDS, lambda: self._look_again(pod, refused, size))

    def _look_again(self, pod: Pod, before: Refused, size: int) -> None:
        self._open -= 1
        self._open_bytes -= size
        lasting, passed = [], []
        for reason, names in before:
            still = self._refused_now(pod, names)
            lasting.append((reason, [name for name in names if name in still]))
            passed.append((reason, [name for name in names if name not in still]))
        self._count(RULE, lasting)
        self._count(LAG, passed)
        if any(names for _, names in lasting):
            self._say(pod, lasting)

    def _refused_now(self, pod: Pod, names: Sequence[str]) -> set[str]:
        if not self._state.prepares_at_once(self._state.class_of(pod)):
            # Nobody waits for this look: it counts as it stands.
            return set(names)
        asked = self._state.nodes.asked(names)
        verdicts = judge(self._state, pod, asked, self.plugins, nominated=False)
        return set(names).difference(verdicts.fits.names)

    def _count(self, cause: str, refused: Refused) -> None:
        for reason, names in refused:
            self._metrics.shadow_disagreements.count(
                reason.plugin, reason.value, cause, by=len(names)
            )

    def _say(self, pod: Pod, refused: Refused) -> None:
        self._log.log(
            logging.WARNING,
            "a difference",
            "the scheduler would place %s where the extender would not: %s",
            pod.key,
            "; ".join(f"{reason.value}: {_some(names)}" for reason, names in refused if names),
        )


def _some(names: Sequence[str]) -> str:
    """Name the first of some nodes, and say how many more there are."""
    text = ", ".join(names[:MOST_NAMES])
    return text if len(names) <= MOST_NAMES else f"{text} and {len(names) - MOST_NAMES} more"
