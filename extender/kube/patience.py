"""Giving up a stream on which nothing of use has come for too long, whatever else comes.

A timeout on reads alone is kept off by any byte: newlines, spaces, the beginning of a line.
"""

from __future__ import annotations

import asyncio
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from extender.kube.failures import BrokenAnswerError
    from extender.kube.lines import Lines

AGAIN_SECONDS: Final = 0.05
"""Between two attempts to have the reader give up."""


class Patience:
    """A timer that is wound up again by what counts; a call costs no more than a clock reading."""

    def __init__(self, seconds: float, failure: Callable[[str], BrokenAnswerError]) -> None:
        self.seconds = seconds
        self._failure = failure
        self._wound_up = 0.0
        self._timer: asyncio.TimerHandle | None = None

    def renew(self) -> None:
        """Begin the time anew."""
        self._wound_up = asyncio.get_running_loop().time()

    @contextmanager
    def with_stream(self, lines: Lines) -> Iterator[None]:
        """Make whoever waits for a line get the failure, once the time is over."""
        self.renew()
        self._look(lines)
        try:
            yield
        finally:
            if self._timer is not None:
                self._timer.cancel()

    def _look(self, lines: Lines) -> None:
        loop = asyncio.get_running_loop()
        left = self._wound_up + self.seconds - loop.time()
        if left <= 0:
            lines.give_up(self._failure(f"nothing of use came for {self.seconds:g} s"))
            # It gets lost on a reader that has just been woken by bytes and goes on waiting.
            left = AGAIN_SECONDS
        self._timer = loop.call_later(left, self._look, lines)
