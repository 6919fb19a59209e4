"""Runs in which workloads are scaled down, and costs say which of their pods go."""

from __future__ import annotations

from dataclasses import dataclass
from random import Random
from typing import Final

from simulation.evicting_plan import EVICTING_FAULTS
from simulation.themes import FAULTS

SCALING: Final = "scale-down"
SCALED: Final = 0.05
"""How many of the runs of minutes are of that kind."""
SCALING_NODES: Final = (4, 6, 9, 12)
BUSY_SECONDS: Final = (30.0, 120.0)
"""Of an episode; in the pause that follows, costs come to be in order."""
PAUSE_SECONDS: Final = (150.0, 400.0)


@dataclass(frozen=True, slots=True)
class Scaling:
    """How the extender is set up to give costs."""

    settle: float
    per_minute: int
    """Patches; of one namespace half as many."""
    assists: bool
    """Whether the scheduler binds, so that all costs come by patches."""


SCALING_USERS: Final = {
    "spread workload": 6,
    "scale": 14,
    "edit a cost": 3,
    "take costs away": 3,
    "forge a cost": 2,
    "delete pods": 6,
    "relabel node": 5,
    "cordon": 3,
    "add node": 1,
    "drain": 2,
    "remove node": 1,
    "roll out once more": 2,
    "delete workload": 1,
}
"""What users do there, by weight."""

SCALING_FAULTS: Final = {**FAULTS, **EVICTING_FAULTS}


def draw(chance: Random) -> Scaling:
    return Scaling(
        settle=chance.choice((1.0, 5.0, 15.0, 60.0)),
        per_minute=chance.choice((2, 5, 10, 30, 60, 120)),
        assists=chance.random() < 0.4,
    )
