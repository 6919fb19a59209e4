"""Both ends of each bound on moves, and what is remembered of each of several namespaces."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from extender.core.cluster.state import ClusterState
from extender.features.moving.failed_moves import MOST, MOST_TRIALS, REST_SECONDS, FailedMoves
from extender.features.moving.limits import NEAR_SECONDS, REST, CircuitBreaker, FairTurns, Fruitless
from extender.features.moving.moves import (
    DAY,
    KEPT_SECONDS,
    MOST_LANDED,
    MOST_MISSES,
    Moves,
)
from extender.features.moving.written import WrittenController, WrittenMoves
from tests.clock import Clock
from tests.features.moving.booked import books_over

HOUR = 3600.0
SOUND = WrittenController("shop", "uid", 1, 10.0, 100.0, 2, 1000.0, [("web-0", "u", 60.0)])


def inherited(written: WrittenController) -> WrittenController:
    """Return what is kept of what another leader has written, as it would be written again."""
    moves = Moves(books_over(ClusterState()), Clock(1_000_000.0), 10)
    moves.inherit(WrittenMoves(controllers=[written]))
    (kept,) = moves.written(0).controllers
    return kept


@pytest.mark.parametrize(
    ("field", "wild", "kept"),
    [
        ("misses", MOST_MISSES, MOST_MISSES),
        ("misses", 10**9, MOST_MISSES),
        ("missed", -50.0, 0.0),
        ("rests", DAY, DAY),
        ("rests", 1e9, DAY),
        ("forgiven", DAY, DAY),
        ("forgiven", 1e9, DAY),
        ("landed", [("web-0", "u", 1e9)], [("web-0", "u", KEPT_SECONDS)]),
        (
            "landed",
            [(f"web-{n}", f"u{n}", 60.0) for n in range(99)],
            [(f"web-{n}", f"u{n}", 60.0) for n in range(MOST_LANDED)],
        ),
    ],
)
def test_no_more_is_believed_of_a_controller_than_can_be(field: str, wild: Any, kept: Any) -> None:
    changed = msgspec.structs.replace(SOUND, **{field: wild})
    assert inherited(SOUND) == SOUND
    assert inherited(changed) == msgspec.structs.replace(SOUND, **{field: kept})


@pytest.mark.parametrize(("written", "trials"), [(0, 0), (5, 5), (10**9, MOST_TRIALS)])
@pytest.mark.parametrize("age", [-5.0, 0.0, 30.0])
def test_a_rest_between_trials_is_no_longer_than_the_longest_whatever_is_written(
    written: int, trials: int, age: float
) -> None:
    failed = FailedMoves(Clock(1_000_000.0))
    everywhere = [(f"space{number}", 100.0, True) for number in range(MOST)]
    failed.inherit(everywhere, (age, written))
    rest = failed.stops("another", {})
    assert rest is not None
    shortest = REST_SECONDS * min(1 + trials, MOST_TRIALS)
    assert shortest <= rest + max(age, 0.0) <= 2 * shortest
    assert failed.trials == (max(age, 0.0), trials)


def test_a_rest_between_trials_is_no_longer_than_the_longest_however_many_there_were() -> None:
    clock = Clock(1_000_000.0)
    failed = FailedMoves(clock)
    failed.inherit([(f"space{number}", 0.0, True) for number in range(MOST)], (0.0, 0))
    for trials in range(1, 2 * MOST_TRIALS):
        failed.tried({})
        rest = failed.stops("another", {})
        assert rest is not None
        shortest = REST_SECONDS * min(1 + trials, MOST_TRIALS)
        assert shortest <= rest <= 2 * shortest


def test_each_namespace_rests_after_its_own_attempt() -> None:
    clock = Clock(100.0)
    fruitless = Fruitless(clock)
    for name, took in (("one", 2.0), ("two", 1.0), ("three", 0.5)):
        began = clock.now
        clock.now += took
        fruitless.note(name, began)
    ends = {"one": 102.0 + 2 * REST, "two": 103.0 + REST, "three": 103.5 + REST / 2}
    assert {name: clock.now + fruitless.rest(name) for name in ends} == ends
    assert fruitless.rest("another") <= 0
    clock.now = ends["one"]
    fruitless.note("another", clock.now)
    assert fruitless.rest("one") <= 0


@pytest.mark.parametrize(
    ("seconds", "gives_way"),
    [
        pytest.param(-NEAR_SECONDS - 1, False, id="it has not come for long"),
        pytest.param(-NEAR_SECONDS + 1, True, id="it was to come a moment ago"),
        pytest.param(NEAR_SECONDS - 1, True, id="it comes in a moment"),
        pytest.param(NEAR_SECONDS + 1, False, id="it comes much later"),
    ],
)
def test_a_namespace_gives_way_to_who_is_about_to_come_and_had_no_turn_for_longer(
    seconds: float, *, gives_way: bool
) -> None:
    clock = Clock(1_000.0)
    fair = FairTurns(clock)
    fair.take("other")
    clock.now += 10.0
    fair.take("mine")
    fair.wait("mine", 0.0)
    # What is long over is forgotten when a turn is taken, and what is to come is not.
    clock.now -= max(-seconds, 0.0)
    fair.wait("other", max(seconds, 0.0))
    clock.now += max(-seconds, 0.0)
    assert fair.has("mine") is not gives_way
    assert fair.has("other")
    fair.pass_over("other")
    assert fair.has("mine")


def test_a_turn_is_forgotten_after_an_hour() -> None:
    clock = Clock(1_000.0)
    fair = FairTurns(clock)
    fair.take("mine")
    clock.now += HOUR
    fair.take("a third")
    fair.wait("other", 0.0)
    assert fair.has("mine")


@pytest.mark.parametrize(
    ("going", "acknowledged", "everywhere", "alone"),
    [
        pytest.param({"a": 5, "b": 5}, 0, False, set(), id="as many as may"),
        pytest.param({"a": 5, "b": 5, "c": 1}, 0, True, set(), id="one more than may"),
        pytest.param({"a": 6, "b": 5}, 0, False, {"a"}, id="more than half in one, which is half"),
        pytest.param({"a": 6, "b": 5, "c": 1}, 0, True, {"a"}, id="half, and one more than that"),
        pytest.param({"a": 99, "b": 99, "c": 5}, 0, False, {"a", "b"}, id="two count as one half"),
        pytest.param({"a": 5, "b": 5, "c": 1}, 11, False, set(), id="as many as is acknowledged"),
        pytest.param({"a": 5, "b": 5, "c": 2}, 11, True, set(), id="one more than that"),
        pytest.param({"a": 11}, 11, False, set(), id="acknowledged, though of one namespace"),
        pytest.param({"a": 12}, 11, False, {"a"}, id="more than that, of one"),
        pytest.param({"a": 6}, 3, False, {"a"}, id="fewer are acknowledged than may anyway"),
    ],
)
def test_when_evictions_pause(
    going: dict[str, int], acknowledged: int, alone: set[str], *, everywhere: bool
) -> None:
    """Of a hundred pods ten may be affected."""
    breaker = CircuitBreaker(0.1, lambda: 100)
    breaker.look(going, acknowledged)
    assert (breaker.pauses.all, {*breaker.pauses.namespaces}) == (everywhere, alone)


@pytest.mark.parametrize(
    ("pods", "allowed"), [(0, 1), (9, 1), (10, 1), (19, 1), (20, 2), (100, 10)]
)
def test_a_single_pod_is_never_too_many(pods: int, allowed: int) -> None:
    breaker = CircuitBreaker(0.1, lambda: pods)
    assert breaker.allowed == allowed
    assert not breaker.judge({"a": allowed // 2, "b": allowed - allowed // 2}, 0).all
    more = breaker.judge({"a": 1, "b": allowed}, 0)
    assert more.all or more.namespaces
