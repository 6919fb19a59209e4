"""An event loop whose time only passes while nothing else is to be done.

Everything that goes by the loop's clock takes no real time: timeouts, sleeps, keep-alive. Real
connections work, as long as both ends are in this loop.
"""

from __future__ import annotations

import asyncio
import selectors
from collections.abc import Coroutine
from typing import Any, TypeVar

T = TypeVar("T")

_STUCK_SECONDS = 10.0
"""Real seconds without anything to wait for, after which the test is broken."""


class _Selector(selectors.DefaultSelector):
    """Moves the loop's clock to its next timer instead of waiting for it."""

    def __init__(self) -> None:
        super().__init__()
        self.now = 0.0

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        """Return what is ready; nothing when the next timer is."""
        ready = super().select(0)
        if ready or timeout == 0:
            return ready
        if timeout is None:
            ready = super().select(_STUCK_SECONDS)
            assert ready, "everybody waits for somebody else"
            return ready
        self.now += timeout
        return []


class VirtualLoop(asyncio.SelectorEventLoop):
    """The loop; `time()` starts at 0."""

    def __init__(self) -> None:
        self._virtual = _Selector()
        super().__init__(self._virtual)

    def time(self) -> float:
        """Return the virtual seconds since the start."""
        return self._virtual.now

    async def shutdown_default_executor(self, timeout: float | None = None) -> None:  # noqa: ASYNC109
        """Wait for threads however long, since they take real time."""
        del timeout
        await super().shutdown_default_executor()


def run_virtually(main: Coroutine[Any, Any, T]) -> T:
    """Run a coroutine on a loop of this kind."""
    with asyncio.Runner(loop_factory=VirtualLoop) as runner:
        return runner.run(main)
