"""Tells that nothing moves any more because what was moved does not come back."""

from __future__ import annotations

import logging
from itertools import islice
from typing import Final, NoReturn

from extender.core.controllers.context import ControllerContext
from extender.core.controllers.reconciling import LOOK_SECONDS
from extender.core.errors import ExtenderError
from extender.core.model.wording import plural
from extender.core.ports import Occurrence, Remark
from extender.core.timing import LogThrottle
from extender.features.moving.failed_moves import MOST
from extender.features.moving.shared import Shared
from extender.features.moving.turns import EvictionTurns

MOST_TOLD: Final = 10
"""Namespaces that are told of at a time."""
WHY: Final = f"the last {MOST} pods that were moved have no successor that is ready"
ALONE: Final = f"{WHY}; moves are tried again an hour after the first of them failed"
ALL: Final = f"{WHY}; one pod is moved from time to time, until a successor is ready"

_log = logging.getLogger(__name__)


class Stopping:
    """Compares what stands still with what did; log, Events and metrics hear of the difference."""

    def __init__(self, context: ControllerContext, shared: Shared, turns: EvictionTurns) -> None:
        self._rows, self._sleep = shared.rows, context.clocks.sleep
        self._port = shared.port
        self._turns = turns
        self._told: tuple[bool, frozenset[str]] = False, frozenset()
        self._faults = LogThrottle(_log)

    async def run(self) -> NoReturn:
        while True:
            await self.look()
            await self._sleep(LOOK_SECONDS)

    async def look(self) -> None:
        (all_before, before), now = self._told, self._turns.moves.failed.stopped
        self._told = now
        self._rows.stopped.set(now[0])
        self._rows.stopped_namespaces.set(len(now[1]))
        if not self._turns.leadership.leads:
            return
        if now[0] is not all_before:
            await self._tell("", stopped=now[0])
        for name in islice(sorted(now[1] ^ before), MOST_TOLD):
            await self._tell(f" in namespace {name}", stopped=name in now[1])

    async def _tell(self, where: str, *, stopped: bool) -> None:
        if stopped:
            note = f"no pod is moved{where}: {ALONE if where else ALL}"
            _log.warning("%s", note)
            occurrence = Occurrence("EvictionsStopped", "Stopping", note, warns=True)
        else:
            note = f"pods are moved again{where}"
            _log.info("%s", note)
            occurrence = Occurrence("EvictionsResumed", "Resuming", note)
        try:
            await self._port.report(None, occurrence)
        except ExtenderError as error:
            self._faults.log(logging.WARNING, type(error).__name__, "no Event: %s", error)

    def check(self) -> str | None:
        """Pass, and remark that nothing moves."""
        everything, names = self._turns.moves.failed.stopped
        if everything:
            return Remark(f"no pod is moved: {ALL}")
        return (
            Remark(f"no pod is moved in {plural(len(names), 'namespace')}: {ALONE}")
            if names
            else None
        )
