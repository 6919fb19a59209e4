"""What users do and what goes wrong, one thing at a time: when, what, and for how long."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from random import Random
from typing import Final

from simulation.evicting_plan import LEADER_FAULTS_LAST
from simulation.setbacks_plan import SETBACKS_LAST

LONGEST: Final = {**LEADER_FAULTS_LAST, **SETBACKS_LAST}


@dataclass(frozen=True, slots=True)
class Action:
    """One thing that users, operators or bad luck do."""

    at: float
    what: str
    seconds: float = 0.0
    """How long it lasts, where it does."""
    number: int = 0
    """What it is about: a seed of its own, so that leaving out other actions does not change it."""

    def __str__(self) -> str:
        lasting = f" for {self.seconds:.2f} s" if self.seconds else ""
        return f"{self.at:8.2f} s  {self.what}{lasting} ({self.number})"


_LASTING: Final = {
    "restart API server": (1.0, 20.0),
    "throttle": (1.0, 15.0),
    "lose answers": (1.0, 20.0),
    "unsure binds": (2.0, 30.0),
    "fail binds": (2.0, 20.0),
    "unsure evictions": (2.0, 30.0),
    "fail evictions": (2.0, 20.0),
    "forbid evictions": (1.0, 60.0),
    "cut scheduler from API server": (0.5, 10.0),
    "cut scheduler from extender": (0.5, 8.0),
    "cut extender from scheduler": (0.5, 8.0),
    "slow watches": (2.0, 30.0),
    "slow scheduler": (2.0, 30.0),
    "twin scheduler": (3.0, 30.0),
    "kill scheduler": (0.1, 3.0),
    "lead moves": (0.1, 20.0),
    "clock jumps": (-7200.0, 7200.0),
    "repeated events": (2.0, 40.0),
    "restore etcd": (3.0, 20.0),
}
"""Seconds that a fault lasts, from and to; of a clock, by how much it jumps."""

_LASTING_ONE_OF: Final = {
    "stall etcd": (1.0, 4.0, 8.0, 45.0),
    "cut extender from API server": (3.0, 10.0, 70.0),
    "cut API server from extender": (3.0, 10.0, 70.0, 260.0),
    "lagging server": (2.0, 10.0, 60.0),
    "kill extender": (0.05, 1.0, 10.0),
    "kill extender at a step": (0.05, 1.0),
}
"""Seconds that a fault lasts at most."""


def some_actions(
    chance: Random, weights: Mapping[str, int], count: int, start: float, end: float
) -> list[Action]:
    """Draw `count` actions of some kinds, by weight, at any time."""
    kinds = chance.choices([*weights], [*weights.values()], k=count)
    return [make_action(chance, kind, chance.uniform(start + 0.5, end)) for kind in kinds]


def make_action(chance: Random, kind: str, at: float) -> Action:
    """Draw one action of a kind."""
    seconds = 0.0
    if kind in _LASTING:
        seconds = chance.uniform(*_LASTING[kind])
    elif kind in _LASTING_ONE_OF:
        seconds = chance.choice(_LASTING_ONE_OF[kind]) * chance.random()
    elif kind in LONGEST:
        seconds = chance.choice(LONGEST[kind]) * chance.uniform(0.5, 1.0)
    return Action(round(at, 3), kind, round(seconds, 3), chance.randrange(1 << 24))
