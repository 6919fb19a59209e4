"""A filter waits for pods in flight that get in its way, and for no others."""

from __future__ import annotations

import asyncio

import pytest
from msgspec import structs

from extender.core.callbacks.in_flight import MOST_PODS, ROW_SECONDS, InFlightPods
from extender.core.model.keys import Key, key_of
from extender.core.model.objects import Pod, PodClass
from tests.clock import Clock

HOLD = 10.0
"""Far longer than a test takes: what ends a wait is never the time, unless the clock is moved."""


def a_pod(name: str, namespace: str = "web") -> Pod:
    """Build a pod; pods of one namespace interact here."""
    return Pod(
        key=key_of(namespace, name),
        uid=name,
        node=None,
        pod_class=PodClass(namespace, {}),
    )


@pytest.fixture
def clock() -> Clock:
    return Clock(100.0)


@pytest.fixture
def in_flight(clock: Clock) -> InFlightPods:
    return InFlightPods(lambda a, b: a.namespace == b.namespace, hold=HOLD, clock=clock)


def test_nobody_waits_when_no_pod_is_in_flight(in_flight: InFlightPods) -> None:
    assert not in_flight.interacting(a_pod("a"))


@pytest.mark.parametrize(
    ("answered", "asking", "waits"),
    [
        pytest.param(a_pod("a"), a_pod("b"), True, id="a pod that interacts"),
        pytest.param(a_pod("a"), a_pod("b", "db"), False, id="a pod that does not"),
        pytest.param(a_pod("a"), a_pod("a"), False, id="the same pod, asked about again"),
    ],
)
def test_who_waits(in_flight: InFlightPods, answered: Pod, asking: Pod, waits: bool) -> None:
    in_flight.add(answered)
    assert in_flight.interacting(asking) is waits


async def test_a_decided_bind_ends_the_wait(in_flight: InFlightPods) -> None:
    in_flight.add(a_pod("a"))
    in_flight.add(a_pod("b"))
    waiting = asyncio.create_task(in_flight.wait_for(a_pod("c")))
    await asyncio.sleep(0)
    in_flight.remove("a")
    await asyncio.sleep(0)
    assert not waiting.done(), "another pod is still in flight"
    in_flight.remove("b")
    async with asyncio.timeout(HOLD / 2):
        await waiting


async def test_time_ends_the_wait(clock: Clock) -> None:
    in_flight = InFlightPods(lambda *_: True, hold=0.001, clock=clock)
    in_flight.add(a_pod("a"))
    waiting = asyncio.create_task(in_flight.wait_for(a_pod("b")))
    await asyncio.sleep(0)
    clock.now += 0.001
    async with asyncio.timeout(HOLD / 2):
        assert await waiting == pytest.approx(0.001)


def test_a_pod_whose_bind_never_comes_is_forgotten(in_flight: InFlightPods, clock: Clock) -> None:
    in_flight.add(a_pod("a"))
    clock.now += HOLD
    assert not in_flight.interacting(a_pod("b"))


def test_a_pod_that_nobody_waits_for_any_more_is_not_kept(
    in_flight: InFlightPods, clock: Clock
) -> None:
    in_flight.add(a_pod("a"))
    clock.now += HOLD
    in_flight.add(a_pod("b", "db"))
    assert [*in_flight._pods] == ["b"]


async def test_pods_answered_later_do_not_prolong_a_wait(clock: Clock) -> None:
    in_flight = InFlightPods(lambda *_: True, hold=0.001, clock=clock)
    in_flight.add(a_pod("a"))
    waiting = asyncio.create_task(in_flight.wait_for(a_pod("b")))
    await asyncio.sleep(0)
    clock.now += 0.001
    in_flight.add(a_pod("c"))
    async with asyncio.timeout(HOLD / 2):
        assert await waiting == pytest.approx(0.001)


def test_a_bind_decided_twice_or_of_a_pod_not_in_flight_is_no_harm(in_flight: InFlightPods) -> None:
    in_flight.add(a_pod("a"))
    in_flight.remove("a")
    in_flight.remove("a")
    in_flight.remove("stranger")
    assert not in_flight.interacting(a_pod("b"))


def test_so_many_are_in_flight_at_most(in_flight: InFlightPods) -> None:
    for number in range(MOST_PODS + 5):
        in_flight.add(a_pod(str(number)))
    assert len(in_flight._pods) == MOST_PODS


