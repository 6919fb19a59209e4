"""Hints that are being withdrawn, or were a moment ago: the scheduler may not have seen it yet."""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from enum import Enum

REMEMBERED_SECONDS = 180.0
"""How long a withdrawal is remembered: as long as one whose end is unclear may still be carried
out, which is as for binds (`binding.RESERVATION_SECONDS`)."""
MOST_REMEMBERED = 4096
"""More than are withdrawn in that time at 20 hints a second; the oldest is forgotten first."""


class Fate(Enum):
    """What became of a request to withdraw a hint."""

    IN_FLIGHT = "in flight"
    DONE = "done"
    NOT_DONE = "not done"
    UNCLEAR = "unclear"


@dataclass(slots=True, eq=False)
class Withdrawal:
    """A request to withdraw a hint."""

    node: str
    at: float
    fate: Fate = Fate.IN_FLIGHT
    ended: asyncio.Event = field(default_factory=asyncio.Event)


class Withdrawals:
    """The latest withdrawal of each pod."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._latest: OrderedDict[str, Withdrawal] = OrderedDict()

    def __len__(self) -> int:
        return len(self._latest)

    def of(self, uid: str) -> Withdrawal | None:
        """Return what is remembered of a pod."""
        withdrawal = self._latest.get(uid)
        if withdrawal is None or withdrawal.at + REMEMBERED_SECONDS <= self._clock():
            return None
        return withdrawal

    @contextmanager
    def begin(self, uid: str, node: str) -> Iterator[Withdrawal]:
        """Note a withdrawal while it is in flight; unless told what became of it, that is unclear.

        Whoever is cancelled in between does not know either.
        """
        self._latest.pop(uid, None)
        withdrawal = self._latest[uid] = Withdrawal(node, self._clock())
        self._forget_old()
        try:
            yield withdrawal
        finally:
            if withdrawal.fate is Fate.IN_FLIGHT:
                withdrawal.fate = Fate.UNCLEAR
            withdrawal.at = self._clock()
            withdrawal.ended.set()

    def _forget_old(self) -> None:
        over = self._clock() - REMEMBERED_SECONDS
        while len(self._latest) > MOST_REMEMBERED or next(iter(self._latest.values())).at <= over:
            self._latest.popitem(last=False)
