"""Looks after pods one at a time, and at all of them again when anything has changed."""

from __future__ import annotations

import logging
from abc import ABC, abstractmethod
from collections.abc import Iterable
from typing import ClassVar, Final, NoReturn

from extender.core.controllers.context import ControllerContext
from extender.core.controllers.workqueue import WorkQueue
from extender.core.timing import CALL_LOG_SECONDS, LogThrottle
from extender.core.warm_up import OverBudgetError

RESYNC: Final = "*"
"""The key that stands for the whole cluster. No uid is like that; a pod that had it would only not
be helped."""
AFTER_CHANGE, AFTER_REFUSAL, BEGUN = -1, 0, 1
"""Priorities: what was begun is looked after before anything more is begun."""
LOOK_SECONDS: Final = 0.25
"""Between two looks at what became of what was begun, and at whether anything has changed."""


class Reconciler(ABC):
    """Takes uids off a work queue and reconciles them; a failure concerns one pod alone."""

    too_costly: ClassVar[str]
    """What is logged of a pod whose rules take too long to compare, and of one that failed."""
    failed: ClassVar[str]

    def __init__(self, context: ControllerContext, most: int) -> None:
        """Wait for `most` pods at a time."""
        self._state = context.state
        self._plugins = context.plugins
        self._warm_up = context.warm_up
        self._clock = context.clocks.clock
        self._queue: WorkQueue[str] = WorkQueue(most + 1, self._clock)
        """The uids of pods that have a record, and RESYNC."""
        self._throttle = LogThrottle(
            logging.getLogger(type(self).__module__), seconds=CALL_LOG_SECONDS
        )
        self._synced = self._state.version
        self._queue.add_after(RESYNC, LOOK_SECONDS, BEGUN)

    @abstractmethod
    async def reconcile(self, uid: str) -> float | None:
        """Do what is due for a pod; return after how many seconds to look again, if at all."""

    def _waiting(self) -> Iterable[str]:
        """Return the pods that a change may help."""
        return ()

    def _has_begun(self, uid: str) -> bool:
        """Return whether a pod comes first."""
        return False

    async def _work(self) -> NoReturn:
        while True:
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
            after = self._resync() if uid == RESYNC else await self.reconcile(uid)
        except OverBudgetError as error:
            after = None
            self._throttle.log(logging.DEBUG, "budget", f"{self.too_costly}: %s", error)
        except Exception as error:  # noqa: BLE001 - the next pod may fare better
            self._throttle.log(logging.ERROR, type(error).__name__, self.failed, exc_info=error)
        finally:
            if after is not None:
                urgent = uid == RESYNC or self._has_begun(uid)
                self._queue.add_after(uid, after, BEGUN if urgent else AFTER_REFUSAL)
            self._queue.done(uid)

    def _resync(self) -> float:
        """Have pods looked at if something has changed; those in a pause wait."""
        if self._synced != self._state.version:
            self._synced = self._state.version
            for uid in self._waiting():
                self._queue.add(uid, AFTER_CHANGE)
        return LOOK_SECONDS