class Shown:
    """What the watch shows of pods, by uid."""

    def __init__(self) -> None:
        self.pods: dict[str, Pod] = {}

    def known(self, pod: Pod) -> Pod | None:
        return self.pods.get(pod.uid)

    def bind(self, name: str) -> None:
        self.pods[name] = structs.replace(a_pod(name), node="n")


async def test_a_pod_that_the_scheduler_has_bound_is_waited_for_no_more(clock: Clock) -> None:
    shown = Shown()
    in_flight = InFlightPods(lambda *_: True, known=shown.known, clock=clock)
    shown.pods["a"] = a_pod("a")
    in_flight.add(a_pod("a"))
    waiting = asyncio.create_task(in_flight.wait_for(a_pod("b")))
    await asyncio.sleep(0)
    in_flight.look_again("a")
    await asyncio.sleep(0)
    assert not waiting.done(), "what was told of it was something else"
    in_flight.look_again("a")
    shown.bind("a")
    async with asyncio.timeout(HOLD / 2):
        await waiting
    assert not in_flight.interacting(a_pod("b"))


@pytest.mark.parametrize("late", [False, True], ids=["shown before", "shown after the answer"])
async def test_a_pod_that_is_gone_is_waited_for_no_more(clock: Clock, *, late: bool) -> None:
    shown = Shown()
    in_flight = InFlightPods(lambda *_: True, known=shown.known, hold=HOLD, clock=clock)
    if not late:
        shown.pods["a"] = a_pod("a")
    in_flight.add(a_pod("a"))
    assert in_flight.interacting(a_pod("b")), "the scheduler's watch may be ahead of ours"
    if late:
        in_flight.look_again("a")
        shown.pods["a"] = a_pod("a")
    waiting = asyncio.create_task(in_flight.wait_for(a_pod("b")))
    await asyncio.sleep(0)
    in_flight.look_again("a")
    del shown.pods["a"]
    async with asyncio.timeout(HOLD / 2):
        await waiting


def test_of_pods_alike_in_a_row_the_first_are_waited_for(clock: Clock) -> None:
    in_flight = InFlightPods(lambda *_: True, most_alike=2, clock=clock)
    for name in "ab":
        in_flight.add(a_pod(name))
        assert in_flight.interacting(a_pod("z"))
        in_flight.remove(name)
    in_flight.add(a_pod("c"))
    assert not in_flight.interacting(a_pod("z")), "it is one of many"
    in_flight.add(a_pod("other", "db"))
    assert in_flight.interacting(a_pod("z")), "it is the first of its class"
    in_flight.remove("other")
    clock.now += ROW_SECONDS
    in_flight.add(a_pod("d"))
    assert in_flight.interacting(a_pod("z")), "it begins a new row"


def test_rows_of_so_many_classes_are_remembered(clock: Clock) -> None:
    in_flight = InFlightPods(lambda *_: True, most_alike=2, clock=clock)
    for number in range(MOST_PODS + 5):
        in_flight.add(a_pod("a", f"ns-{number}"))
    assert len(in_flight._rows) == MOST_PODS


GANG = key_of("web", "gang")


def in_group(pod: Pod, group: Key = GANG) -> Pod:
    """Make a pod part of a pod group."""
    return pod.with_spec(group=group)


def test_the_pods_of_a_group_do_not_wait_for_each_other(in_flight: InFlightPods) -> None:
    in_flight.add(in_group(a_pod("a")))
    assert not in_flight.interacting(in_group(a_pod("b")))
    assert in_flight.interacting(in_group(a_pod("b"), key_of("web", "other")))
    assert in_flight.interacting(a_pod("b"))


def test_a_group_is_in_flight_until_its_last_pod_has_been_so_for_long_enough(
    in_flight: InFlightPods, clock: Clock
) -> None:
    in_flight.add(in_group(a_pod("a")))
    in_flight.add(in_group(a_pod("stranger", "db"), key_of("db", "other")))
    clock.now += HOLD - 1
    in_flight.add(in_group(a_pod("b")))
    in_flight.remove("b")
    clock.now += 2
    assert in_flight.interacting(a_pod("c"))
    assert not in_flight.interacting(a_pod("c", "db"))
    clock.now += HOLD
    assert not in_flight.interacting(a_pod("c"))
