"""Puts on record by which rules in annotations pods were placed, where the scheduler binds them.

Where the extender binds, that is done before the bind: `record_first.py`.
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable
from typing import Final, NoReturn, TypeAlias

from extender.core.cluster.state import ClusterState
from extender.core.controllers.workqueue import WorkQueue
from extender.core.model.keys import Identity
from extender.core.model.objects import Pod
from extender.core.timing import LogThrottle

MOST_PODS: Final = 10_000
"""That wait for their record; of more, the rules count until a restart of this process alone."""
FIRST_RETRY_SECONDS: Final = 5.0
LAST_RETRY_SECONDS: Final = 320.0

Record: TypeAlias = Callable[[Pod, str], Awaitable[str | None]]
"""Puts the digest of a pod's annotation on record, and returns why that failed."""

_log = logging.getLogger(__name__)


class Recorder:
    """Brings the status of placed pods in line with what they were judged by."""

    def __init__(self, state: ClusterState, record: Record) -> None:
        self._state = state
        self._record = record
        self._queue: WorkQueue[Identity] = WorkQueue(MOST_PODS)
        self._waits: dict[Identity, float] = {}
        """Seconds until the next try, of those that failed."""
        self._log = LogThrottle(_log)
        state.placement_observers.append(self._placed)

    async def run(self) -> NoReturn:
        while True:
            identity = await self._queue.get()
            try:
                await self._reconcile(identity)
            finally:
                self._queue.done(identity)

    def _placed(self, pod: Pod) -> None:
        self._queue.add(Identity(pod.key, pod.uid))

    async def _reconcile(self, identity: Identity) -> None:
        pod = self._state.pod(*identity)
        wait = self._waits.pop(identity, FIRST_RETRY_SECONDS)
        if pod is None or not pod.status.judged or pod.status.record:
            return
        unexpected: Exception | None = None
        try:
            why = await self._record(pod, pod.status.judged)
        except Exception as error:  # noqa: BLE001 - the next pod may fare better
            why, unexpected = "an unexpected error", error
        if why is None:
            return
        says = (
            "the rules in the annotation of %s cannot be put on record in its status, so they keep "
            "nobody away after a restart of the extender; that needs the right to patch "
            "pods/status: %s"
        )
        self._log.log(logging.WARNING, says, says, pod.key, why, exc_info=unexpected)
        if self._queue.add_after(identity, wait):
            self._waits[identity] = min(2 * wait, LAST_RETRY_SECONDS)
