"""What is going to happen in a run: made from its seed alone, and made smaller when it fails."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from random import Random
from typing import Final

CALM_SECONDS: Final = 330.0
"""After the last fault: longer than an unclear bind keeps its place, and a refused pod its peace."""
CALM_ENDS_WITH: Final = 40.0
"""Seconds at the end in which nothing may be left waiting that has a place."""


@dataclass(frozen=True, slots=True)
class Setup:
    """The cluster at the start."""

    nodes: int
    zones: int
    cpu: int
    workloads: int
    streams_lists: bool
    page: int
    least_sampled: int
    schedulers: int
    cache_lag: float
    network: float
    """Usual delay of a message in seconds."""


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


@dataclass(frozen=True, slots=True)
class Plan:
    """A whole run."""

    seed: int
    setup: Setup
    actions: tuple[Action, ...]
    busy: float
    """Seconds until the calm begins."""


USERS: Final = {
    "new workload": 12,
    "scale": 10,
    "roll out": 6,
    "delete workload": 3,
    "burst of pods": 6,
    "delete pods": 6,
    "recreate by name": 3,
    "place by hand": 2,
    "urgent pods": 3,
    "relabel node": 1,
    "relabel namespace": 1,
    "cordon": 1,
    "add node": 1,
    "remove node": 1,
    "drain": 1,
}
"""What users do, by weight."""

FAULTS: Final = {
    "kill extender": 3,
    "kill extender at a step": 4,
    "kill scheduler": 1,
    "twin scheduler": 1,
    "restart API server": 1,
    "close watches": 2,
    "reset connections": 2,
    "compact": 2,
    "stall etcd": 3,
    "throttle": 1,
    "lose answers": 3,
    "unsure binds": 4,
    "fail binds": 2,
    "cut extender from API server": 2,
    "cut API server from extender": 2,
    "cut scheduler from API server": 1,
    "cut scheduler from extender": 2,
    "cut extender from scheduler": 2,
    "slow watches": 2,
    "slow scheduler": 1,
    "clock jumps": 1,
}
"""What goes wrong, by weight."""

_LASTING: Final[dict[str, Callable[[Random], float]]] = {
    "restart API server": lambda chance: chance.uniform(1.0, 20.0),
    "stall etcd": lambda chance: chance.choice((1.0, 4.0, 8.0, 45.0)) * chance.random(),
    "throttle": lambda chance: chance.uniform(1.0, 15.0),
    "lose answers": lambda chance: chance.uniform(1.0, 20.0),
    "unsure binds": lambda chance: chance.uniform(2.0, 30.0),
    "fail binds": lambda chance: chance.uniform(2.0, 20.0),
    "cut extender from API server": lambda chance: chance.choice((3.0, 10.0, 70.0)) * chance.random(),
    "cut API server from extender": lambda chance: chance.choice((3.0, 10.0, 70.0, 260.0)) * chance.random(),
    "cut scheduler from API server": lambda chance: chance.uniform(0.5, 10.0),
    "cut scheduler from extender": lambda chance: chance.uniform(0.5, 8.0),
    "cut extender from scheduler": lambda chance: chance.uniform(0.5, 8.0),
    "slow watches": lambda chance: chance.uniform(2.0, 30.0),
    "slow scheduler": lambda chance: chance.uniform(2.0, 30.0),
    "twin scheduler": lambda chance: chance.uniform(3.0, 30.0),
    "kill extender": lambda chance: chance.choice((0.05, 1.0, 10.0)),
    "kill extender at a step": lambda chance: chance.choice((0.05, 1.0)),
    "kill scheduler": lambda chance: chance.uniform(0.1, 3.0),
    "clock jumps": lambda chance: chance.uniform(-7200.0, 7200.0),
}  # fmt: skip


def make_plan(seed: int) -> Plan:
    """Draw a run from its seed."""
    chance = Random(f"plan {seed}")
    setup = Setup(
        nodes=chance.choice((3, 4, 6, 9, 12, 20, 40)),
        zones=chance.choice((1, 2, 3, 4)),
        cpu=chance.choice((2, 4, 16)),
        workloads=chance.randint(1, 8),
        streams_lists=chance.random() < 0.6,
        page=chance.choice((3, 20, 500)),
        least_sampled=chance.choice((2, 5, 100)),
        schedulers=chance.choice((1, 1, 2)),
        cache_lag=chance.choice((0.0005, 0.005, 0.1)),
        network=chance.choice((0.0003, 0.002, 0.01)),
    )
    busy = chance.uniform(20.0, 120.0)
    actions = _some(chance, USERS, chance.randint(6, 40), busy)
    if chance.random() < 0.9:
        actions += _some(chance, FAULTS, chance.randint(1, 14), busy)
    if chance.random() < 0.3:
        actions += _storm(chance, busy)
    return Plan(seed, setup, tuple(sorted(actions, key=lambda each: (each.at, each.number))), busy)


def _some(chance: Random, weights: dict[str, int], count: int, busy: float) -> list[Action]:
    kinds = chance.choices([*weights], [*weights.values()], k=count)
    return [_action(chance, kind, chance.uniform(0.5, busy)) for kind in kinds]


def _storm(chance: Random, busy: float) -> list[Action]:
    """Everything at once."""
    start = chance.uniform(1.0, busy)
    kinds = chance.choices([*FAULTS], k=chance.randint(3, 8))
    return [_action(chance, kind, start + 2.0 * chance.random()) for kind in kinds]


def _action(chance: Random, kind: str, at: float) -> Action:
    seconds = _LASTING[kind](chance) if kind in _LASTING else 0.0
    return Action(round(at, 3), kind, round(seconds, 3), chance.randrange(1 << 24))
