"""Shows how far a run has come: a line that changes on a terminal, a line a step elsewhere."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import time
from collections.abc import AsyncIterator, Iterator
from typing import TextIO

_REFRESH_S = 0.2
_WIDTH = 100
_CLEAR = "\r\x1b[K"


class Progress:
    """The step that runs now; its actions are counted over all its phases."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self._live = stream.isatty()
        self._test = ""
        self._step = ""
        self._begin = time.monotonic()
        self._expected = 0
        self._done = 0

    @contextlib.asynccontextmanager
    async def test(self, name: str) -> AsyncIterator[None]:
        self._test = name
        refreshing = asyncio.create_task(self._refresh(), name="progress") if self._live else None
        try:
            yield
        finally:
            if refreshing:
                refreshing.cancel()
                with contextlib.suppress(asyncio.CancelledError):
                    await refreshing
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

    def say(self, line: str) -> None:
        """Write a line that stays on the terminal."""
        self._stream.write(f"{_CLEAR if self._live else ''}{line}\n")
        self._stream.flush()

    def line(self) -> str:
        actions = f" {self._done}/{self._expected}" if self._expected else ""
        seconds = time.monotonic() - self._begin
        return f"{self._test}: {self._step}{actions} {seconds:.0f} s"[:_WIDTH]

    async def _refresh(self) -> None:
        while True:
            self._stream.write(_CLEAR + self.line())
            self._stream.flush()
            await asyncio.sleep(_REFRESH_S)


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
