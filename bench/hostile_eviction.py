"""The controller that evicts pods, over the cluster of `bench.hostile`."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from random import random
from time import perf_counter, time
from typing import Final, NoReturn

from bench.agreeing import Agreeing
from extender.cluster.state import ClusterState
from extender.controllers.context import Clocks, ControllerContext
from extender.controllers.eviction.controller import EvictionController
from extender.controllers.eviction.moving import EvictionLimits
from extender.controllers.eviction.turns import EvictionTurns
from extender.controllers.history import History
from extender.metrics import Metrics
from extender.model.execution import Execution
from extender.model.labels import EVERYTHING
from extender.ports import LeaseNotes
from extender.verbs.plugins import Plugins
from extender.warm_up import WarmUp

EVERYWHERE: Final = Execution(EVERYTHING)
LOOK_SECONDS: Final = 5.0
"""What a pod with very many rules breaks takes as long to find out; others have their turns."""
LOOKS: Final = 50
"""At pods that break rules: some of them, and the hostile one first."""


class _Leader:
    """Leads."""

    leads = True
    acknowledged = 0

    def keep(self, notes: LeaseNotes) -> None:
        """Keep nothing."""

    async def confirm(self) -> bool:
        """Confirm that."""
        return True

    async def run(self) -> NoReturn:
        """Do nothing."""
        await asyncio.Event().wait()
        raise AssertionError


class Evicting:
    """The controller, with required rules of every pod in force."""

    def __init__(
        self, state: ClusterState, metrics: Metrics, plugins: Plugins, warm_up: WarmUp
    ) -> None:
        clocks = Clocks(perf_counter, time, random)
        self._controller = EvictionController(
            ControllerContext(state, plugins, metrics, warm_up, History(), clocks),
            Agreeing(state),
            EvictionTurns.of(_Leader(), state, 6000, perf_counter),
            execution=EVERYWHERE,
            limits=EvictionLimits(6000, 0.0, 1.0, dry_run=True),
            unready=lambda: None,
        )

    async def look(self) -> None:
        """Judge whom events have named, as far as time allows, and do what is due for some."""
        with suppress(TimeoutError):
            async with asyncio.timeout(LOOK_SECONDS):
                await self._controller.look()
        for _ in range(LOOKS):
            await self._controller.process_next()
