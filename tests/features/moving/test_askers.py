"""Replicas tell each other which schedulers ask, and agree whatever their clocks say."""

from __future__ import annotations

import json
from random import Random

import pytest

from extender.core.cluster.state import ClusterState
from extender.features.moving.askers import LATELY_HOURS, MOST, Askers
from extender.features.moving.turns import ASKERS, MOVES, EvictionTurns, Notes
from tests.features.moving.booked import books_over
from tests.leading import Leader

HOUR = 3600.0


class Replica(Askers):
    """One whose clock a test moves."""

    def __init__(self, now: float = 1_000_000 * HOUR) -> None:
        self.now = now
        super().__init__(lambda: self.now)


def test_who_has_asked_within_a_day_asks() -> None:
    it = Replica()
    assert not it.asks("one")
    it.note("one")
    it.now += LATELY_HOURS * HOUR
    assert it.asks("one")
    it.now += HOUR
    assert not it.asks("one")


def test_what_one_replica_has_heard_the_others_know() -> None:
    one, two = Replica(), Replica()
    one.note("profile")
    two.learn(one.written())
    assert two.asks("profile")
    assert two.written() == one.written()


@pytest.mark.parametrize("text", ["", "{", "null", "[]", '{"a": "b"}', '{"a": 1e99}', '{"a": -5}'])
def test_what_no_replica_has_written_is_left_alone(text: str) -> None:
    it = Replica()
    it.note("one")
    it.learn(text)
    assert it.asks("one")
    assert not it.asks("a")


def test_a_clock_that_is_years_ahead_makes_no_scheduler_ask_for_ever() -> None:
    it, ahead = Replica(), Replica(2_000_000 * HOUR)
    ahead.note("one")
    it.learn(ahead.written())
    assert not it.asks("one")


@pytest.mark.parametrize("bogus", [1, 2 * MOST])
def test_what_a_clock_that_is_right_by_now_has_written_is_replaced(bogus: int) -> None:
    one, two = Replica(), Replica(2_000_000 * HOUR)
    for number in range(bogus):
        two.note(f"scheduler{number}")
    two.now = one.now
    one.learn(two.written())
    one.note("scheduler0")
    text = one.written()
    for _ in range(3):
        for each in (two, one):
            each.learn(text)
            text = each.written()
    assert one.asks("scheduler0")
    assert two.asks("scheduler0")
    assert max(json.loads(text).values()) == 1_000_000


@pytest.mark.parametrize("seed", range(20))
def test_replicas_come_to_agree_and_then_none_writes(seed: int) -> None:
    chance = Random(seed)
    replicas = [Replica((1_000_000 + chance.randrange(-50, 50)) * HOUR) for _ in range(3)]
    for _ in range(60):
        replica = chance.choice(replicas)
        replica.now += chance.choice((0.0, HOUR))
        replica.note(f"scheduler{chance.randrange(2 * MOST)}")
    text, writes = "", 0
    for _ in range(10):
        for each in replicas:
            each.learn(text)
            if each.written() != text:
                text, writes = each.written(), writes + 1
    assert writes <= 2 * len(replicas)


NOW = 1_000_000
"""The hour on the clock of a replica."""


def test_of_very_many_schedulers_those_are_remembered_that_asked_last() -> None:
    it = Replica()
    it.learn(json.dumps({f"old{number:03}": NOW - 9 for number in range(MOST)}))
    for number in range(MOST):
        it.note(f"new{number:03}")
        assert len(json.loads(it.written())) == MOST
    assert json.loads(it.written()) == {f"new{n:03}": NOW for n in range(MOST)}


@pytest.mark.parametrize("leads", [False, True])
def test_who_leads_and_who_does_not_tell_each_other_which_schedulers_ask(*, leads: bool) -> None:
    mine, theirs = Replica(), Replica()
    turns = EvictionTurns.of(Leader(), books_over(ClusterState()), 10, lambda: 0.0)
    notes = Notes(turns, mine)
    mine.note("mine")
    theirs.note("theirs")
    written = notes.written({ASKERS: theirs.written()}, leads=leads)
    assert json.loads(written[ASKERS]) == {"mine": NOW, "theirs": NOW}
    assert (MOVES in written) is leads
    theirs.note("another")
    notes.learn({ASKERS: theirs.written()}, leads=leads)
    assert all(map(mine.asks, ("mine", "theirs", "another")))
