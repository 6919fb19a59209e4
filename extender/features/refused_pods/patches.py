"""Requests to change a pod's nomination, and what became of them."""

from __future__ import annotations

import logging
from typing import Final, Protocol

from extender.core.controllers.context import ControllerContext
from extender.core.errors import ApiError, ExtenderError
from extender.core.metrics.series import CounterRow
from extender.core.model.keys import name_of
from extender.core.model.objects import Pod
from extender.core.timing import LogThrottle
from extender.features.refused_pods.record import Patched

HINT: Final = "hint"
PREEMPTION: Final = "preemption"
"""What is done for refused pods, as the history has it."""
TOLD: Final = {
    HINT: {
        "set": "node nominated",
        "renewed": "node nominated again",
        "taken": "hint taken: the pod is there",
        "elsewhere": "bound elsewhere",
        "gone": "pod deleted",
        "refused": "withdrawn: the node was refused",
        "withdrawn": "withdrawn: not taken in time",
        "preempted": "left to a preemption",
        "failed": "hint failed",
        "skipped": "not nominated: somebody else did",
    },
    PREEMPTION: {
        "started": "preemption begins",
        "bound": "preemptor bound",
        "elsewhere": "preemptor bound elsewhere",
        "gone": "preemptor deleted",
        "overtaken": "preemption overtaken",
        "useless": "preemption of no use any more",
        "failed": "preemption failed",
        "exhausted": "no more pods are evicted for it",
    },
}
"""Each result as people read it."""
FIRST_UNCLEAR_STATUS = 500
"""An API server that has trouble of its own may have done it, or do it yet."""

_log = logging.getLogger(__name__)


class Nominator(Protocol):
    """Sets the field that points the scheduler to a node."""

    async def nominate(self, pod: Pod, before: str | None, node: str | None) -> bool:
        """Change it from `before`; False when it is something else, or the pod is gone."""

    async def wake(self, pod: Pod) -> bool:
        """Make the scheduler try a refused pod again; False when the pod is gone."""


class Patches:
    """Talks to a nominator that may fail; warns of it, counts results and remembers whose."""

    def __init__(
        self, context: ControllerContext, nominator: Nominator, kind: str, counters: CounterRow
    ) -> None:
        self._counters = counters
        self._kind = kind
        self._history = context.history
        self._nominator = nominator
        self._log = LogThrottle(_log)

    def count(self, result: str, pod: Pod, node: str | None, note: str = "") -> None:
        self._counters.count(result)
        self._history.note(self._kind, result, pod.key, node, note)

    def skip(self, *, by: int) -> None:
        self._counters.count("skipped", by=by)

    async def change(
        self,
        pod: Pod,
        before: str | None,
        node: str | None,
        *,
        success: str | None = None,
        overtaken: str = "skipped",
    ) -> Patched:
        """Change the field from `before`; count the result if there is a word for success."""
        try:
            done = await self._nominator.nominate(pod, before, node)
        except ExtenderError as error:
            self._note_failure(pod, node or before, "pointed to a node", str(error))
            clear = isinstance(error, ApiError) and error.status < FIRST_UNCLEAR_STATUS
            return Patched.REFUSED if clear else Patched.INDETERMINATE
        if success is not None:
            self.count(success if done else overtaken, pod, node or before)
        return Patched.DONE if done else Patched.OVERTAKEN

    async def wake(self, pod: Pod) -> bool:
        try:
            return await self._nominator.wake(pod)
        except ExtenderError as error:
            self._note_failure(pod, pod.status.nominated, "woken", str(error))
            return False

    def _note_failure(self, pod: Pod, node: str | None, what: str, why: str) -> None:
        if self._kind == HINT:
            # Of a preemption, what becomes of all of it is counted.
            self.count("failed", pod, node, why)
        kind = why.replace(name_of(pod.key), "")
        self._log.log(logging.WARNING, kind, "%s could not be %s: %s", pod.key, what, why)
