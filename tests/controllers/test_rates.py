"""How many there were in a minute."""

from __future__ import annotations

from random import Random

import pytest

from extender.core.controllers.rates import WINDOW_SECONDS, RateLimiter, Turn
from tests.clock import Clock


def test_a_window_gives_back_what_was_not_used() -> None:
    window = RateLimiter(1, Clock())
    turn = window.take()
    assert window.rest() == 60
    window.give_back(turn)
    assert window.rest() == 0


def test_a_window_tells_those_who_act_at_once_apart() -> None:
    clock = Clock(0.0)
    window = RateLimiter(2, clock)
    one, two = window.take(), window.take()
    clock.now = 5.0
    window.done(one)
    window.give_back(two)
    assert window.recent == 1
    clock.now = 64.0
    assert window.recent == 1
    clock.now = 65.0
    assert window.recent == 0


def test_a_window_that_was_filled_beyond_its_size_opens_with_the_latest() -> None:
    clock = Clock(0.0)
    window = RateLimiter(1, clock)
    window.take()
    clock.now = 30.0
    window.fill(5)
    assert window.rest() == 60
    clock.now = 89.0
    assert window.rest() == 1
    clock.now = 90.0
    assert window.rest() == 0


@pytest.mark.parametrize("seed", range(20))
def test_of_several_at_a_time_each_counts_for_a_minute_from_its_own_end(seed: int) -> None:
    chance, clock = Random(seed), Clock(0.0)
    window = RateLimiter(1_000, clock)
    under_way: list[Turn] = []
    ended: list[float] = []
    for _ in range(300):
        clock.now += chance.choice([0.0, 0.5, 7.0])
        if under_way and chance.random() < 0.5:
            turn = under_way.pop(chance.randrange(len(under_way)))
            if chance.random() < 0.5:
                window.done(turn)
                ended.append(clock.now)
            else:
                window.give_back(turn)
        elif len(under_way) < 5:
            under_way.append(window.take())
        elif chance.random() < 0.1:
            window.fill(1)  # Another replica's, heard of while one is under way.
            ended.append(clock.now)
        since = clock.now - WINDOW_SECONDS
        assert window.recent == sum(
            each > since for each in (*(turn.at for turn in under_way), *ended)
        )
