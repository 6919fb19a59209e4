"""Runs in which running pods come to break rules that hold during execution, and are evicted."""

from __future__ import annotations

from dataclasses import dataclass
from random import Random
from typing import Final

from simulation.setbacks_plan import SETBACKS

EVICTING: Final = 0.1
"""How many of the runs of minutes are of that kind."""
EVICTING_NODES: Final = (4, 6, 9)
EVICTING_SECONDS: Final = (60.0, 180.0)
"""Until the calm begins: a Lease that nobody renews is taken after 15 s."""


@dataclass(frozen=True, slots=True)
class Evicting:
    """How the extender is set up to evict."""

    grace: float
    """Seconds."""
    per_minute: int
    percent: int
    """Of all pods that may be affected."""
    dry_run: bool


EVICTING_USERS: Final = {
    "movable workload": 12,
    "bare movable pod": 2,
    "rival by hand": 6,
    "disks change": 16,
    "disks change for a moment": 8,
    "most disks change": 3,
    "model changes": 8,
    "budget changes": 5,
    "acknowledge": 3,
    "relabel namespace": 5,
    "relabel node": 10,
    "delete pods": 3,
    "scale": 3,
    "cordon": 3,
    "add node": 1,
    "delete workload": 1,
    "urgent pods": 1,
}
"""What users do there, by weight."""

LEADER_FAULTS: Final = {
    "kill leader": 5,
    "pause leader": 6,
    "cut leader off": 6,
    "cut off what leader hears": 2,
}
"""What goes wrong with the extender that evicts, by weight."""

EVICTING_FAULTS: Final = {
    **LEADER_FAULTS,
    **SETBACKS,
    "kill extender": 2,
    "kill extender at a step": 4,
    "kill scheduler": 1,
    "restart API server": 1,
    "close watches": 1,
    "reset connections": 2,
    "compact": 1,
    "stall etcd": 3,
    "throttle": 1,
    "lose answers": 3,
    "unsure evictions": 3,
    "fail evictions": 3,
    "forbid evictions": 1,
    "slow watches": 2,
    "clock jumps": 1,
    "lead moves": 1,
    "lagging server": 2,
    "repeated events": 1,
}

LEADER_FAULTS_LAST: Final = {
    "kill leader": (0.1, 1.0, 30.0),
    "pause leader": (3.0, 12.0, 20.0, 45.0),
    "cut leader off": (3.0, 12.0, 20.0, 45.0),
    "cut off what leader hears": (3.0, 12.0, 45.0),
}
"""Seconds at most: before the lead is in doubt, while it is, and until another has taken it."""


def draw(chance: Random) -> Evicting:
    return Evicting(
        grace=chance.choice((0.0, 1.0, 5.0, 15.0)),
        per_minute=chance.choice((1, 2, 4, 30)),
        percent=chance.choice((15, 40, 100, 100)),
        dry_run=chance.random() < 0.1,
    )
