"""What evicts pods for their rules, and what becomes of that."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from typing import Protocol

from extender.core.model.objects import Pod
from extender.core.ports import ClusterReader, Occurrence


class Evicted(Enum):
    """What became of an eviction."""

    DONE = "done"
    GONE = "gone"
    """There is no such pod any more, or it is on its way out; maybe by this very request."""
    CHANGED = "changed"
    """It was changed a moment ago, and is there."""
    REFUSED = "refused"
    """A disruption budget does not allow it now."""
    NOT_SENT = "notSent"
    """There was no time left for it, or it was not to be sent any more."""


@dataclass(frozen=True, slots=True)
class Eviction:
    """What became of an eviction, and why it was refused."""

    became: Evicted
    why: str = ""
    retry_after: float | None = None
    """Seconds that the API server asks for before the next try."""


class PodMover(Protocol):
    """Evicts pods by the Eviction API, which keeps to disruption budgets."""

    @property
    def objects(self) -> ClusterReader:
        """Return what tells how things are right before that."""

    async def evict(
        self, pod: Pod, *, version: str, dry_run: bool, may_go: Callable[[], bool]
    ) -> Eviction:
        """Evict the very pod that was seen; `may_go` is asked at the last moment before it."""

    async def report(self, pod: Pod | None, occurrence: Occurrence) -> None:
        """Write an Event about a pod, or without one about the Lease."""
