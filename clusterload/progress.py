"""Shows how far a run has come and what it waits for.

On a terminal a line changes; elsewhere there is a line a step, and one now and then in a long step.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import shutil
import time
from collections.abc import AsyncIterator, Callable, Iterator
from typing import TextIO

REFRESH_S = 0.2
SAID_S = 10.0
"""Between two lines about the same step, where no line can change."""
_CLEAR = "\r\x1b[K"


class Progress:
    """The step that runs now; its actions are counted over all its phases."""

    def __init__(self, stream: TextIO, said_s: float = SAID_S) -> None:
        self._stream = stream
        self._live = stream.isatty()
        self._pause = REFRESH_S if self._live else said_s
        self._waits: dict[object, Callable[[], str]] = {}
        self._test = ""
        self._step = ""
        self._begin = time.monotonic()
        self._expected = 0
        self._done = 0

    @contextlib.asynccontextmanager
    async def test(self, name: str) -> AsyncIterator[None]:
        self._test = name
        refreshing = asyncio.create_task(self._refresh(), name="progress")
        try:
            yield
        finally:
            refreshing.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await refreshing
            if self._live:
                self._stream.write(_CLEAR)

    def step(self, name: str) -> None:
        self._step, self._begin = name, time.monotonic()
        self._expected = self._done = 0

    def step_ended(self, *, ok: bool) -> None:
        seconds = time.monotonic() - self._begin
        self.say(f"{self._test}: {self._step}: {'ok' if ok else 'FAILED'} after {seconds:.1f} s")

    def expect(self, count: int) -> None:
        self._expected += count

    def done(self) -> None:
        self._done += 1

    @contextlib.contextmanager
    def waiting(self, name: str, state: Callable[[], str]) -> Iterator[None]:
        """Show what is waited for, and how much of it is there, as `state` says at any moment."""
        wait = object()
        self._waits[wait] = lambda: f"{name}: {state()}"
        try:
            yield
        finally:
            del self._waits[wait]

    def say(self, line: str) -> None:
        """Write a line that stays on the terminal."""
        self._stream.write(f"{_CLEAR if self._live else ''}{line}\n")
        self._stream.flush()

    def line(self) -> str:
        seconds = time.monotonic() - self._begin
        now = [state() for state in self._waits.values()]
        if self._expected:
            objects = "object" if self._expected == 1 else "objects"
            now.insert(0, f"{self._done:,} of {self._expected:,} {objects}")
        return ": ".join(
            filter(None, (f"{self._test}: {self._step}, {seconds:.0f} s", "; ".join(now)))
        )

    async def _refresh(self) -> None:
        while True:
            if self._live:
                width = shutil.get_terminal_size((100, 24)).columns - 1
                self._stream.write(_CLEAR + self.line()[:width])
                self._stream.flush()
            await asyncio.sleep(self._pause)
            if not self._live:
                self.say(self.line())


class _ProgressHandler(logging.Handler):
    """Writes warnings between the lines of progress."""

    def __init__(self, progress: Progress) -> None:
        super().__init__(logging.WARNING)
        self._progress = progress

    def emit(self, record: logging.LogRecord) -> None:
        self._progress.say(f"{record.levelname.lower()}: {record.getMessage()}")


@contextlib.contextmanager
def warnings_shown(progress: Progress) -> Iterator[None]:
    """Write warnings of the measurements, and of the API client, between the lines of progress."""
    handler = _ProgressHandler(progress)
    loggers = [logging.getLogger(name) for name in ("clusterload", "extender")]
    for logger in loggers:
        logger.addHandler(handler)
    try:
        yield
    finally:
        for logger in loggers:
            logger.removeHandler(handler)
