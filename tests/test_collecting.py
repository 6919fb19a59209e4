"""Full collections of garbage: none while a call waits, and little to walk in each."""

from __future__ import annotations

import asyncio
import gc
import sys
import weakref
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from extender.core.collecting import WALKS, Collector, keep_collecting, pass_over_new, resting

pytestmark = pytest.mark.thorough

MANY = 200_000
"""Objects, more than enough for a full collection by Python's own rule."""


class Circle:
    """Refers to itself: only the collector frees it."""

    def __init__(self) -> None:
        self.own = self


@pytest.fixture(autouse=True)
def clean() -> Iterator[None]:
    """Start with nothing to walk, and leave nothing frozen."""
    usual = gc.get_threshold()
    gc.collect()
    gc.freeze()
    # A full collection begins by how much is new beside what was there at the end of the last one.
    gc.collect()
    yield
    gc.set_threshold(*usual)
    gc.unfreeze()
    gc.collect()


@contextmanager
def full_collections() -> Iterator[list[int]]:
    """Note how many objects each full collection begins with."""
    found: list[int] = []

    def note(phase: str, info: dict[str, Any]) -> None:
        if phase == "start" and info["generation"] == 2:
            found.append(info["generation"])

    gc.callbacks.append(note)
    try:
        yield found
    finally:
        gc.callbacks.remove(note)


def survivors(number: int) -> list[list[int]]:
    """Make objects that the collector looks at, and that stay."""
    return [[] for _ in range(number)]


def collector(clock: Callable[[], float] = lambda: 0.0) -> Collector:
    """Build a collector where no full collection begins by itself."""
    gc.set_threshold(gc.get_threshold()[0], WALKS.middle, 1 << 30)
    return Collector(clock)


def frozen_circle(looks: Collector) -> weakref.ref[Circle]:
    """Have a circle frozen that nobody refers to from then on."""
    circle = Circle()
    became_due()
    looks.step()
    return weakref.ref(circle)


def found_circles(number: int = WALKS.circles) -> None:
    """Have at least so many objects found in circles."""
    circles = [Circle() for _ in range(number)]
    del circles
    gc.collect()


def became_due() -> None:
    """Have as many collections of young objects as it takes."""
    for _ in range(WALKS.due):
        gc.collect(1)


async def test_no_full_collection_begins_by_itself() -> None:
    usual = gc.get_threshold()
    collecting = asyncio.create_task(keep_collecting())
    await asyncio.sleep(0)
    assert gc.get_threshold()[1] == WALKS.middle
    with full_collections() as found:
        kept = survivors(MANY)
    assert (len(kept), found) == (MANY, [])
    collecting.cancel()
    await asyncio.gather(collecting, return_exceptions=True)
    assert gc.get_threshold() == usual


def test_python_alone_would_have_begun_one() -> None:
    with full_collections() as found:
        kept = survivors(MANY)
    assert kept
    assert found


def test_what_is_alive_is_walked_once() -> None:
    looks, kept = collector(), survivors(MANY)
    became_due()
    looks.step()
    assert len(gc.get_objects(generation=2)) < MANY // 100
    assert len(kept) == MANY


def test_a_look_does_not_go_through_what_is_frozen() -> None:
    looks, called = collector(), set[object]()
    became_due()
    sys.setprofile(lambda _, event, what: called.add(what) if event == "c_call" else None)
    try:
        looks.step()
    finally:
        sys.setprofile(None)
    assert gc.freeze in called
    assert called.isdisjoint((gc.get_freeze_count, gc.get_objects, gc.unfreeze))


def test_what_is_frozen_is_freed_when_nobody_refers_to_it() -> None:
    looks, kept = collector(), survivors(MANY)
    became_due()
    looks.step()
    before = gc.get_freeze_count()
    kept.clear()
    assert gc.get_freeze_count() <= before - MANY


