"""When the scheduler last called, for the page: an answer that nobody asks for helps no pod."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping
from typing import Final

from aiohttp import web


class LastCalls:
    """The moment of the last call of each verb, in seconds since the epoch; None before one."""

    def __init__(self, verbs: Iterable[str], clock: Callable[[], float] = time.time) -> None:
        self._at: dict[str, float | None] = dict.fromkeys(verbs)
        self._clock = clock

    def note(self, verb: str) -> None:
        """Note a call that got an answer."""
        self._at[verb] = self._clock()

    @property
    def at(self) -> Mapping[str, float | None]:
        """Return the moments by verb."""
        return self._at


LAST_CALLS: Final = web.AppKey("LAST_CALLS", LastCalls)
