"""How long the event loop is busy at a time."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable
from contextlib import suppress
from time import thread_time
from typing import TypeVar

T = TypeVar("T")


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
