"""Log lines about what goes wrong again and again, and tokens that are so many a second."""

from __future__ import annotations

import logging

import pytest
from hypothesis import given
from hypothesis import strategies as st

from extender.core.timing import KIND_CHARACTERS, MOST_KINDS, LogThrottle, TokenBucket
from tests.clock import Clock

SECONDS = 10.0


class Throttled:
    """A throttle with a clock that tests move, and what it let through."""

    def __init__(self, caplog: pytest.LogCaptureFixture, burst: int = 1) -> None:
        self.now = 0.0
        self._caplog = caplog
        caplog.set_level(logging.INFO, "throttled")
        self.throttle = LogThrottle(
            logging.getLogger("throttled"), seconds=SECONDS, burst=burst, clock=lambda: self.now
        )

    def say(self, kind: str, times: int = 1, level: int = logging.WARNING) -> None:
        """Log some lines of a kind."""
        for _ in range(times):
            self.throttle.log(level, kind, "%s failed, 100%% of it", kind[:9])

    @property
    def lines(self) -> list[str]:
        return self._caplog.messages


def test_the_next_line_tells_of_those_before(caplog: pytest.LogCaptureFixture) -> None:
    throttled = Throttled(caplog)
    throttled.say("one", 4)
    throttled.now = SECONDS
    throttled.say("one", 2)
    throttled.now = 2 * SECONDS
    throttled.say("one")
    assert throttled.lines == [
        "one failed, 100% of it",
        "one failed, 100% of it (and 3 times before, not logged)",
        "one failed, 100% of it (and 1 times before, not logged)",
    ]


def test_kinds_are_told_apart_and_some_of_each_are_logged(caplog: pytest.LogCaptureFixture) -> None:
    throttled = Throttled(caplog, burst=2)
    throttled.say("one", 5)
    throttled.say("two", 5)
    assert throttled.lines == [
        f"{kind} failed, 100% of it" for kind in ("one", "one", "two", "two")
    ]


def test_endless_kinds_neither_fill_the_log_nor_memory(caplog: pytest.LogCaptureFixture) -> None:
    throttled = Throttled(caplog)
    for number in range(10 * MOST_KINDS):
        throttled.say(f"{number} {'x' * 10 * KIND_CHARACTERS}")
    assert len(throttled.lines) == MOST_KINDS + 1, "the others share one line"
    kept = throttled.throttle._series
    assert len(kept) <= MOST_KINDS + 1
    assert max(map(len, kept)) == KIND_CHARACTERS
    throttled.now = SECONDS
    throttled.say("later")
    assert list(throttled.throttle._series) == ["later"], "what is over is forgotten"


def test_what_is_not_shown_is_not_counted(caplog: pytest.LogCaptureFixture) -> None:
    throttled = Throttled(caplog)
    throttled.say("one", 3, logging.DEBUG)
    assert not throttled.throttle.clear()
    throttled.say("one")
    assert throttled.throttle.clear()
    throttled.say("one")
    assert throttled.lines == ["one failed, 100% of it"] * 2


def test_a_line_names_the_place_that_logged_it(caplog: pytest.LogCaptureFixture) -> None:
    Throttled(caplog).say("one")
    assert caplog.records[0].funcName == "say"


@pytest.mark.parametrize(
    ("per_second", "burst", "at_once"),
    [
        pytest.param(3.0, None, 3, id="the tokens of a second, unless it is said otherwise"),
        pytest.param(0.1, None, 1, id="one, however slow"),
        pytest.param(2.0, 5, 5, id="the burst"),
    ],
)
def test_so_many_tokens_are_there_at_once(
    per_second: float, burst: float | None, at_once: int
) -> None:
    clock = Clock()
    bucket = TokenBucket(per_second, clock, burst)
    assert [bucket.take() for _ in range(at_once + 1)] == [True] * at_once + [False]
    clock.now += 1.01 / per_second
    assert bucket.left()
    assert [bucket.take(), bucket.take()] == [True, False]


@given(st.lists(st.floats(0, 5), max_size=60), st.floats(0.1, 50), st.floats(1, 20))
def test_never_more_than_the_burst_and_so_many_a_second(
    pauses: list[float], per_second: float, burst: float
) -> None:
    clock = Clock()
    bucket = TokenBucket(per_second, clock, burst)
    taken = 0
    for pause in pauses:
        clock.now += pause
        taken += bucket.take()
        assert taken <= burst + clock.now * per_second + 1e-6
