"""Tuning sets: when the actions of a phase are started."""

from __future__ import annotations

import asyncio
import itertools
import math
from collections.abc import Awaitable, Callable, Iterator, Sequence
from typing import TYPE_CHECKING

from clusterload.schema import (
    GlobalQPSLoad,
    ParallelismLimitedLoad,
    PoissonLoad,
    QPSLoad,
    RandomizedLoad,
    RandomizedTimeLimitedLoad,
    SteppedLoad,
    TimeLimitedLoad,
    TuningSet,
)
from extender.core.kube.pacing import Timing

if TYPE_CHECKING:
    import random

Action = Callable[[], Awaitable[None]]
TimedLoad = (
    QPSLoad
    | RandomizedLoad
    | SteppedLoad
    | TimeLimitedLoad
    | RandomizedTimeLimitedLoad
    | PoissonLoad
)


def starts(load: TimedLoad, count: int, chance: random.Random) -> list[float]:
    """Return when each of `count` actions starts, in seconds from the beginning, in order."""
    match load:
        case QPSLoad(qps=rate):
            return [index / rate for index in range(count)]
        case TimeLimitedLoad(time_limit=limit):
            return [limit.seconds * index / count for index in range(count)]
        case SteppedLoad(burst_size=size, step_delay=delay):
            return [delay.seconds * (index // size) for index in range(count)]
        case RandomizedLoad(average_qps=rate):
            return _after_pauses(count, lambda: chance.random() * 2 / rate)
        case PoissonLoad(expected_actions_per_second=rate):
            return _after_pauses(count, lambda: -math.log(1 - chance.random()) / rate)
        case RandomizedTimeLimitedLoad(time_limit=limit):
            return sorted(chance.random() * limit.seconds for _ in range(count))


def _after_pauses(count: int, pause: Callable[[], float]) -> list[float]:
    return list(itertools.accumulate((pause() for _ in range(count - 1)), initial=0.0))[:count]


class RateLimit:
    """Lets `burst` actions go at once, and `qps` a second after that, first come first served."""

    def __init__(self, qps: float, burst: int, timing: Timing) -> None:
        self._apart = 1.0 / qps
        self._ahead = (burst - 1) * self._apart
        self._timing = timing
        self._next = -math.inf
        """When the next one may go if none was left out; earlier by `_ahead` is early enough."""

    async def admit(self) -> None:
        now = self._timing.clock()
        self._next = max(self._next, now - self._ahead)
        seconds = self._next - now
        self._next += self._apart
        if seconds > 0.0:
            await self._timing.sleep(seconds)


class Pacing:
    """The tuning sets of a test. A global one is shared by all phases that name it."""

    def __init__(
        self,
        tuning_sets: Sequence[TuningSet],
        chance: random.Random,
        timing: Timing | None = None,
    ) -> None:
        self._loads = {each.name: _load(each) for each in tuning_sets}
        self._timing = timing or Timing()
        self._chance = chance
        self._limits = {
            name: RateLimit(load.qps, load.burst, self._timing)
            for name, load in self._loads.items()
            if isinstance(load, GlobalQPSLoad)
        }

    async def run(self, name: str, actions: Sequence[Action]) -> None:
        """Start each action when the tuning set says, and return when the last has ended."""
        match self._loads[name]:
            case GlobalQPSLoad():
                await self._limited(self._limits[name], actions)
            case ParallelismLimitedLoad(parallelism_limit=limit):
                rest = iter(actions)
                async with asyncio.TaskGroup() as workers:
                    for _ in range(min(limit, len(actions))):
                        workers.create_task(_work(rest))
            case load:
                await self._timed(starts(load, len(actions), self._chance), actions)

    async def _limited(self, limit: RateLimit, actions: Sequence[Action]) -> None:
        async with asyncio.TaskGroup() as running:
            for action in actions:
                await limit.admit()
                running.create_task(_call(action))

    async def _timed(self, moments: Sequence[float], actions: Sequence[Action]) -> None:
        begin = self._timing.clock()
        async with asyncio.TaskGroup() as running:
            for moment, action in zip(moments, actions, strict=True):
                # Even when it is late already: others have to run as well.
                await self._timing.sleep(max(begin + moment - self._timing.clock(), 0.0))
                running.create_task(_call(action))


def _load(tuning_set: TuningSet) -> TimedLoad | GlobalQPSLoad | ParallelismLimitedLoad:
    loads = (
        tuning_set.qps_load,
        tuning_set.randomized_load,
        tuning_set.stepped_load,
        tuning_set.time_limited_load,
        tuning_set.randomized_time_limited_load,
        tuning_set.parallelism_limited_load,
        tuning_set.global_qps_load,
        tuning_set.poisson_load,
    )
    return next(each for each in loads if each is not None)


async def _work(rest: Iterator[Action]) -> None:
    for action in rest:
        await action()


async def _call(action: Action) -> None:
    await action()
