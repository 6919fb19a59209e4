"""The work queue of controllers, on a clock that stands still, against a model without heaps."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass

import pytest
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from extender.core.controllers import workqueue
from extender.core.controllers.workqueue import MOST_STALE, WorkQueue

WAIT = 5.0
SOON = 0.01
MOST = 4


class Timed:
    """A queue, and the clock that it looks at."""

    def __init__(self, most: int = 100) -> None:
        self.now = 100.0
        self.queue: WorkQueue[str] = WorkQueue(most, lambda: self.now)

    def drain(self) -> list[str]:
        """Process what is due, in the order in which it is taken."""
        taken = []
        while (key := self.queue.take()) is not None:
            taken.append(key)
            self.queue.done(key)
        return taken


async def others_wait() -> None:
    """Let every task go on until it waits for something."""
    for _ in range(5):
        await asyncio.sleep(0)


def test_keys_are_taken_once_each_in_the_order_in_which_they_are_due() -> None:
    timed = Timed()
    for key in ("a", "b", "a"):
        timed.queue.add(key)
    timed.queue.add_after("d", 2)
    timed.queue.add_after("c", 1)
    assert timed.drain() == ["a", "b"]
    timed.now += 2
    assert timed.drain() == ["c", "d"]
    assert len(timed.queue) == 0


def test_thousands_that_are_added_at_once_do_not_make_one_turn_long(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    timed = Timed(1_000)
    for number in range(1_000):
        timed.queue.add(f"{number}")
    moved: list[object] = []
    monkeypatch.setattr(workqueue, "heappush", lambda *each: moved.append(each))
    assert timed.queue.take() == "0"
    assert moved == []


def test_the_earliest_of_several_times_counts() -> None:
    timed = Timed()
    timed.queue.add_after("a", 5)
    timed.queue.add_after("a", 1)
    timed.queue.add_after("a", 9)
    timed.now += 1
    assert timed.drain() == ["a"]
    timed.now += 9
    assert timed.drain() == [], "once for all of them"


def test_the_highest_priority_goes_first_as_soon_as_it_is_due() -> None:
    timed = Timed()
    timed.queue.add("low", -1)
    timed.queue.add("plain")
    timed.queue.add_after("urgent", 1, 1)
    timed.queue.add("raised", -1)
    timed.queue.add("raised", 1)
    assert timed.drain() == ["raised", "plain", "low"]
    timed.queue.add("plain")
    timed.now += 1
    assert timed.drain() == ["urgent", "plain"]


def test_a_priority_can_be_raised_before_a_key_is_due() -> None:
    timed = Timed()
    timed.queue.add_after("a", 1)
    timed.queue.add_after("b", 1)
    timed.queue.add_after("b", 2, 1)
    timed.now += 1
    assert timed.drain() == ["b", "a"]


def test_a_key_that_is_added_while_it_is_processed_is_processed_again() -> None:
    timed = Timed()
    timed.queue.add("a")
    assert timed.queue.take() == "a"
    timed.queue.add("a")
    timed.queue.add("a")
    assert timed.queue.take() is None, "never twice at a time"
    timed.queue.done("a")
    assert timed.drain() == ["a"]


def test_a_key_that_was_given_up_is_not_processed() -> None:
    timed = Timed()
    timed.queue.add("a")
    timed.queue.add("b")
    timed.queue.discard("a")
    timed.queue.discard("unknown")
    assert timed.queue.take() == "b"
    timed.queue.add("b")
    timed.queue.discard("b")
    timed.queue.done("b")
    assert timed.drain() == []


def test_beyond_the_limit_only_known_keys_are_taken_up() -> None:
    timed = Timed(most=2)
    assert [timed.queue.add_after(key, 1) for key in "aabc"] == [True, True, True, False]
    assert timed.queue.add("a")
    assert timed.drain() == ["a"]
    assert timed.queue.add("c"), "there is room again"


def test_times_that_were_overtaken_do_not_pile_up() -> None:
    timed = Timed()
    for _ in range(100 * MOST_STALE):
        timed.queue.add_after("a", 300)
        timed.queue.add("a")
        assert timed.drain() == ["a"]
    timed.queue.add_after("a", 300)
    assert len(timed.queue._later) + len(timed.queue._ready) <= 2 + MOST_STALE


async def test_whoever_waits_gets_a_key_as_soon_as_it_is_added() -> None:
    timed = Timed()
    timed.queue.add_after("later", 1000)
    waiting = asyncio.create_task(timed.queue.get())
    await others_wait()
    assert not waiting.done()
    timed.queue.add("a")
    async with asyncio.timeout(WAIT):
        assert await waiting == "a"


async def test_whoever_waits_gets_a_key_as_soon_as_it_is_due() -> None:
    queue: WorkQueue[str] = WorkQueue(10)
    queue.add_after("a", SOON)
    async with asyncio.timeout(WAIT):
        assert await queue.get() == "a"


async def test_each_of_several_workers_gets_a_key_of_its_own() -> None:
    timed = Timed()
    workers = [asyncio.create_task(timed.queue.get()) for _ in range(3)]
    await others_wait()
    for key in ("a", "b"):
        timed.queue.add(key)
    async with asyncio.timeout(WAIT):
        done, waiting = await asyncio.wait(workers, timeout=SOON)
        assert {each.result() for each in done} == {"a", "b"}
        timed.queue.add("a")
        timed.queue.done("a")
        assert await waiting.pop() == "a", "another worker may have it when the first is done"


@dataclass
class RuleSets:
    """What the model knows of a key."""

    due: float
    priority: int
    number: int


class Against(RuleBasedStateMachine):
    """A queue beside a dictionary of what is wanted, looked through from end to end."""

    def __init__(self) -> None:
        super().__init__()
        self.timed = Timed(MOST)
        self.wanted: dict[str, RuleSets] = {}
        self.processing: set[str] = set()
        self.added = 0

    @rule(
        key=st.sampled_from("abcdef"),
        seconds=st.sampled_from([0.0, 0.0, 1.0, 3.0]),
        priority=st.sampled_from([-1, 0, 0, 1]),
    )
    def add(self, key: str, seconds: float, priority: int) -> None:
        due, full = self.timed.now + seconds, len(self.wanted) >= MOST
        known = self.wanted.get(key)
        assert self.timed.queue.add_after(key, seconds, priority) is (known is not None or not full)
        self.added += 1
        if known is not None:
            known.number = self.added if due < known.due else known.number
            known.due, known.priority = min(known.due, due), max(known.priority, priority)
        elif not full:
            self.wanted[key] = RuleSets(due, priority, self.added)

    @rule(key=st.sampled_from("abcdef"))
    def discard(self, key: str) -> None:
        self.timed.queue.discard(key)
        self.wanted.pop(key, None)

    @rule()
    def take(self) -> None:
        due = {
            (-each.priority, each.due, each.number): key
            for key, each in self.wanted.items()
            if each.due <= self.timed.now and key not in self.processing
        }
        taken = self.timed.queue.take()
        assert taken == (due[min(due)] if due else None)
        if taken is not None:
            del self.wanted[taken]
            self.processing.add(taken)

    @precondition(lambda self: self.processing)
    @rule(data=st.data())
    def done(self, data: st.DataObject) -> None:
        key = data.draw(st.sampled_from(sorted(self.processing)))
        self.timed.queue.done(key)
        self.processing.remove(key)

    @rule(seconds=st.sampled_from([1.0, 2.0]))
    def pass_time(self, seconds: float) -> None:
        self.timed.now += seconds

    @invariant()
    def as_many_are_wanted(self) -> None:
        """Compare the numbers of keys."""
        assert len(self.timed.queue) == len(self.wanted) <= MOST


TestAgainst = Against.TestCase
