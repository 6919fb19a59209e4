"""A brake for what hits too many pods at once, until it is undone or somebody says it is fine."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final

EVERYBODY: Final = 1.0
"""The share that no number of pods exceeds."""


@dataclass(frozen=True, slots=True)
class Pauses:
    """For whom evictions are paused."""

    all: bool = False
    namespaces: frozenset[str] = frozenset()
    """Those that have too many pods to go by themselves."""

    def hold(self, namespace: str) -> bool:
        """Return whether no pod of a namespace is evicted."""
        return self.all or namespace in self.namespaces


class Brake:
    """Pauses evictions while more than a share of all pods would have to go.

    What the owner of some namespaces does is not to stop the evictions of all others: with more
    than half of that number a namespace pauses by itself, and for the others all that are paused
    count as half together. A single pod is never too many: in a small cluster it may be a large
    share.
    """

    def __init__(self, share: float, pods: Callable[[], int]) -> None:
        """`pods` says how many there are in all."""
        self._share = share
        self._pods = pods
        self.pauses = Pauses()

    @property
    def allowed(self) -> int:
        """Return how many pods may have to go at a time."""
        return max(1, int(self._share * self._pods()))

    def allowed_of_one(self, acknowledged: int) -> int:
        """Return how many pods of one namespace may have to go at a time."""
        return max((self.allowed + 1) // 2, acknowledged)

    def look(self, going: Mapping[str, int], acknowledged: int) -> Pauses:
        """Take over how many pods have to go, by namespace, and how many are fine; return before.

        O(namespaces with pods that have to go).
        """
        before, self.pauses = self.pauses, self.judge(going, acknowledged)
        return before

    def judge(self, going: Mapping[str, int], acknowledged: int) -> Pauses:
        """Return for whom so many are too many."""
        if self._share >= EVERYBODY:
            return Pauses()
        one, half = self.allowed_of_one(acknowledged), self.allowed // 2
        over = frozenset(name for name, pods in going.items() if pods > one)
        others = sum(pods for name, pods in going.items() if name not in over)
        counted = others + (half if over else 0)
        return Pauses(counted > max(self.allowed, acknowledged), over)
