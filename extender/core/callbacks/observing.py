"""What callbacks tell of themselves, in metrics and logs, while the scheduler does not wait."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from time import perf_counter
from typing import Final, TypeAlias

from extender.core.timing import CALL_LOG_SECONDS, LogThrottle

LOG_BURST: Final = 5
"""Lines of a kind in CALL_LOG_SECONDS: the scheduler tries a broken pod again and again."""

Defer: TypeAlias = Callable[[Callable[[], None]], object]
"""Runs something soon, once the answer at hand is on its way: an event loop's call_soon."""


def soon(work: Callable[[], None]) -> None:
    """Run it in this event loop, after what is running now."""
    asyncio.get_running_loop().call_soon(work)


def fault_log(logger: logging.Logger) -> LogThrottle:
    return LogThrottle(logger, seconds=CALL_LOG_SECONDS, burst=LOG_BURST)


def fault_text(error: Exception) -> str:
    return str(error) or type(error).__name__


class Laps:
    """How long each plugin took: from the end of the work before it to the end of its own."""

    __slots__ = ("_since", "seconds")

    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}
        """By plugin."""
        self._since = perf_counter()

    def end(self, plugin: str) -> float:
        """Note that a plugin has done some work; return the seconds that it took so far."""
        now = perf_counter()
        taken = self.seconds[plugin] = self.seconds.get(plugin, 0.0) + now - self._since
        self._since = now
        return taken
