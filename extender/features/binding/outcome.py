"""What became of a bind."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum


class BindOutcome(Enum):
    BOUND = "bound"
    REFUSED = "refused"
    """This bind has not put the pod on that node, and will not. It says nothing of earlier ones."""
    INDETERMINATE = "unclear"
    """It may be or may come to be there: only the watch, or time, can tell."""
    ELSEWHERE = "elsewhere"
    """The pod is on another node, and so no bind of it can succeed any more."""
    GONE = "gone"
    """There is no such pod any more, and so no bind of it can succeed."""


@dataclass(frozen=True, slots=True)
class Bound:
    """An outcome, and in words why it is not success."""

    outcome: BindOutcome
    why: str = ""
    elsewhere: str | None = None
    """Where the pod is, with that outcome."""
