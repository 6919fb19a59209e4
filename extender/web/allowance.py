"""How often something may be done."""

from __future__ import annotations

from collections.abc import Callable


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
