"""Backing off, and keeping quiet about what repeats."""

from __future__ import annotations

import asyncio
import logging

import pytest

from clusterload.tuning import RateLimit
from extender.core.kube.observers import RepeatingLog
from extender.core.kube.pacing import Backoff, Timing
from tests.kube.rig import VirtualTime


@pytest.mark.parametrize(
    ("chance", "delays"),
    [
        pytest.param(0.0, [0.8, 1.6, 2.5, 2.5], id="at the least"),
        pytest.param(0.5, [1.2, 2.4, 3.75, 3.75], id="half way"),
    ],
)
def test_delays_double_up_to_a_cap_and_spread_up_to_twice(
    chance: float, delays: list[float]
) -> None:
    backoff = Backoff(Timing(clock=lambda: 0.0, chance=lambda: chance))
    assert [backoff.delay() for _ in delays] == pytest.approx(delays)


@pytest.mark.parametrize(
    ("pause", "delay"),
    [
        pytest.param(120.0, 1.6, id="two minutes are not calm enough"),
        pytest.param(120.1, 0.8, id="after more than two minutes all is forgotten"),
    ],
)
def test_calm_forgets_failures(pause: float, delay: float) -> None:
    time = VirtualTime()
    backoff = Backoff(time.timing)
    backoff.delay()
    time.now += pause
    assert backoff.delay() == delay


@pytest.mark.parametrize(
    ("asked", "delay"),
    [
        pytest.param(None, 0.8, id="nothing asked"),
        pytest.param(0.1, 0.8, id="less asked than we wait anyway"),
        pytest.param(17.0, 17.0, id="more asked"),
        pytest.param(86400.0, 32.0, id="a day asked"),
    ],
)
async def test_wait_is_never_shorter_than_the_server_asked(
    asked: float | None, delay: float
) -> None:
    time = VirtualTime()
    await Backoff(time.timing).wait(asked)
    assert time.slept == [delay]


def test_repeated_lines_are_held_back_for_a_minute(caplog: pytest.LogCaptureFixture) -> None:
    time = VirtualTime()
    log = RepeatingLog(logging.getLogger("quiet"), "pods", time.timing.clock)
    caplog.set_level(logging.INFO, "quiet")
    log.recovered("never said, nothing was wrong")
    for seconds, what in [
        (0, "refused"),
        (1, "refused"),
        (58, "refused"),
        (1, "refused"),
        (1, "late"),
        (1, "refused"),
    ]:
        time.now += seconds
        log.warning(what)
    log.recovered("works")
    log.recovered("works")
    log.warning("refused")
    assert [record.getMessage() for record in caplog.records] == [
        "pods: refused",
        "pods: refused (and 2 times before, not logged)",
        "pods: late",
        "pods: works",
        "pods: refused",
    ]


async def test_burst_goes_at_once_and_the_rest_at_the_rate() -> None:
    time = VirtualTime()
    limit = RateLimit(10.0, 3, time.timing)
    for _ in range(5):
        await limit.admit()
    assert time.slept == pytest.approx([0.1, 0.1])
    time.now += 60.0
    for _ in range(4):
        await limit.admit()
    assert time.slept == pytest.approx([0.1, 0.1, 0.1])


async def test_those_who_wait_at_the_same_time_are_spread_out() -> None:
    slept: list[float] = []

    async def sleep(seconds: float) -> None:
        slept.append(seconds)

    limit = RateLimit(10.0, 1, Timing(clock=lambda: 0.0, sleep=sleep))
    await asyncio.gather(*(limit.admit() for _ in range(4)))
    assert slept == pytest.approx([0.1, 0.2, 0.3])
