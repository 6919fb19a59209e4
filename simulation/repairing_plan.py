"""Runs in which pods come to sit worse than they have to by preferred rules, and are moved."""

from __future__ import annotations

from dataclasses import dataclass
from random import Random
from typing import Final

from simulation.evicting_plan import EVICTING_FAULTS
from simulation.themes import FAULTS

REPAIRING: Final = 0.05
"""How many of the runs of minutes are of that kind."""
REPAIRING_NODES: Final = (4, 6, 9)
BUSY_SECONDS: Final = (60.0, 300.0)
"""Of an episode; in the pause that follows, what it has left is repaired."""
PAUSE_SECONDS: Final = (120.0, 800.0)
QUIET_SECONDS: Final = 700.0
"""Between the last episode and the calm: a fault may last for 260 s, and then pods are moved."""


@dataclass(frozen=True, slots=True)
class Repairing:
    """How the extender is set up to move pods."""

    settle: float
    rest: float
    min_gain: int
    per_minute: int
    """Evictions for whatever rules; repair takes half of them."""
    percent: int
    """Of all pods, that may be moved within an hour."""
    assists: bool
    """Whether the scheduler binds, and the extender only scores."""


REPAIRING_USERS: Final = {
    "preferring workload": 8,
    "workload that stays": 2,
    "zone fails": 8,
    "node fails": 8,
    "node is replaced": 4,
    "disks change": 6,
    "disks change for a moment": 4,
    "budget changes": 3,
    "delete pods": 8,
    "scale": 6,
    "cordon": 4,
    "relabel node": 3,
    "add node": 1,
    "drain": 2,
    "roll out again": 2,
    "delete workload": 1,
}
"""What users do there, by weight."""

REPAIRING_FAULTS: Final = {**FAULTS, **EVICTING_FAULTS}


def draw(chance: Random) -> Repairing:
    return Repairing(
        settle=chance.choice((5.0, 15.0, 30.0, 60.0)),
        rest=chance.choice((5.0, 10.0, 20.0, 40.0)),
        min_gain=chance.choice((1, 1, 10, 60)),
        per_minute=chance.choice((1, 4, 10, 30)),
        percent=chance.choice((15, 60, 100, 100)),
        assists=chance.random() < 0.4,
    )
