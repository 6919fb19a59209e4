"""Pauses in which something is left alone, each twice as long as the one before."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

LONGEST_PAUSE_SECONDS: Final = 300.0
"""The scheduler itself retries a pod that nothing wakes after as long."""


@dataclass(slots=True, eq=False)
class Pause:
    """Leaves something alone, each time for longer."""

    seconds: float
    """How long the next one takes."""
    longest: float = LONGEST_PAUSE_SECONDS
    until: float = 0.0

    def begin(self, now: float, at_least: float = 0.0) -> None:
        """Leave it alone from now on."""
        self.until = now + max(self.seconds, at_least)
        self.seconds = min(2 * self.seconds, self.longest)

    def rest(self, now: float) -> float | None:
        """Return for how many seconds it is left alone yet, None when the pause is over."""
        return self.until - now if self.until > now else None
