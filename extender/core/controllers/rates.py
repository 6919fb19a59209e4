"""How much may be done in a minute."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

WINDOW_SECONDS: Final = 60.0


@dataclass(slots=True, eq=False)
class Turn:
    at: float
    """When it was taken, or was over."""


class RateLimiter:
    """Bounds how often something happens in any minute; several turns may be under way at once."""

    def __init__(self, most: int, clock: Callable[[], float]) -> None:
        self._most = most
        self._clock = clock
        self._turns: deque[Turn] = deque()

    @property
    def recent(self) -> int:
        """Return how many there were in the last minute."""
        now = self._clock()
        while self._turns and self._turns[0].at <= now - WINDOW_SECONDS:
            self._turns.popleft()
        return len(self._turns)

    def rest(self) -> float:
        """Return the seconds until there may be another one; 0 when there may be one now."""
        if self.recent < self._most:
            return 0.0
        return self._turns[-self._most].at + WINDOW_SECONDS - self._clock()

    def take(self) -> Turn:
        turn = Turn(self._clock())
        self._turns.append(turn)
        return turn

    def done(self, turn: Turn) -> None:
        """Note that one is over: a minute counts from when it was certainly there."""
        self.give_back(turn)  # It may have begun more than a minute ago.
        turn.at = self._clock()
        self._turns.append(turn)

    def give_back(self, turn: Turn) -> None:
        """Note that one has come to nothing."""
        if turn in self._turns:
            self._turns.remove(turn)

    def fill(self, number: int) -> None:
        """Note some that another replica has made within the last minute."""
        self._turns.extend(Turn(self._clock()) for _ in range(min(number, self._most)))
