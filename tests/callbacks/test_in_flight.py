"""A filter waits for pods in flight that get in its way, and for no others."""

from __future__ import annotations

import asyncio
from dataclasses import replace

import pytest

from extender.callbacks.in_flight import MOST_FLIGHTS, Flights
from extender.model.keys import Key, key_of
from extender.model.objects import Pod, PodClass

HOLD = 10.0
"""Far longer than a test takes: what ends a wait is never the time, unless the clock is moved."""


class Clock:
    """A clock that stands still until it is told."""

    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        """Return the time."""
        return self.now


def a_pod(name: str, namespace: str = "web") -> Pod:
    """Build a pod; pods of one namespace interact here."""
    return Pod(
        key=key_of(namespace, name),
        uid=name,
        node=None,
        terminal=False,
        pod_class=PodClass(namespace, {}),
    )


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def flights(clock: Clock) -> Flights:
    return Flights(lambda a, b: a.namespace == b.namespace, hold=HOLD, clock=clock)


def test_nobody_waits_for_an_empty_sky(flights: Flights) -> None:
    assert not flights.interacting(a_pod("a"))


@pytest.mark.parametrize(
    ("flying", "asking", "waits"),
    [
        pytest.param(a_pod("a"), a_pod("b"), True, id="a pod that interacts"),
        pytest.param(a_pod("a"), a_pod("b", "db"), False, id="a pod that does not"),
        pytest.param(a_pod("a"), a_pod("a"), False, id="the same pod, asked about again"),
    ],
)
def test_who_waits(flights: Flights, flying: Pod, asking: Pod, waits: bool) -> None:
    flights.depart(flying)
    assert flights.interacting(asking) is waits


async def test_a_landing_ends_the_wait(flights: Flights) -> None:
    flights.depart(a_pod("a"))
    flights.depart(a_pod("b"))
    waiting = asyncio.create_task(flights.clear(a_pod("c")))
    await asyncio.sleep(0)
    flights.land("a")
    await asyncio.sleep(0)
    assert not waiting.done(), "another pod is still in flight"
    flights.land("b")
    async with asyncio.timeout(HOLD / 2):
        await waiting


async def test_time_ends_the_wait(clock: Clock) -> None:
    flights = Flights(lambda *_: True, hold=0.001, clock=clock)
    flights.depart(a_pod("a"))
    waiting = asyncio.create_task(flights.clear(a_pod("b")))
    await asyncio.sleep(0)
    clock.now += 0.001
    async with asyncio.timeout(HOLD / 2):
        assert await waiting == pytest.approx(0.001)


def test_a_flight_that_never_lands_is_forgotten(flights: Flights, clock: Clock) -> None:
    flights.depart(a_pod("a"))
    clock.now += HOLD
    assert not flights.interacting(a_pod("b"))


def test_later_flights_do_not_prolong_a_wait(flights: Flights, clock: Clock) -> None:
    start = clock.now
    clock.now += HOLD - 1
    flights.depart(a_pod("a"))
    assert flights._patience(a_pod("b"), start) == pytest.approx(1)


def test_landing_twice_or_never_having_left_is_no_harm(flights: Flights) -> None:
    flights.depart(a_pod("a"))
    flights.land("a")
    flights.land("a")
    flights.land("stranger")
    assert not flights.interacting(a_pod("b"))


def test_the_sky_has_room_for_so_many(flights: Flights) -> None:
    for number in range(MOST_FLIGHTS + 5):
        flights.depart(a_pod(str(number)))
    assert len(flights._flying) == MOST_FLIGHTS


GANG = key_of("web", "gang")


def in_group(pod: Pod, group: Key = GANG) -> Pod:
    """Make a pod part of a pod group."""
    return replace(pod, group=group)


def test_the_pods_of_a_group_do_not_wait_for_each_other(flights: Flights) -> None:
    flights.depart(in_group(a_pod("a")))
    assert not flights.interacting(in_group(a_pod("b")))
    assert flights.interacting(in_group(a_pod("b"), key_of("web", "other")))
    assert flights.interacting(a_pod("b"))


def test_a_group_is_in_flight_until_its_last_pod_has_been_so_for_long_enough(
    flights: Flights, clock: Clock
) -> None:
    flights.depart(in_group(a_pod("a")))
    flights.depart(in_group(a_pod("stranger", "db"), key_of("db", "other")))
    clock.now += HOLD - 1
    flights.depart(in_group(a_pod("b")))
    flights.land("b")
    clock.now += 2
    assert flights.interacting(a_pod("c"))
    assert not flights.interacting(a_pod("c", "db"))
    clock.now += HOLD
    assert not flights.interacting(a_pod("c"))
