"""Nodes in the order of their victims, shared by pods that have the same prospects."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable
from dataclasses import dataclass, field
from heapq import heappop, heappush, nsmallest
from typing import TypeAlias

from extender.model import memory
from extender.model.lru_cache import LruCache
from extender.verbs.ranking import Rank

SHARED_SECONDS = 1.0
"""How long a ranking serves other pods. The scheduler takes a snapshot for each pod; what became
worse since is noticed when it is taken, and what became better is when the ranking is over."""
MOST_RANKED = 1024
"""Nodes that are kept, the best ones: as many pods as may have others evicted at a time, twice."""
PER_NODE = 512
"""Bytes of a node in a ranking."""

Badness: TypeAlias = tuple[bool, bool, Rank]
"""The lowest is taken."""
Entry: TypeAlias = tuple[Badness, int, str]
"""How bad a node is, where it came in the search (the first of equal ones is taken), its name."""


@dataclass(slots=True, eq=False)
class Ranking:
    """Nodes that are left to be taken, a heap, as they were when they were looked at."""

    left: list[Entry]
    until: float
    takers: set[str] = field(default_factory=set)
    """The uids of the pods that have taken a node: for them, it is over."""

    def best(self) -> Entry | None:
        """Remove and return the best node that is left."""
        return heappop(self.left) if self.left else None

    def beats(self, badness: Badness) -> bool:
        """Return whether a node is left that is better than this."""
        return bool(self.left) and self.left[0][0] < badness

    def put_back(self, entry: Entry) -> None:
        """Add a node, as it was found to be by now."""
        heappush(self.left, entry)


class Rankings:
    """The latest rankings, by what is the same for all pods that share one; bounded in bytes."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._known: LruCache[Hashable, Ranking] = LruCache(memory.RANKINGS)

    def get(self, key: Hashable, uid: str) -> Ranking | None:
        """Return a ranking that may serve a pod."""
        known = self._known.get(key)
        if known is None or uid in known.takers:
            return None
        if self._clock() >= known.until:
            self._known.pop(key)
            return None
        return known

    def put(self, key: Hashable, size: int, found: Iterable[Entry]) -> Ranking:
        """Keep what a search has found; `size` is that of the key, in bytes."""
        left = nsmallest(MOST_RANKED, found)
        ranking = Ranking(left, self._clock() + SHARED_SECONDS)
        self._known.put(key, ranking, size + PER_NODE * len(left))
        return ranking
