"""Which binds are contested: only those say something about the protocol."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Callable, Collection
from enum import Enum

from simulation.invariants.kinds import Kind, Kinds, Spaces


class Contest(Enum):
    """How a bind was contested; the README says what that means."""

    NONE = "uncontested"
    BOUND = "contested"
    """By a pod that is on a node."""
    RACED = "raced"
    """By a pod that was in flight at the same time."""


class Contention:
    """Knows which pods are in flight, and which were until a moment ago."""

    def __init__(self, kinds: Kinds, clock: Callable[[], float]) -> None:
        self._kinds = kinds
        self._clock = clock
        self._flights: dict[str, tuple[Kind, float]] = {}
        """Kind and start by uid."""
        self._flying: Counter[Kind] = Counter()
        self._landed: dict[Kind, deque[tuple[str, float]]] = {}
        """Of each kind the last two pods that were in flight, and until when."""

    def begin(self, uid: str, kind: Kind) -> None:
        if uid not in self._flights:
            self._flights[uid] = kind, self._clock()
            self._flying[kind] += 1

    def end(self, uid: str) -> None:
        if uid not in self._flights:
            return
        kind, _ = self._flights.pop(uid)
        self._flying[kind] -= 1
        landed = self._landed.setdefault(kind, deque(maxlen=2))
        if landed and landed[-1][0] == uid:
            landed.pop()
        landed.append((uid, self._clock()))

    def of(
        self, uid: str, kind: Kind, sent: float, placed: Collection[Kind], spaces: Spaces
    ) -> Contest:
        """Judge a bind that is carried out now, and that left the extender at some moment.

        `placed` are the kinds of the other pods that are on nodes.
        """
        since = min(self._flights.get(uid, (kind, sent))[1], sent)
        flying = {*self._landed, *self._flying}
        if any(
            self._kinds.concern(kind, each, spaces) and self._flew(each, uid, since)
            for each in flying
        ):
            return Contest.RACED
        if any(self._kinds.concern(kind, each, spaces) for each in placed):
            return Contest.BOUND
        return Contest.NONE

    def _flew(self, kind: Kind, without: str, since: float) -> bool:
        own = without in self._flights and self._flights[without][0] is kind
        return self._flying[kind] > own or any(
            uid != without and until >= since for uid, until in self._landed.get(kind, ())
        )
