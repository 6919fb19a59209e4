"""The API server's watch cache, and the watches that it serves."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import lru_cache
from random import Random
from typing import Final

from simulation.apiserver.store import (
    PATHS,
    Change,
    Json,
    Refused,
    Store,
    encode,
    is_live,
)

BUFFER: Final = 100
"""Events that wait for a watch to take them; one more closes it."""
BOOKMARK_SECONDS: Final = 60.0
REPEATED: Final = 20
"""Changes of all resources that a watch may repeat when it is opened, while events are repeated."""
RING: Final = 2_000
"""Changes of a resource that the cache can still replay."""

Say = Callable[[bytes | None], int]
"""Sends a line to the client, None for the end; returns how many have not arrived yet."""


@dataclass(eq=False, slots=True)
class Watch:
    resource: str
    live_only: bool
    """The field selector that leaves out pods that have ended."""
    say: Say
    version: int = 0
    """From which it begins, perhaps one that the server has not reached: till then it is silent."""
    timers: list[asyncio.TimerHandle] = field(default_factory=list)

    def close(self) -> None:
        for timer in self.timers:
            timer.cancel()
        self.timers.clear()
        self.say(None)


class WatchCache:
    """Follows the store, a moment behind; lists and watches are served from here."""

    def __init__(self, store: Store, chance: Random) -> None:
        self._store = store
        self._chance = chance
        self.lag = 0.001
        """Seconds behind etcd, on average."""
        self.repeats = 0.0
        """The chance that an event is sent twice, or a watch begins with older ones."""
        self._still_until = 0.0
        self.version = store.version
        self._objects: dict[str, dict[str, Json]] = {}
        self._ring: dict[str, deque[Change]] = {}
        self._oldest = store.version
        self._behind: deque[tuple[float, Change]] = deque()
        self._timer: asyncio.TimerHandle | None = None
        self.watches: list[Watch] = []
        self._caught_up: list[tuple[int, asyncio.Future[None]]] = []
        self.closed_for_buffer = 0
        self.refill()
        store.observers.append(self._follow)

    def refill(self) -> None:
        """Begin anew from the store, as a server that starts."""
        self._behind.clear()
        self._still_until = 0.0
        self.version = self._oldest = self._store.version
        self._objects = {name: dict(self._store.all(name)) for name in PATHS}
        self._ring = {name: deque(maxlen=RING) for name in PATHS}

    def stand_still(self, seconds: float) -> None:
        """Hear nothing from etcd for a while; answers and bookmarks go on, as of then."""
        until = asyncio.get_running_loop().time() + seconds
        self._still_until = max(self._still_until, until)

    @property
    def behind(self) -> float:
        """Return by how many seconds it is behind etcd."""
        now = asyncio.get_running_loop().time()
        return max(now - self._behind[0][0], 0.0) if self._behind else 0.0

    @property
    def oldest(self) -> int:
        """Return the version from which on a watch can begin."""
        return self._oldest

    def all(self, resource: str) -> list[Json]:
        return [self._objects[resource][key] for key in sorted(self._objects[resource])]

    def forget_history(self) -> None:
        """Keep nothing to replay, as after a compaction or a restart."""
        self._oldest = self.version
        for ring in self._ring.values():
            ring.clear()

    async def reach(self, version: int) -> bool:
        """Wait up to 3 s until the cache is as new as a version; tell whether it is."""
        if self.version >= version:
            return True
        reached: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._caught_up.append((version, reached))
        try:
            async with asyncio.timeout(3.0):
                await reached
        except TimeoutError:
            return False
        return True

    def open(self, watch: Watch, version: int) -> None:
        """Replay what came after a version, and follow; 410 when that is forgotten."""
        if version < self._oldest:
            raise Refused(410, "Expired", f"too old resource version: {version}")
        watch.version = version
        self.watches.append(watch)
        if self._chance.random() < self.repeats:
            version -= self._chance.randrange(REPEATED)
        for change in self._ring[watch.resource]:
            line = event_line(change, live_only=watch.live_only)
            if change.version > version and line is not None:
                # As in the real one, only what comes from now on can fill the buffer.
                watch.say(line)
        self.keep_bookmarking(watch)

    def keep_bookmarking(self, watch: Watch) -> None:
        """Tell a watch every minute how far it is."""

        def bookmark() -> None:
            if watch in self.watches:
                if self.version >= watch.version:
                    watch.say(_bookmark(self.version - self._store.ahead))
                self.keep_bookmarking(watch)

        pause = BOOKMARK_SECONDS * self._chance.uniform(0.9, 1.0)
        watch.timers[:] = [each for each in watch.timers if not each.cancelled()][-1:]
        watch.timers.append(asyncio.get_running_loop().call_later(pause, bookmark))

    def close(self, watch: Watch) -> None:
        """End a watch without a word, as the server does."""
        if watch in self.watches:
            self.watches.remove(watch)
            watch.close()

    def close_all(self) -> None:
        for watch in [*self.watches]:
            self.close(watch)

    def _follow(self, change: Change) -> None:
        due = asyncio.get_running_loop().time() + self._chance.expovariate(1.0 / self.lag)
        if self._behind:
            due = max(due, self._behind[-1][0])
        self._behind.append((due, change))
        if self._timer is None:
            self._timer = asyncio.get_running_loop().call_at(due, self._catch_up)

    def _catch_up(self) -> None:
        loop = asyncio.get_running_loop()
        self._timer = None
        if loop.time() < self._still_until:
            self._timer = loop.call_at(self._still_until, self._catch_up)
            return
        while self._behind and self._behind[0][0] <= loop.time() + 1e-9:
            self._take(self._behind.popleft()[1])
        if self._behind:
            self._timer = loop.call_at(self._behind[0][0], self._catch_up)

    def _take(self, change: Change) -> None:
        self.version = change.version
        objects, ring = self._objects[change.resource], self._ring[change.resource]
        if change.new is None:
            objects.pop(change.key, None)
        else:
            objects[change.key] = change.new
        if len(ring) == ring.maxlen:
            self._oldest = max(self._oldest, ring[0].version)
        ring.append(change)
        for watch in [each for each in self.watches if each.resource == change.resource]:
            if change.version > watch.version:
                self._pass_on(watch, change)
        waiting, self._caught_up = self._caught_up, []
        for version, reached in waiting:
            if version > self.version:
                self._caught_up.append((version, reached))
            elif not reached.done():
                reached.set_result(None)

    def _pass_on(self, watch: Watch, change: Change) -> None:
        line = event_line(change, live_only=watch.live_only)
        if line is not None and self._chance.random() < self.repeats:
            watch.say(line)
        if line is not None and watch.say(line) > BUFFER:
            self.closed_for_buffer += 1
            self.close(watch)


@lru_cache(maxsize=RING)
def event_line(change: Change, *, live_only: bool) -> bytes | None:
    """Write a change as a watch with this selector sees it: the same for each of the servers."""
    was, is_ = change.old, change.new
    if live_only:
        was = was if was is not None and is_live(was) else None
        is_ = is_ if is_ is not None and is_live(is_) else None
    if is_ is not None:
        return _line("ADDED" if was is None else "MODIFIED", is_)
    if was is None:
        return None
    gone = change.new if change.new is not None else was
    metadata = {**gone["metadata"], "resourceVersion": str(change.shown)}
    return _line("DELETED", {**gone, "metadata": metadata})


def _line(kind: str, obj: Json) -> bytes:
    return encode({"type": kind, "object": obj}) + b"\n"


def _bookmark(version: int) -> bytes:
    return _line("BOOKMARK", {"metadata": {"resourceVersion": str(version)}})


def added_line(obj: Json) -> bytes:
    """Write the event that shows an object that was there before."""
    return _line("ADDED", obj)


def initial_events_end(version: int) -> bytes:
    """Write the bookmark that ends the initial events of a streamed list."""
    annotations = {"k8s.io/initial-events-end": "true"}
    metadata = {"resourceVersion": str(version), "annotations": annotations}
    return _line("BOOKMARK", {"metadata": metadata})
