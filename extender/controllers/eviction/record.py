"""What is remembered of a pod that breaks a rule, until it breaks none or is gone."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

from extender.cluster.audits.breaches import Breach
from extender.controllers.pausing import Pause
from extender.model.keys import Identity
from extender.verbs.evicting import Assessment, Ground, Outcome

FIRST_PAUSE_SECONDS: Final = 10.0


@dataclass(slots=True, eq=False)
class Record:
    """A pod that breaks rules."""

    identity: Identity
    since: float
    """When that began, as far as this replica knows; on the controller's clock."""
    since_epoch: float
    """The same in seconds since 1970."""
    breaches: Sequence[Breach]
    goes: bool = False
    """Whether it would be evicted, when it was judged last: those are counted by the brake."""
    outcome: Outcome = Outcome.GRACE
    ground: Ground | None = None
    """Why it goes or stays, when that was looked at last."""
    said: Outcome | None = None
    """Of which outcome an Event has told."""
    why: str = ""
    """What the API server said, if it was asked; or what spares the pod."""
    evicted_at: float | None = None
    pause: Pause = field(default_factory=lambda: Pause(FIRST_PAUSE_SECONDS))

    def take_over(self, found: Assessment) -> None:
        """Note what becomes of the pod, and why."""
        self.outcome, self.ground, self.why = found.outcome, found.ground, found.why
