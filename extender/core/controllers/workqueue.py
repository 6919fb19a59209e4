"""A delaying work queue for controllers, after client-go's util/workqueue.

An event handler adds the key of what has changed, a worker takes one key at a time and brings what
it stands for to what it should be, whatever has happened to it meanwhile::

    key = await queue.get()
    try:
        seconds = await reconcile(key)
    finally:
        queue.done(key)

- A key that is added several times before it is taken is taken once.
- A key that is added while it is processed is taken again, but not before it is done: no two
  workers ever have the same key.
- Of several times at which a key is wanted, the earliest counts; of several priorities, the
  highest. Whoever looks at a key too early adds it again.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Hashable
from contextlib import suppress
from dataclasses import dataclass
from heapq import heapify, heappop, heappush
from time import monotonic
from typing import Final, Generic, TypeVar

K = TypeVar("K", bound=Hashable)

MOST_STALE: Final = 64
"""Entries of the heaps, beside as many as there are keys, that may stand for nothing any more."""


@dataclass(frozen=True, slots=True, eq=False)
class _Entry(Generic[K]):
    """That a key is wanted; another entry for the same key takes its place."""

    key: K
    due: float
    priority: int
    number: int


class WorkQueue(Generic[K]):
    """Keys that are to be processed, now or later; those of the highest priority first.

    Among those, the one that is due for longest is first. `add` and `take` are O(log n).
    """

    def __init__(self, most: int, clock: Callable[[], float] = monotonic) -> None:
        """`most` is in keys; beyond that none is added."""
        self._most = most
        self._clock = clock
        self._wanted: dict[K, _Entry[K]] = {}
        self._processing: set[K] = set()
        # A raised priority makes another entry of the same time and number.
        self._later: list[tuple[float, int, int, _Entry[K]]] = []
        """A heap by due time."""
        self._ready: list[tuple[int, float, int, _Entry[K]]] = []
        """A heap of what is due, by priority and then by due time."""
        self._numbered = 0
        self._changed = asyncio.Event()
        self._turn = asyncio.Lock()

    def __len__(self) -> int:
        return len(self._wanted)

    def add(self, key: K, priority: int = 0) -> bool:
        """Have a key processed as soon as may be; False when there are too many."""
        return self.add_after(key, 0.0, priority)

    def add_after(self, key: K, seconds: float, priority: int = 0) -> bool:
        """Have a key processed after `seconds`; False when there are too many."""
        due = self._clock() + seconds
        known = self._wanted.get(key)
        if known is None:
            if len(self._wanted) >= self._most:
                return False
        elif known.due <= due and known.priority >= priority:
            return True
        else:
            due, priority = min(known.due, due), max(known.priority, priority)
        self._numbered += 1
        # What is due as before keeps its place among its equals.
        number = known.number if known is not None and known.due == due else self._numbered
        self._wanted[key] = entry = _Entry(key, due, priority, number)
        if key not in self._processing:
            self._enter(entry)
        return True

    def discard(self, key: K) -> None:
        """Have a key not processed (again)."""
        self._wanted.pop(key, None)

    def take(self) -> K | None:
        """Return the next key that is due, None when there is none; `done` has to follow."""
        self._ripen()
        while self._ready:
            entry = heappop(self._ready)[-1]
            if self._is_live(entry):
                del self._wanted[entry.key]
                self._processing.add(entry.key)
                return entry.key
        return None

    async def get(self) -> K:
        """Wait for the next key that is due; `done` has to follow."""
        # However many keys there are, everybody else has a turn in between.
        await asyncio.sleep(0)
        # One of those who wait is woken, and leaves the wait for the next key to another.
        async with self._turn:
            while (key := self.take()) is None:
                self._changed.clear()
                with suppress(TimeoutError):
                    async with asyncio.timeout(self._rest()):
                        await self._changed.wait()
        return key

    def done(self, key: K) -> None:
        """Note that a key was processed; it is taken again if it was added meanwhile."""
        self._processing.remove(key)
        entry = self._wanted.get(key)
        if entry is not None:
            self._enter(entry)

    def _enter(self, entry: _Entry[K]) -> None:
        # What is due at once is not left to `take`, which would ripen thousands in one turn.
        if entry.due <= self._clock():
            heappush(self._ready, (-entry.priority, entry.due, entry.number, entry))
        else:
            heappush(self._later, (entry.due, -entry.priority, entry.number, entry))
        if len(self._later) + len(self._ready) > 2 * len(self._wanted) + MOST_STALE:
            self._later = [each for each in self._later if self._is_live(each[-1])]
            self._ready = [each for each in self._ready if self._is_live(each[-1])]
            heapify(self._later)
            heapify(self._ready)
        self._changed.set()

    def _ripen(self) -> None:
        now = self._clock()
        while self._later and (self._later[0][0] <= now or not self._is_live(self._later[0][-1])):
            due, priority, number, entry = heappop(self._later)
            if self._is_live(entry):
                heappush(self._ready, (priority, due, number, entry))

    def _is_live(self, entry: _Entry[K]) -> bool:
        return self._wanted.get(entry.key) is entry

    def _rest(self) -> float | None:
        """Return the seconds until the next key is due, None when none will be by itself."""
        return max(0.0, self._later[0][0] - self._clock()) if self._later else None
