"""How a bind ended."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum


class BindOutcome(Enum):
    """What became of a bind at the API server."""

    BOUND = "bound"
    REFUSED = "refused"
    """The pod is certainly not on that node, and will not be."""
    UNCLEAR = "unclear"
    """It may be or may come to be there: only the watch, or time, can tell."""


@dataclass(frozen=True, slots=True)
class Bound:
    """An outcome, and in words why it is not success."""

    outcome: BindOutcome
    why: str = ""
