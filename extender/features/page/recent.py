"""How callbacks did in the last minutes."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from time import monotonic
from typing import TYPE_CHECKING, Final, NoReturn

from extender.core.metrics import Metrics

if TYPE_CHECKING:
    from extender.core.metrics.latencies import Calls

EVERY_SECONDS: Final = 15.0
READINGS: Final = 20
"""Five minutes."""


@dataclass(frozen=True, slots=True)
class Recent:
    all: Calls
    """Since the program began."""
    latest: Calls
    seconds: float
    """How long `latest` has taken."""


class RecentCalls:
    """Reads the metrics now and then, so that they can be compared with what they were."""

    def __init__(self, metrics: Metrics, clock: Callable[[], float] = monotonic) -> None:
        self._metrics = metrics
        self._clock = clock
        self._readings: deque[tuple[float, Calls | None]] = deque(
            [(clock(), None)], maxlen=READINGS
        )

    async def read(self) -> Recent:
        # In a thread, as for a scrape.
        calls = await asyncio.to_thread(self._metrics.calls)
        at, before = self._readings[0]
        latest = calls if before is None else calls.since(before)
        return Recent(calls, latest, self._clock() - at)

    async def take(self) -> None:
        """Take a reading to compare later ones with."""
        calls = await asyncio.to_thread(self._metrics.calls)
        self._readings.append((self._clock(), calls))

    async def run(self) -> NoReturn:
        while True:
            await asyncio.sleep(EVERY_SECONDS)
            await self.take()
