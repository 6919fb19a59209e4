"""Pods that wait in the scheduling queue."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from simulation.loop import now
from simulation.scheduler.objects import PodInfo

FIRST_BACKOFF: Final = 1.0
LONGEST_BACKOFF: Final = 10.0


@dataclass(slots=True, eq=False)
class Queued:
    """A pod that waits, and how it has fared."""

    pod: PodInfo
    since: float
    attempts: int = 0
    failed_at: float = 0.0
    after_error: bool = False
    by_extender: bool = True
    """Whether the extender refused it: then anything that happens may be of use."""
    ready_at: float = 0.0
    """When its back-off is over."""

    @property
    def priority(self) -> int:
        return self.pod.priority

    @property
    def name(self) -> str:
        return self.pod.uid

    def fail(self, *, error: bool, by_extender: bool) -> None:
        self.attempts += 1
        self.failed_at, self.after_error, self.by_extender = now(), error, by_extender
        self.ready_at = self.failed_at + back_off(self.attempts, LONGEST_BACKOFF)


def back_off(attempts: int, longest: float) -> float:
    doubled: float = FIRST_BACKOFF * 2.0 ** min(attempts - 1, 10)
    return min(doubled, longest)
