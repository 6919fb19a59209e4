"""Shows on standard error how far a command is."""

from __future__ import annotations

import sys
from collections.abc import Callable, Generator
from time import monotonic
from typing import Final, TypeVar

from extender.core.command_line import complain

T = TypeVar("T")
WIDTH: Final = 30
REDRAWN_SECONDS: Final = 0.1
SAID_SECONDS: Final = 5.0
"""Between two lines, where standard error is no terminal; what is shorter says nothing."""


class Progress:
    """A line that is drawn again and again, or one every few seconds where there is no terminal."""

    def __init__(self, clock: Callable[[], float] = monotonic, things: str = "pods") -> None:
        self._clock = clock
        self._things = things
        self._bar = sys.stderr.isatty()
        self._last = 0.0
        self._drawn = 0
        """Characters of the line that is shown."""

    def through(self, what: str, total: int, looks: Generator[None, None, T]) -> T:
        """Go through all looks and return their result; `total` 0 for an unknown number."""
        self.begin()
        done = 0
        while True:
            try:
                next(looks)
            except StopIteration as end:
                self.wipe()
                result: T = end.value
                return result
            done += 1
            self.show(what, done, total)

    def begin(self) -> None:
        self._last = self._clock()

    def show(self, what: str, done: int, total: int = 0) -> None:
        """Say how many are done, if it is time to."""
        now = self._clock()
        if now - self._last >= (REDRAWN_SECONDS if self._bar else SAID_SECONDS):
            self._last = now
            (self._draw if self._bar else self._say)(what, done, total)

    def wipe(self) -> None:
        if self._drawn:
            sys.stderr.write("\r" + " " * self._drawn + "\r")
            sys.stderr.flush()
            self._drawn = 0

    def _draw(self, what: str, done: int, total: int) -> None:
        filled = WIDTH * min(done, total) // total if total else 0
        bar = f"[{'#' * filled}{'.' * (WIDTH - filled)}] " if total else ""
        line = f"{bar}{self._count(done, total)}: {what}"
        sys.stderr.write("\r" + line.ljust(self._drawn))
        sys.stderr.flush()
        self._drawn = len(line)

    def _say(self, what: str, done: int, total: int) -> None:
        complain(f"{what}: {self._count(done, total)}")

    def _count(self, done: int, total: int) -> str:
        return (
            f"{done:,} of {total:,} {self._things}" if total > done else f"{done:,} {self._things}"
        )
