"""How long the event loop is busy at a time."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable
from contextlib import suppress
from itertools import islice
from time import thread_time
from typing import TypeVar

from extender.core.cluster.state import ClusterState
from extender.diagnosis.verbs.violations import STEP_ENTRIES, STEP_LOOKS, Watch, patrol

T = TypeVar("T")


async def stepwise(steps: Iterable[object], most: int) -> None:
    """Take at most `most` steps, each in a turn of its own."""
    for _ in islice(steps, most):
        await asyncio.sleep(0)


def taking(
    steps: Callable[[ClusterState], Iterable[object]], state: ClusterState, most: int
) -> Callable[[], Awaitable[None]]:
    """Return what begins such steps over a state, and takes a number of them at most."""
    return lambda: stepwise(steps(state), most)


async def patrolling(state: ClusterState, most: int) -> None:
    """Look for broken rules as the program does, for at most `most` steps."""
    watch = Watch(state)
    for step in islice(patrol(state, STEP_ENTRIES), most):
        await asyncio.sleep(0)
        for looked, _ in enumerate(watch.take(step), 1):
            if looked % STEP_LOOKS == 0:
                await asyncio.sleep(0)


class Turns:
    """Measures the turns of the event loop."""

    def __init__(self) -> None:
        self._longest = 0.0

    async def longest(self, work: Awaitable[T]) -> tuple[float, T]:
        """Return the longest turn in milliseconds until some work is done, and its result."""
        self._longest = 0.0
        ticking = asyncio.create_task(self._tick())
        await asyncio.sleep(0)
        result = await work
        await asyncio.sleep(0)
        ticking.cancel()
        with suppress(asyncio.CancelledError):
            await ticking
        return 1000 * self._longest, result

    async def _tick(self) -> None:
        before = thread_time()
        while True:
            await asyncio.sleep(0)
            now = thread_time()
            self._longest = max(self._longest, now - before)
            before = now
