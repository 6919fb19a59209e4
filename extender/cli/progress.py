"""How far a long command is: a bar on a terminal, else a line now and then."""

from __future__ import annotations

import sys
from collections.abc import Callable, Generator
from time import monotonic
from typing import Final, TypeVar

from extender.cli.parsing import complain

T = TypeVar("T")

WIDTH: Final = 30
REDRAWN_SECONDS: Final = 0.1
SAID_SECONDS: Final = 5.0
"""Between two lines, where standard error is no terminal; what is shorter says nothing."""


class Progress:
    """Shows how many pods were looked at, on standard error."""

    def __init__(self, clock: Callable[[], float] = monotonic) -> None:
        self._clock = clock
        self._drawn = 0
        """Characters of the bar that is shown."""

    def through(self, what: str, total: int, looks: Generator[None, None, T]) -> T:
        """Go through all looks and return their result; `total` 0 for a number nobody knows."""
        bar = sys.stderr.isatty()
        last, done = self._clock(), 0
        while True:
            try:
                next(looks)
            except StopIteration as end:
                self._wipe()
                result: T = end.value
                return result
            done += 1
            now = self._clock()
            if now - last >= (REDRAWN_SECONDS if bar else SAID_SECONDS):
                last = now
                (self._draw if bar else self._say)(what, done, total)

    def _draw(self, what: str, done: int, total: int) -> None:
        filled = WIDTH * min(done, total) // total if total else 0
        bar = f"[{'#' * filled}{'.' * (WIDTH - filled)}] " if total else ""
        line = f"{bar}{_count(done, total)}: {what}"
        sys.stderr.write("\r" + line.ljust(self._drawn))
        sys.stderr.flush()
        self._drawn = len(line)

    def _say(self, what: str, done: int, total: int) -> None:
        complain(f"{what}: {_count(done, total)}")

    def _wipe(self) -> None:
        if self._drawn:
            sys.stderr.write("\r" + " " * self._drawn + "\r")
            sys.stderr.flush()
            self._drawn = 0


def _count(done: int, total: int) -> str:
    return f"{done:,} of {total:,} pods" if total > done else f"{done:,} pods"
