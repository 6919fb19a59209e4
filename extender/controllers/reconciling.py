"""Looks after refused pods one at a time, and at all of them again when anything has changed."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Container, Iterator
from dataclasses import dataclass

from extender.cluster.state import ClusterState
from extender.controllers.workqueue import WorkQueue
from extender.timing import CALL_LOG_SECONDS, LogThrottle
from extender.warm_up import OverBudgetError

RESYNC = "*"
"""The key that stands for the whole cluster. No uid is like that; a pod that had it would only not
be helped."""
AFTER_CHANGE, AFTER_REFUSAL, BEGUN = -1, 0, 1
"""Priorities: what was begun is looked after before anything more is begun."""
LOOK_SECONDS = 0.25
"""Between two looks at what became of what was begun, and at whether anything has changed."""


@dataclass(frozen=True, slots=True)
class Words:
    """How a controller says that a pod was not helped."""

    too_costly: str
    failed: str


class Reconciler:
    """Takes uids off a work queue and has them reconciled; a failure concerns one pod alone."""

    def __init__(
        self,
        state: ClusterState,
        queue: WorkQueue[str],
        reconcile: Callable[[str], Awaitable[float | None]],
        *,
        waiting: Callable[[], Iterator[str]],
        begun: Container[str],
        logger: logging.Logger,
        words: Words,
    ) -> None:
        """`reconcile` says after how many seconds to look at a pod again, if at all.

        `waiting` yields the pods that a change may help, `begun` has those that come first.
        """
        self._state = state
        self._queue = queue
        self._reconcile = reconcile
        self._waiting = waiting
        self._begun = begun
        self._words = words
        self._log = LogThrottle(logger, seconds=CALL_LOG_SECONDS)
        self._synced = state.version
        queue.add_after(RESYNC, LOOK_SECONDS, BEGUN)

    async def process_one(self) -> None:
        """Wait for the next pod that is due, and look after it."""
        await self._process(await self._queue.get())

    async def process_next(self) -> bool:
        """Do what is due next, if anything is; return whether something was."""
        uid = self._queue.take()
        if uid is not None:
            await self._process(uid)
        return uid is not None

    async def _process(self, uid: str) -> None:
        after: float | None = LOOK_SECONDS
        try:
            after = self._resync() if uid == RESYNC else await self._reconcile(uid)
        except OverBudgetError as error:
            after = None
            self._log.log(logging.DEBUG, "budget", f"{self._words.too_costly}: %s", error)
        except Exception as error:  # noqa: BLE001 - the next pod may fare better
            kind = type(error).__name__
            self._log.log(logging.ERROR, kind, self._words.failed, exc_info=error)
        finally:
            if after is not None:
                urgent = uid == RESYNC or uid in self._begun
                self._queue.add_after(uid, after, BEGUN if urgent else AFTER_REFUSAL)
            self._queue.done(uid)

    def _resync(self) -> float:
        """Have the refused pods looked at if something has changed; those in a pause wait."""
        if self._synced != self._state.version:
            self._synced = self._state.version
            for uid in self._waiting():
                self._queue.add(uid, AFTER_CHANGE)
        return LOOK_SECONDS
