"""Tells a person how far a run is: one line that changes on a terminal, one a step elsewhere."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import time
from collections.abc import AsyncIterator
from typing import TextIO

_REFRESH_S = 0.2
_WIDTH = 100
_CLEAR = "\r\x1b[K"


class Progress:
    """What goes on at the moment; actions are counted over all phases of a step."""

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
        """Show a test while it runs."""
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
        """Begin with a step."""
        self._step, self._begin = name, time.monotonic()
        self._expected = self._done = 0

    def step_ended(self, *, ok: bool) -> None:
        """Note that the step is over."""
        seconds = time.monotonic() - self._begin
        self.say(f"{self._test}: {self._step}: {'ok' if ok else 'FAILED'} after {seconds:.1f} s")

    def expect(self, count: int) -> None:
        """Add to what the step has to do."""
        self._expected += count

    def done(self) -> None:
        """Count one of them."""
        self._done += 1

    def say(self, line: str) -> None:
        """Write a line that stays."""
        self._stream.write(f"{_CLEAR if self._live else ''}{line}\n")
        self._stream.flush()

    def line(self) -> str:
        """Return the line that changes."""
        actions = f" {self._done}/{self._expected}" if self._expected else ""
        seconds = time.monotonic() - self._begin
        return f"{self._test}: {self._step}{actions} {seconds:.0f} s"[:_WIDTH]

    async def _refresh(self) -> None:
        while True:
            self._stream.write(_CLEAR + self.line())
            self._stream.flush()
            await asyncio.sleep(_REFRESH_S)


class ProgressHandler(logging.Handler):
    """Puts warnings between the progress, not into it."""

    def __init__(self, progress: Progress) -> None:
        super().__init__(logging.WARNING)
        self._progress = progress

    def emit(self, record: logging.LogRecord) -> None:
        """Write one."""
        self._progress.say(f"{record.levelname.lower()}: {record.getMessage()}")
