"""A brake for what hits too many pods at once, until it is undone or somebody says it is fine."""

from __future__ import annotations

from collections.abc import Callable


class Brake:
    """Pauses evictions while more than a share of all pods break rules.

    A single pod never does: in a small cluster it may be a large share.
    """

    def __init__(self, share: float, pods: Callable[[], int]) -> None:
        """`pods` says how many there are in all."""
        self._share = share
        self._pods = pods
        self.paused = False

    @property
    def allowed(self) -> int:
        """Return how many pods may break rules at a time."""
        return max(1, int(self._share * self._pods()))

    def look(self, affected: int, acknowledged: int) -> bool:
        """Take over how many pods break rules now, and how many are fine; return on a change."""
        before, self.paused = self.paused, self.exceeds(affected, acknowledged)
        return self.paused is not before

    def exceeds(self, affected: int, acknowledged: int) -> bool:
        """Return whether so many are too many."""
        return affected > max(self.allowed, acknowledged)
