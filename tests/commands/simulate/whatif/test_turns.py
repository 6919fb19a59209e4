"""What controllers do next, case by case; `make e2e` compares it with these controllers."""

from __future__ import annotations

from itertools import product
from typing import Any

import pytest

from affinityctl.commands.simulate.whatif.turns import (
    Member,
    Size,
    Turn,
    next_of_deployment,
    next_of_stateful_set,
)
from affinityctl.reading.rollouts import Rollout

RUNS, WAITS = True, False
PARALLEL = {"in_order": False}


@pytest.mark.parametrize(
    ("fields", "wanted", "there", "deleted", "created"),
    [
        pytest.param({}, 3, {1: RUNS}, [], [0], id="the lowest comes first"),
        pytest.param({}, 3, {0: WAITS}, [], [], id="and the next one once it is ready"),
        pytest.param(PARALLEL, 3, {1: WAITS}, [], [0, 2], id="in parallel all come"),
        pytest.param({"start": 5}, 2, {5: RUNS}, [], [6], id="from the first ordinal on"),
        pytest.param({}, 1, {0: RUNS, 1: RUNS, 2: RUNS}, [2], [], id="the highest goes first"),
        pytest.param({}, 1, {0: WAITS, 1: RUNS}, [], [], id="not while a lower one waits"),
        pytest.param({}, 0, {0: WAITS, 1: WAITS}, [], [], id="nor if that is to go as well"),
        pytest.param({}, 0, {0: RUNS, 1: WAITS}, [1], [], id="if it alone waits, it goes"),
        pytest.param(PARALLEL, 0, {0: WAITS, 1: RUNS}, [1, 0], [], id="in parallel all go"),
    ],
)
def test_a_stateful_set_is_scaled(
    fields: dict[str, Any],
    wanted: int,
    there: dict[int, bool],
    deleted: list[int],
    created: list[int],
) -> None:
    members = {each: Member(runs) for each, runs in there.items()}
    found = next_of_stateful_set(Rollout(**fields, rolling=True), wanted, members)
    assert found == Turn(deleted, created)


@pytest.mark.parametrize(
    ("fields", "there", "deleted"),
    [
        pytest.param({}, [RUNS, RUNS, RUNS], [2], id="the highest first"),
        pytest.param({"unavailable": 2}, [RUNS, RUNS, RUNS], [2, 1], id="two at a time"),
        pytest.param({"partition": 2}, [RUNS, RUNS, RUNS], [2], id="down to the partition"),
        pytest.param({"partition": 3}, [RUNS, RUNS, RUNS], [], id="and no further"),
        pytest.param({}, [RUNS, RUNS, WAITS], [], id="a pod that waits stops it"),
        pytest.param(PARALLEL, [WAITS, RUNS, RUNS], [0], id="in parallel it goes first"),
        pytest.param(PARALLEL | {"unavailable": 2}, [WAITS, RUNS, RUNS], [0, 2], id="and one more"),
    ],
)
def test_a_stateful_set_is_updated(
    fields: dict[str, Any], there: list[bool], deleted: list[int]
) -> None:
    members = {each + 7: Member(runs, outdated=True) for each, runs in enumerate(there)}
    found = next_of_stateful_set(Rollout(**fields, start=7, rolling=True), 3, members)
    assert found == Turn([each + 7 for each in deleted], [])


@pytest.mark.parametrize(
    ("surge", "unavailable", "new", "old", "expected"),
    [
        pytest.param(1, 0, (0, 0), [(4, 4)], (1, [4]), id="it surges"),
        pytest.param(1, 0, (1, 1), [(4, 4)], (1, [3]), id="and one goes"),
        pytest.param(1, 0, (1, 0), [(4, 4)], (1, [4]), id="not before that is available"),
        pytest.param(0, 2, (0, 0), [(4, 3)], (0, [2]), id="one that is not ready is no loss"),
        pytest.param(0, 1, (0, 0), [(2, 2), (2, 1)], (0, [2, 1]), id="and goes first"),
        pytest.param(0, 2, (0, 0), [(1, 1), (3, 3)], (0, [0, 2]), id="else of the oldest"),
        pytest.param(0, 9, (1, 0), [(3, 3)], (1, [0]), id="no more than there are"),
        pytest.param(0, 1, (6, 6), [], (4, []), id="a new one that is too large shrinks"),
    ],
)
def test_a_deployment_is_updated(
    surge: int,
    unavailable: int,
    new: tuple[int, int],
    old: list[tuple[int, int]],
    expected: tuple[int, list[int]],
) -> None:
    by = Rollout(surge=surge, unavailable=unavailable, rolling=True)
    assert next_of_deployment(by, 4, Size(*new), [Size(*each) for each in old]) == expected


@pytest.mark.parametrize(("surge", "unavailable"), [(0, 1), (1, 0), (1, 1), (2, 1), (0, 2), (3, 4)])
def test_no_turn_of_a_deployment_takes_more_than_may_be_missing(
    surge: int, unavailable: int
) -> None:
    by, wanted = Rollout(surge=surge, unavailable=unavailable, rolling=True), 4
    some = [Size(pods, available) for pods in range(4) for available in range(pods + 1)]
    for new, *old in product(some, some, [Size(0, 0), Size(1, 1), Size(2, 1)]):
        grown, left = next_of_deployment(by, wanted, new, old)
        before = [each.pods for each in old]
        assert all(0 <= now <= then for now, then in zip(left, before, strict=True))
        if left != before:
            assert grown == new.pods, "one or the other"
            # New pods that are not available yet are missing as well.
            assert new.available + sum(left) >= wanted - unavailable
