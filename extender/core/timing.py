"""When something may happen again: bounded log lines, tokens a second, and growing pauses."""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass
from time import monotonic
from typing import Final

LOG_SECONDS: Final = 60.0
"""Between two lines of a kind, unless somebody waits for an answer."""
CALL_LOG_SECONDS: Final = 10.0
"""The same about calls and requests: a client that sends broken ones sends many."""
MOST_KINDS: Final = 64
"""Kinds of lines told apart at a time; those beyond share one series."""
KIND_CHARACTERS: Final = 400
"""How much of a kind is looked at. It may quote what came from outside."""

_ALL_OTHERS: Final = ""

LONGEST_PAUSE_SECONDS: Final = 300.0
"""The scheduler itself retries a pod that nothing wakes after as long."""


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
        seconds: float = LOG_SECONDS,
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
        """Forget all series, as after a recovery; return whether there were any."""
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


class TokenBucket:
    """`per_second` tokens on average, and up to `burst`, never less than one, at once."""

    def __init__(
        self, per_second: float, clock: Callable[[], float], burst: float | None = None
    ) -> None:
        """Without a `burst`, the tokens of one second may go at once."""
        self._per_second = per_second
        self._burst = max(per_second if burst is None else burst, 1.0)
        self._clock = clock
        self._tokens = self._burst
        self._counted_at = clock()

    def left(self) -> bool:
        self._refill()
        return self._tokens >= 1.0

    def take(self) -> bool:
        """Take a token if there is one, and return whether there was."""
        if not self.left():
            return False
        self._tokens -= 1.0
        return True

    def _refill(self) -> None:
        now = self._clock()
        gained = (now - self._counted_at) * self._per_second
        self._tokens = min(self._tokens + gained, self._burst)
        self._counted_at = now


@dataclass(slots=True, eq=False)
class Pause:
    """Leaves something alone, each time for longer."""

    seconds: float
    """How long the next one takes."""
    longest: float = LONGEST_PAUSE_SECONDS
    until: float = 0.0

    def begin(self, now: float, at_least: float = 0.0) -> None:
        self.until = now + max(self.seconds, at_least)
        self.seconds = min(2 * self.seconds, self.longest)

    def rest(self, now: float) -> float | None:
        """Return for how many seconds it is left alone yet, None when the pause is over."""
        return self.until - now if self.until > now else None
