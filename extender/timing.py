"""Fewer log lines where the same thing goes wrong again and again."""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass
from time import monotonic
from typing import Final

MOST_KINDS: Final = 64
"""Kinds of lines told apart at a time; those beyond share one series."""
KIND_CHARACTERS: Final = 400
"""How much of a kind is looked at. It may quote what came from outside."""

_ALL_OTHERS: Final = ""


@dataclass(slots=True)
class _Series:
    """Lines of one kind in one period."""

    ends: float
    logged: int = 0
    held_back: int = 0


class LogThrottle:
    """Logs the first lines of each kind in a period, and with the next one how many it held back.

    Bounded: `burst` lines of each kind every `seconds`, for at most MOST_KINDS kinds and all
    others together.
    """

    def __init__(
        self,
        logger: logging.Logger,
        *,
        seconds: float,
        burst: int = 1,
        clock: Callable[[], float] = monotonic,
    ) -> None:
        self._logger = logger
        self._seconds = seconds
        self._burst = burst
        self._clock = clock
        self._series: dict[str, _Series] = {}

    def log(
        self,
        level: int,
        kind: str,
        message: str,
        *args: object,
        exc_info: BaseException | None = None,
    ) -> None:
        """Log a message, unless enough of its kind have been logged lately."""
        if not self._logger.isEnabledFor(level):
            return
        now = self._clock()
        series = self._of(kind[:KIND_CHARACTERS], now)
        held_back = 0
        if now >= series.ends:
            held_back = series.held_back
            series.ends, series.logged, series.held_back = now + self._seconds, 0, 0
        if series.logged >= self._burst:
            series.held_back += 1
            return
        series.logged += 1
        more = f" (and {held_back} times before, not logged)" if held_back else ""
        line = message + "%s"
        # The caller's own line is what a log names as its place.
        self._logger.log(level, line, *args, more, exc_info=exc_info, stacklevel=2)

    def clear(self) -> bool:
        """Forget all series, as after a recovery; tell whether there were any."""
        were = bool(self._series)
        self._series.clear()
        return were

    def _of(self, kind: str, now: float) -> _Series:
        series = self._series.get(kind)
        if series is None:
            if len(self._series) >= MOST_KINDS:
                self._series = {
                    known: each for known, each in self._series.items() if now < each.ends
                }
            if len(self._series) >= MOST_KINDS:
                kind = _ALL_OTHERS
            series = self._series.setdefault(kind, _Series(ends=now + self._seconds))
        return series


class Allowance:
    """So many a second on average, and as many at once; never less than one."""

    def __init__(self, per_second: float, clock: Callable[[], float]) -> None:
        self._per_second = per_second
        self._most = max(per_second, 1.0)
        self._clock = clock
        self._left = self._most
        self._counted = clock()

    def left(self) -> bool:
        """Tell whether there is one to take."""
        now = self._clock()
        self._left = min(self._left + (now - self._counted) * self._per_second, self._most)
        self._counted = now
        return self._left >= 1.0

    def take(self) -> bool:
        """Take one, if there is one."""
        if not self.left():
            return False
        self._left -= 1.0
        return True
