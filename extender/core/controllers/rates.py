"""How much may be done in a minute."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from contextlib import suppress
from typing import Final

WINDOW_SECONDS: Final = 60.0


class RateLimiter:
    """Bounds how often something happens in any minute."""

    def __init__(self, most: int, clock: Callable[[], float]) -> None:
        self._most = most
        self._clock = clock
        self._times: deque[float] = deque()

    @property
    def recent(self) -> int:
        """Return how many there were in the last minute."""
        now = self._clock()
        while self._times and self._times[0] <= now - WINDOW_SECONDS:
            self._times.popleft()
        return len(self._times)

    def rest(self) -> float:
        """Return the seconds until there may be another one; 0 when there may be one now."""
        if self.recent < self._most:
            return 0.0
        return self._times[-self._most] + WINDOW_SECONDS - self._clock()

    def take(self) -> float:
        """Note that one begins; return its time, by which its end is noted: others may overlap."""
        now = self._clock()
        self._times.append(now)
        return now

    def done(self, taken: float) -> None:
        """Note that one is over: a minute counts from when it was certainly there."""
        self.give_back(taken)
        self.take()

    def give_back(self, taken: float) -> None:
        """Note that one has come to nothing."""
        with suppress(ValueError):  # It may have begun more than a minute ago.
            self._times.remove(taken)

    def fill(self, number: int) -> None:
        """Note some that another replica has made within the last minute."""
        self._times.extend([self._clock()] * min(number, self._most))
