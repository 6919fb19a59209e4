"""Waiting for a condition without polling the clock."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

PATIENCE_SECONDS = 30.0
"""Only a broken test waits this long, also on a machine that stood still for ten."""


class Pulse:
    """Whoever changes something beats it; whoever waits looks again at each beat."""

    def __init__(self) -> None:
        self._beat = asyncio.Event()

    def beat(self) -> None:
        self._beat.set()
        self._beat = asyncio.Event()

    async def until(self, condition: Callable[[], bool]) -> None:
        async with asyncio.timeout(PATIENCE_SECONDS):
            while not condition():
                await self._beat.wait()