def test_a_circle_that_nobody_refers_to_is_freed_at_the_next_look() -> None:
    looks, circle = collector(), Circle()
    gone = weakref.ref(circle)
    became_due()
    del circle
    looks.step()
    assert gone() is None


def test_nothing_is_walked_before_it_is_much() -> None:
    looks = collector()
    with full_collections() as found:
        for _ in range(WALKS.due - 1):
            gc.collect(1)
            looks.step()
    assert not found


def test_nothing_is_walked_while_the_first_state_is_built() -> None:
    looks = collector()
    became_due()
    with full_collections() as found, resting():
        looks.step()
        assert not found


def test_a_frozen_circle_is_freed_once_as_many_objects_again_are_frozen() -> None:
    looks = collector()
    gone = frozen_circle(looks)
    kept = survivors(WALKS.spare // 2)
    became_due()
    looks.step()
    assert gone() is not None, "little is frozen beside what was: it is not walked yet"
    # Once more as many, because what other tests have left may go meanwhile.
    kept += survivors(2 * sys.getallocatedblocks() + WALKS.spare)
    found_circles()
    became_due()
    looks.step()
    assert gone() is None


def test_objects_that_went_by_themselves_make_no_full_walk_due() -> None:
    looks = collector()
    gone = frozen_circle(looks)
    for _ in range(4):
        passing = survivors(sys.getallocatedblocks() // 2 + WALKS.spare)
        became_due()
        looks.step()
        del passing
    assert gone() is not None


def test_what_is_passed_over_is_not_walked() -> None:
    kept = survivors(WALKS.soon)
    pass_over_new()
    assert len(gc.get_objects(generation=0)) < WALKS.soon
    assert len(kept) == WALKS.soon


def test_little_is_not_worth_passing_over() -> None:
    gc.collect(0)
    before = gc.get_freeze_count()
    pass_over_new()
    assert gc.get_freeze_count() <= before


def test_memory_is_looked_at_though_all_that_is_new_was_passed_over() -> None:
    now = 0.0
    looks = collector(lambda: now)
    gone = frozen_circle(looks)
    kept = survivors(2 * sys.getallocatedblocks() + WALKS.spare)
    # As `pass_over_new` does, over and over.
    gc.freeze()
    looks.step()
    assert gone() is not None
    found_circles()
    now = WALKS.look
    looks.step()
    assert gone() is None
    assert kept


def test_a_frozen_circle_is_freed_within_an_hour_of_work() -> None:
    times = iter((0.0, WALKS.full - 1, WALKS.full, WALKS.full))
    looks = collector(lambda: next(times))
    gone = frozen_circle(looks)
    assert gone() is not None
    found_circles()
    became_due()
    looks.step()
    assert gone() is None


def test_no_full_walk_is_due_where_hardly_a_circle_was_found() -> None:
    now = 0.0
    looks = collector(lambda: now)
    gone = frozen_circle(looks)
    kept = survivors(2 * sys.getallocatedblocks() + WALKS.spare)
    found_circles(WALKS.circles // 10)
    now = 2 * WALKS.full
    looks.step()
    assert gone() is not None
    found_circles()
    now += WALKS.look
    looks.step()
    assert gone() is None
    assert kept


def test_circles_count_until_a_full_walk_alone() -> None:
    now = 0.0
    looks = collector(lambda: now)
    found_circles()
    became_due()
    now = WALKS.full
    with full_collections() as found:
        looks.step()
    assert len(found) == 2, "what is new, and all there is"
    became_due()
    now *= 3
    with full_collections() as found:
        looks.step()
    assert len(found) == 1


def test_once_a_day_all_is_walked_whatever_was_found() -> None:
    now = 0.0
    looks = collector(lambda: now)
    gone = frozen_circle(looks)
    became_due()
    now = WALKS.seldom - 1
    looks.step()
    assert gone() is not None
    now = WALKS.seldom + WALKS.look
    looks.step()
    assert gone() is None
