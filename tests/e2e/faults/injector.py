"""Which faults come when, drawn from a seed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from tests.e2e.faults.proxy import Failing, Mode

if TYPE_CHECKING:
    from collections.abc import Iterator
    from random import Random

API_SERVER, EXTENDER, SCHEDULER = "API server", "extender", "scheduler"
CONTROLLERS, ETCD = "controller manager", "etcd"

HOPS: Final = (f"extender to {API_SERVER}", f"scheduler to {EXTENDER}")
"""Between the extender and the API server, and between the scheduler and the extender."""
KILLED: Final = (EXTENDER, SCHEDULER, API_SERVER, CONTROLLERS, ETCD)
PAUSED: Final = (EXTENDER, SCHEDULER, API_SERVER, CONTROLLERS, ETCD)
OUTLASTING_LEASES: Final = (EXTENDER, SCHEDULER, API_SERVER)

KILL, PAUSE = "SIGKILL", "SIGSTOP"
COMPACTION, NO_SPACE, RESTORE = "compaction", "no space (alarm)", "restore of a backup"
JUMP = "clock jumps"

_CALM_S = (2.0, 7.0)
"""Between two faults: what nothing is bound or evicted in is no test."""
_BESIDE = 0.3
"""How often a hop fails while something else does."""


@dataclass(frozen=True, slots=True)
class Fault:
    """One thing that goes wrong for a while."""

    kind: str
    where: str
    seconds: float
    failing: Failing | None = None
    """How a hop fails."""
    jump: float = 0.0
    """Seconds by which a clock is off from now on."""
    beside: Fault | None = None
    """What fails as long, at the same time."""
    pause: float = 0.0
    """Seconds of calm after it."""

    @property
    def name(self) -> str:
        return f"{self.kind}: {self.where}"


def faults(
    random: Random, *, brief: bool = False, clock: bool = True, only: str = ""
) -> Iterator[Fault]:
    """Draw faults without an end: all kinds in some order, then all of them in another order.

    `brief` leaves out those that take longest; without `clock` none jumps. `only` is part of
    the names of those that are wanted; ValueError where none has it.
    """
    while True:
        deck = [each for each in _deck(random, brief=brief, clock=clock) if only in each.name]
        if not deck:
            raise ValueError(f"no fault has {only!r} in its name")
        random.shuffle(deck)
        yield from deck


def _deck(random: Random, *, brief: bool, clock: bool) -> Iterator[Fault]:
    for where in HOPS:
        for mode in Mode:
            yield _of_hop(random, mode, where)
    for where in KILLED:
        yield _with(random, KILL, where, random.uniform(0.5, 3.0))
    for where in PAUSED:
        long = where in OUTLASTING_LEASES and not brief
        seconds = random.uniform(16.0, 20.0) if long else random.uniform(3.0, 8.0)
        yield _with(random, PAUSE, where, seconds)
    yield _with(random, COMPACTION, ETCD, 0.5)
    yield _with(random, COMPACTION, ETCD, 0.5)
    yield _with(random, NO_SPACE, ETCD, random.uniform(3.0, 8.0))
    if not brief:
        yield _with(random, RESTORE, ETCD, random.uniform(2.0, 8.0))
    if clock:
        for sign in (-1, 1):
            jump = sign * 10 ** random.uniform(1.0, 5.0)
            yield _with(random, JUMP, EXTENDER, 2.0, jump)


def _with(random: Random, kind: str, where: str, seconds: float, jump: float = 0.0) -> Fault:
    beside = None
    if random.random() < _BESIDE:
        beside = _of_hop(random, random.choice([*Mode]), random.choice(HOPS))
    pause = random.uniform(*_CALM_S)
    return Fault(kind, where, seconds, jump=jump, beside=beside, pause=pause)


def _of_hop(random: Random, mode: Mode, where: str) -> Fault:
    seconds = {
        Mode.LATENCY: 10 ** random.uniform(-2.0, 0.3),
        Mode.SLICES: 10 ** random.uniform(-4.0, -2.5),
        Mode.LATE: random.uniform(1.0, 20.0),
    }.get(mode, 0.0)
    share = random.uniform(0.2, 1.0)
    lasts, pause = random.uniform(2.0, 6.0), random.uniform(*_CALM_S)
    return Fault(mode.value, where, lasts, Failing(mode, seconds, share), pause=pause)
