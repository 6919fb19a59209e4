"""How long to wait before the next watch is opened, by what the last one brought."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from enum import Enum
from typing import TYPE_CHECKING, Final

from extender.kube.endings import End, Restart

if TYPE_CHECKING:
    from extender.kube.timing import Backoff

SHORTEST_WATCH_SECONDS: Final = 1.0
"""A watch that ends sooner is not opened again at once, whatever it brought, unless it is the first
of its kind in a row: a busy API server closes a watch whose buffer is full, and is right."""


class Brought(Enum):
    """What a watch brought that moves the version we stand at."""

    NOTHING = "nothing"
    BOOKMARKS = "only bookmarks"
    CHANGES = "changes"


@dataclass(slots=True)
class Pace:
    """Keeps a server that ends its watches soon from being asked hundreds of times a second.

    Without changes the waits grow as after failures. With changes there is one watch a second: the
    mirror goes on, and is no later than that.
    """

    backoff: Backoff
    _short_in_a_row: int = field(init=False, default=0)

    def before_next(self, end: End, brought: Brought, lasted: float) -> tuple[End, float]:
        """Return how to report the end of a watch, and how many seconds to wait."""
        if lasted >= SHORTEST_WATCH_SECONDS:
            self._short_in_a_row = 0
            return end, self.backoff.delay(end.retry_after) if end.wait else 0.0
        if brought is Brought.NOTHING:
            return _empty(end), self.backoff.delay(end.retry_after)
        self._short_in_a_row += 1
        if end.wait:
            return end, self.backoff.delay(end.retry_after)
        if self._short_in_a_row == 1:
            return end, 0.0
        end = replace(end, said=f"{end.said} soon, again and again, and brought {brought.value}")
        if brought is Brought.BOOKMARKS:
            return end, self.backoff.delay()
        return end, SHORTEST_WATCH_SECONDS - lasted


def _empty(end: End) -> End:
    if end.reason is not Restart.ENDED:
        return end
    return End(Restart.EMPTY, "ended at once and brought nothing")
