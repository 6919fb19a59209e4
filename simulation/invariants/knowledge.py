"""Since when changes may be unknown to extenders: those that their watches have not shown."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Mapping
from typing import Final

from simulation.apiserver.store import Change, Store

REMEMBERED_SECONDS: Final = 300.0
AROUND_SECONDS: Final = 8.0
"""What was unknown that long before or after a moment counts as unknown then."""


class Knowledge:
    """Compares how far watches have come with what was written.

    That a watch is silent says nothing of it: of some resources nothing changes for minutes.
    """

    def __init__(self, store: Store, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._changes: dict[str, deque[tuple[int, float]]] = {}
        """Version and time of what was written, by resource."""
        self._looks: deque[tuple[float, Mapping[str, float]]] = deque()
        """When somebody looked, and for how long changes of each resource had been unknown."""
        store.observers.append(self._take)

    def _take(self, change: Change) -> None:
        changes, now = self._changes.setdefault(change.resource, deque()), self._clock()
        changes.append((change.version, now))
        while changes[0][1] < now - REMEMBERED_SECONDS:
            changes.popleft()

    def look(self, extenders: Iterable[Mapping[str, int]]) -> None:
        """Note what is unknown now, given the version that each watch of each extender is at."""
        now, unknown = self._clock(), dict[str, float]()
        for versions in extenders:
            for resource, version in versions.items():
                since = self._unknown_since(resource, version)
                if since is not None:
                    unknown[resource] = max(now - since, unknown.get(resource, 0.0))
        self._looks.append((now, unknown))
        while self._looks[0][0] < now - REMEMBERED_SECONDS:
            self._looks.popleft()

    def _unknown_since(self, resource: str, version: int) -> float | None:
        since = None
        for changed, at in reversed(self._changes.get(resource, ())):
            if changed <= version:
                return since
            since = at
        # Of what came before these, nobody remembers when that was.
        return None if since is None else 0.0 if version == 0 else since

    def since(self, resource: str, at: float) -> float:
        """Return since when changes of a resource may have been unknown at a moment."""
        longest = 0.0
        # The last are the nearest: nobody asks for what was minutes ago.
        for when, unknown in reversed(self._looks):
            if when <= at - AROUND_SECONDS:
                break
            if when < at + AROUND_SECONDS:
                longest = max(longest, unknown.get(resource, 0.0))
        return at - longest
