"""The controller that evicts pods, over the cluster of `bench.hostile`."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from random import random
from time import perf_counter, time
from typing import Any, Final, NoReturn

from bench.agreeing import Agreeing
from extender.core.cluster.state import ClusterState
from extender.core.config.features import features
from extender.core.controllers.context import Clocks, ControllerContext
from extender.core.controllers.history import History
from extender.core.metrics import Metrics
from extender.core.model.labels import EVERYTHING
from extender.core.parts import part_of
from extender.core.ports import LeaseNotes
from extender.core.verbs.plugins import Plugins
from extender.core.warm_up import WarmUp

LOOK_SECONDS: Final = 5.0
"""What a pod with very many rules breaks takes as long to find out; others have their turns."""
LOOKS: Final = 50
"""At pods that break rules: some of them, and the hostile one first."""


class _Leader:
    leads = True
    acknowledged = 0

    def keep(self, notes: LeaseNotes) -> None:
        """Keep nothing."""

    async def confirm(self) -> bool:
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
        (feature,) = (each for each in features() if each.places)
        part: Any = part_of(feature)
        execution = feature.module("rules.execution").Execution(EVERYTHING)
        books = feature.module("rules.books").Books.of(state, execution)
        for each in books.ledgers:
            state.book_with(each)
        shared = feature.module("shared").Shared(books, part.metrics(metrics.make), Agreeing(state))
        clocks = Clocks(perf_counter, time, random)
        turns = feature.module("turns").EvictionTurns.of(_Leader(), books, 6000, perf_counter)
        self._controller = feature.module("eviction").EvictionController(
            ControllerContext(state, plugins, metrics, warm_up, History(), clocks),
            shared,
            turns,
            execution=execution,
            limits=feature.module("mover").EvictionLimits(6000, 0.0, 1.0, dry_run=True),
            unready=lambda: None,
        )

    async def look(self) -> None:
        """Judge whom events have named, as far as time allows, and do what is due for some."""
        with suppress(TimeoutError):
            async with asyncio.timeout(LOOK_SECONDS):
                await self._controller.look()
        for _ in range(LOOKS):
            await self._controller.process_next()
