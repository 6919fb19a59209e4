"""What is remembered of a pod that breaks a rule, until it breaks none or is gone."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

from extender.cluster.audits.breaches import Breach
from extender.model.keys import Identity
from extender.verbs.evicting import Assessment, Ground, Outcome

FIRST_PAUSE_SECONDS: Final = 10.0
LONGEST_PAUSE_SECONDS: Final = 300.0


@dataclass(slots=True, eq=False)
class Pause:
    """Leaves something alone, each time for longer."""

    until: float = 0.0
    _seconds: float = FIRST_PAUSE_SECONDS

    def begin(self, now: float, at_least: float = 0.0) -> None:
        """Leave it alone from now on."""
        self.until = now + max(self._seconds, at_least)
        self._seconds = min(2 * self._seconds, LONGEST_PAUSE_SECONDS)


@dataclass(slots=True, eq=False)
class Record:
    """A pod that breaks rules."""

    identity: Identity
    since: float
    """When that began, as far as this replica knows; on the controller's clock."""
    since_epoch: float
    """The same in seconds since 1970."""
    breaches: Sequence[Breach]
    outcome: Outcome = Outcome.GRACE
    ground: Ground | None = None
    """Why it goes or stays, when that was looked at last."""
    said: Outcome | None = None
    """Of which outcome an Event has told."""
    why: str = ""
    """What the API server said, if it was asked."""
    evicted_at: float | None = None
    pause: Pause = field(default_factory=Pause)

    def take_over(self, found: Assessment) -> None:
        """Note what becomes of the pod, and why."""
        self.outcome, self.ground = found.outcome, found.ground
