"""When actions start."""

from __future__ import annotations

import asyncio
import random
from typing import TYPE_CHECKING

import pytest

from clusterload.durations import Duration
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
from clusterload.tuning import Pacing, starts
from tests.kube.rig import VirtualTime

if TYPE_CHECKING:
    from clusterload.tuning import TimedLoad


class NoChance(random.Random):
    """Draws the middle each time."""

    def random(self) -> float:
        return 0.5


@pytest.mark.parametrize(
    ("load", "moments"),
    [
        pytest.param(QPSLoad(qps=10), [0, 0.1, 0.2, 0.3], id="a steady rate"),
        pytest.param(
            TimeLimitedLoad(time_limit=Duration(8)), [0, 2, 4, 6], id="spread over a time"
        ),
        pytest.param(
            SteppedLoad(burst_size=2, step_delay=Duration(5)), [0, 0, 5, 5], id="in bursts"
        ),
        pytest.param(
            RandomizedLoad(average_qps=10), [0, 0.1, 0.2, 0.3], id="pauses of twice half the mean"
        ),
        pytest.param(
            PoissonLoad(expected_actions_per_second=10),
            [0, 0.0693, 0.1386, 0.2079],
            id="the median of an exponential distribution is ln 2 of its mean",
        ),
        pytest.param(
            RandomizedTimeLimitedLoad(time_limit=Duration(8)), [4, 4, 4, 4], id="anywhere in a time"
        ),
    ],
)
def test_moments(load: TimedLoad, moments: list[float]) -> None:
    assert starts(load, 4, NoChance()) == pytest.approx(moments, abs=1e-4)
    assert starts(load, 0, NoChance()) == []


@pytest.mark.parametrize(
    "load", [RandomizedLoad(average_qps=100), PoissonLoad(expected_actions_per_second=100)]
)
def test_random_rates_keep_their_mean(load: TimedLoad) -> None:
    moments = starts(load, 10_001, random.Random(1))

    assert moments == sorted(moments)
    assert moments[-1] == pytest.approx(100, rel=0.05)


def test_random_moments_stay_inside_their_time() -> None:
    load = RandomizedTimeLimitedLoad(time_limit=Duration(8))
    moments = starts(load, 1000, random.Random(1))

    assert moments == sorted(moments)
    assert 0 <= moments[0] < moments[-1] < 8


class Clock(VirtualTime):
    """Lets everything run that is due before it moves."""

    async def sleep(self, seconds: float) -> None:
        """Let others run, who may take longer than the sleep."""
        end = self.now + seconds
        for _ in range(5):
            await asyncio.sleep(0)
        self.now = max(self.now, end)


class Actions:
    """Actions that note when they start and how many run at once."""

    def __init__(self, time: Clock) -> None:
        self.started: list[float] = []
        self.most_at_once = 0
        self._time = time
        self._running = 0

    async def act(self) -> None:
        """Start, let others start, end."""
        self.started.append(self._time.now)
        self._running += 1
        self.most_at_once = max(self.most_at_once, self._running)
        for _ in range(3):
            await asyncio.sleep(0)
        self._running -= 1


def pacing(time: Clock, tuning_set: TuningSet) -> Pacing:
    return Pacing([tuning_set], random.Random(1), time.timing)


async def test_a_timed_set_starts_each_action_at_its_moment() -> None:
    time = Clock(now=0.0)
    actions = Actions(time)

    await pacing(time, TuningSet(name="a", qps_load=QPSLoad(qps=2))).run("a", [actions.act] * 3)

    assert actions.started == pytest.approx([0, 0.5, 1.0])


async def test_a_late_start_does_not_delay_the_next() -> None:
    time = Clock(now=0.0)
    started: list[float] = []

    async def slow() -> None:
        started.append(time.now)
        time.now += 0.7  # the whole process hangs

    await pacing(time, TuningSet(name="a", qps_load=QPSLoad(qps=2))).run("a", [slow] * 3)

    assert started == pytest.approx([0, 0.7, 1.4])


async def test_no_more_run_at_once_than_the_limit() -> None:
    time = Clock()
    actions = Actions(time)
    limit = ParallelismLimitedLoad(parallelism_limit=3)

    await pacing(time, TuningSet(name="a", parallelism_limited_load=limit)).run(
        "a", [actions.act] * 10
    )

    assert len(actions.started) == 10
    assert actions.most_at_once == 3


async def test_a_global_set_is_shared_by_its_users() -> None:
    time = Clock(now=0.0)
    actions = Actions(time)
    load = GlobalQPSLoad(qps=10, burst=2)
    shared = pacing(time, TuningSet(name="a", global_qps_load=load))

    await shared.run("a", [actions.act] * 2)  # the burst
    await shared.run("a", [actions.act] * 2)

    assert actions.started == pytest.approx([0, 0, 0.1, 0.2])
