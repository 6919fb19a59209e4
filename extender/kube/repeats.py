"""Log lines for failures that repeat: the first, each change, then one a minute."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import logging
    from collections.abc import Callable

INTERVAL_SECONDS = 60.0


@dataclass(slots=True)
class RepeatingLog:
    """Keeps one subject's log short while the same thing goes wrong again and again."""

    logger: logging.Logger
    subject: str
    clock: Callable[[], float]
    _last: str | None = field(init=False, default=None)
    _last_at: float = field(init=False, default=0.0)
    _held_back: int = field(init=False, default=0)

    def warning(self, what: str) -> None:
        """Log `what`, unless it is what was logged less than a minute ago."""
        now = self.clock()
        if what == self._last and now - self._last_at < INTERVAL_SECONDS:
            self._held_back += 1
            return
        more = f" (and {self._held_back} times before, not logged)" if self._held_back else ""
        self.logger.warning("%s: %s%s", self.subject, what, more)
        self._last, self._last_at, self._held_back = what, now, 0

    def recovered(self, what: str) -> None:
        """Log the end of a series of failures, if there was one."""
        if self._last is not None:
            self.logger.info("%s: %s", self.subject, what)
        self._last, self._held_back = None, 0
