"""What is remembered for people of the last hour, and that it is bounded."""

from __future__ import annotations

import pytest

from extender.core.controllers import history
from extender.core.controllers.history import EVICTION, History
from tests.clock import Clock


def test_the_latest_comes_first_and_goes_after_an_hour() -> None:
    clock = Clock(1_000_000.0)
    kept = History(clock)
    kept.note("hint", "set", "a/first", "n1")
    clock.now += 1800
    kept.note(EVICTION, "evicted", "a/second", "n2", "for a/third")
    assert [each.pod for each in kept.latest()] == ["a/second", "a/first"]
    clock.now += 1800
    assert [(each.pod, each.note) for each in kept.latest()] == [("a/second", "for a/third")]
    clock.now += 1800
    assert not kept.latest()


def test_there_are_so_many_and_no_more() -> None:
    kept = History(Clock(1_000_000.0))
    for number in range(history.MOST + 10):
        kept.note("hint", "set", f"a/{number}")
    latest = kept.latest()
    assert (len(latest), latest[-1].pod) == (history.MOST, "a/10")


@pytest.mark.parametrize("character", ["x", "\u05d0", "\U0001f600"])
def test_long_names_are_cut_and_all_together_are_bounded(character: str) -> None:
    kept = History(Clock(1_000_000.0))
    for _ in range(history.MOST):
        kept.note("preemption", "started", *[character * 60_000] * 3)
    latest = kept.latest()
    assert len(latest[0].note) == history.MOST_CHARACTERS
    assert 100 < len(latest) < history.MOST
    texts = sum(len(f"{e.pod}{e.node}{e.note}".encode()) for e in latest)
    assert texts < history.MOST_BYTES
