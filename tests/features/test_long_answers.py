"""Long answers of the operations port are written in small steps, a few at a time."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from types import FrameType
from typing import Any

import pytest

from extender.core.metrics import Metrics
from extender.core.web import turns
from extender.core.web.limits import MOST, Seconds
from tests.builders import HOST, ZONE, node, pod, selector, state_of, term
from tests.features.every import shown_over
from tests.web.showing import app_of, shown

MOST_TERMS = 8
"""Preferred terms of a pod about which it is said whether it sits well."""
APPS = 600
NODES = 300
MOST_CALLS = 8000
"""Of Python functions between two turns of the event loop: a few milliseconds, in which a census of
3,000 terms is taken. To describe a thousand terms at once took 98 ms."""


@pytest.fixture(scope="module")
def seen() -> Any:
    """A cluster of many terms, over hosts and zones, some of which are broken."""
    nodes = [node(f"n{n}", {HOST: f"n{n}", ZONE: "abc"[n % 3]}) for n in range(NODES)]
    placed = []
    choosy = pod("choosy").labels(app="a1").owned_by("ReplicaSet/choosy")
    for number in range(MOST_TERMS):
        key = (HOST, ZONE)[number % 2]
        choosy = choosy.avoids(number + 1, term(key, selector(app=f"a{number}")))
    placed.append(choosy.on("n1"))
    for number in range(APPS):
        labels = selector(app=f"a{number}")
        apart = pod(f"p{number}").labels(app=f"a{number}").anti_affinity(term(HOST, labels))
        placed.append(apart.prefers(3, term(ZONE, labels)).on(f"n{number % NODES}"))
        placed.append(pod(f"q{number}").labels(app=f"a{number}").on(f"n{number % NODES}"))
    state = state_of(nodes, [], placed)
    return shown(state)


@dataclass
class Longest:
    """The most calls of functions between two turns."""

    calls: int = 0


@contextmanager
def measured() -> Iterator[Longest]:
    """Measure each turn of the event loop."""
    longest, calls = Longest(), 0

    def count(_: FrameType, event: str, __: object) -> None:
        nonlocal calls
        calls += event == "call"

    def turn() -> None:
        nonlocal calls
        longest.calls = max(longest.calls, calls)
        calls = 0
        following[0] = loop.call_soon(turn)

    loop = asyncio.get_running_loop()
    following = [loop.call_soon(turn)]
    sys.setprofile(count)
    try:
        yield longest
    finally:
        sys.setprofile(None)
        following[0].cancel()


@pytest.mark.parametrize(
    "path",
    [
        "/domains?limit=1000",
        f"/domains?key={HOST}&limit=1000",
        f"/domains?key={ZONE}&value=a&limit=1000",
        f"/domains?key={HOST}&value=n7",
        "/domains?term=1&limit=1000",
        "/violations?limit=10000",
        "/configz",
        "/readyz?verbose",
        "/metrics/slis",
    ],
)
async def test_no_step_of_an_answer_is_long(
    path: str, seen: Any, aiohttp_client: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Every step is a turn of the loop: what is measured then is the longest step.
    monkeypatch.setattr(turns, "WITHIN", Seconds(slice=0.0))
    client = await aiohttp_client(app_of(seen, parts=shown_over(seen)))
    with measured() as longest:
        answer = await client.get(path)
        await answer.read()
    assert answer.status == 200
    assert longest.calls < MOST_CALLS


async def test_a_page_of_json_equals_what_it_was_at_once(seen: Any, aiohttp_client: Any) -> None:
    client = await aiohttp_client(app_of(seen, parts=shown_over(seen)))
    told = await (await client.get("/domains?limit=1000")).json()
    assert len(told["terms"]) == 1000
    assert [each["term"] for each in told["terms"]] == list(range(1, 1001))
    assert told["next"] == "/domains?limit=1000&after=1000"
    rest = await (await client.get(told["next"])).json()
    of_choosy = MOST_TERMS // 2  # Others have those over zones as well.
    assert (len(rest["terms"]), rest["next"]) == (2 * APPS + of_choosy - 1000, None)


async def test_few_are_answered_at_a_time_some_wait_and_more_are_sent_away(
    seen: Any, aiohttp_client: Any
) -> None:
    client, gate = await aiohttp_client(app_of(seen, parts=shown_over(seen))), seen.turns
    asked = ["/domains?limit=1000", "/violations"]
    for _ in range(MOST.answers):
        await gate.working.acquire()
    calls = [
        asyncio.create_task(client.get(asked[number % len(asked)]))
        for number in range(MOST.waiting + 3)
    ]
    sent_away, waiting = await asyncio.wait(calls, return_when=asyncio.FIRST_COMPLETED)
    while len(sent_away) < 3:
        more, waiting = await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
        sent_away |= more
    assert {each.result().status for each in sent_away} == {429}
    assert (await client.get("/readyz")).status == 200
    assert (await client.get("/metrics")).status == 200
    for _ in range(MOST.answers):
        gate.working.release()
    assert {each.status for each in await asyncio.gather(*waiting)} == {200}


async def test_bodies_that_do_not_come_keep_nobody_from_asking(
    seen: Any, aiohttp_client: Any
) -> None:
    client = await aiohttp_client(app_of(seen, parts=shown_over(seen)))
    begun = asyncio.Semaphore(0)

    async def never() -> AsyncIterator[bytes]:
        begun.release()
        yield b"{"
        await asyncio.Event().wait()

    headers = {"Content-Type": "application/json", "Content-Length": "1000"}
    slow = [
        asyncio.create_task(client.post("/explain", data=never(), headers=headers))
        for _ in range(MOST.waiting)
    ]
    for _ in slow:
        await begun.acquire()
    await asyncio.wait(slow, timeout=0.2)
    for path in ("/explain?pod=p0", "/domains", "/"):
        assert (await client.get(path)).status == 200
    for each in slow:
        each.cancel()
    await asyncio.wait(slow)


async def test_metrics_are_written_for_two_at_a_time(
    seen: Any, aiohttp_client: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    now, most = 0, 0
    exposition = Metrics.exposition

    def slow(self: Metrics, accept: str) -> tuple[str, bytes]:
        nonlocal now, most
        now += 1
        most = max(most, now)
        try:
            return exposition(self, accept)
        finally:
            now -= 1

    monkeypatch.setattr(Metrics, "exposition", slow)
    client = await aiohttp_client(app_of(seen, parts=shown_over(seen)))
    answers = await asyncio.gather(*(client.get("/metrics") for _ in range(MOST.waiting)))
    assert {each.status for each in answers} == {200}
    assert most <= MOST.answers
