"""Silence is answered with a list: proxies that close what is idle, restores, lagging caches."""

from __future__ import annotations

import asyncio
from collections import Counter
from itertools import pairwise
from typing import Any

import msgspec
import pytest
from aiohttp import web

from extender.core.config import Config
from extender.core.kube.pacing import USUAL_MIRROR
from tests.kube.fake_api import (
    CLOSE,
    CUT,
    Answer,
    answering,
    dropping,
    failure,
    hanging,
    line,
    saying,
    status,
)
from tests.kube.test_resources import node, pod
from tests.kube.virtual_loop import run_virtually
from tests.kube.watched import REPLACE, Watched, replacing, watched

HOUR = 3600.0
SILENCE = USUAL_MIRROR.silence
SHORTEST = SILENCE - USUAL_MIRROR.spread
"""Between two lists of a quiet resource."""

OBJECTS = {
    "namespaces": [{"metadata": {"name": "shop", "uid": "uid-of-shop"}}],
    "nodes": [node("a", "a"), node("b", "b")],
    "pods": [pod("web", "a"), pod("db", "b"), pod("waits", None)],
}
HASTY = replacing(staleAfterSeconds=90)


def put_through_a_proxy(there: Watched) -> None:
    """Have a proxy close what is idle before a bookmark can come."""
    for each in there.at.values():
        each.idle = 45.0
        each.send(CLOSE)


@pytest.mark.parametrize(
    ("config", "shortest"),
    [
        pytest.param(REPLACE, SHORTEST, id="stale after three minutes"),
        pytest.param(HASTY, 65.0, id="stale after a minute and a half, the least there is"),
    ],
)
def test_behind_a_proxy_that_closes_idle_watches_all_stays_ready_for_hours(
    config: Config, shortest: float
) -> None:
    async def main() -> None:
        async with watched(OBJECTS, config=config) as there:
            put_through_a_proxy(there)
            looks = 0
            end = there.now + 2 * HOUR
            while there.now < end:
                await asyncio.sleep(1.0)
                looks += 1
                assert there.failing == []
                assert there.state.stale is None
            assert looks >= 7000
            starts: Counter[int] = Counter()
            for name in there.at:
                times = [seen.at for seen in there.taken(name) if seen.at > 10.0]
                times = [at for before, at in pairwise([-1.0, *times]) if at - before > 1.0]
                assert len(times) <= 2 * HOUR / shortest + 1
                assert all(at - before >= shortest for before, at in pairwise(times))
                starts.update(int(at) for at in times)
            assert max(starts.values()) < len(there.at), "never all of them at once"

    run_virtually(main())


def test_a_change_behind_such_a_proxy_that_no_watch_shows_is_found() -> None:
    async def main() -> None:
        async with watched(OBJECTS) as there:
            put_through_a_proxy(there)
            for each in there.at.values():
                each.muted = True
            await asyncio.sleep(600.0)
            pods = there.at["pods"]
            pods.put(pod("waits", "a"))
            pods.delete("shop/web")
            # What came after is not replayed either: nobody says that the watch is behind.
            pods.history.clear()
            assert await there.until(lambda: there.equal, SILENCE + 6.0) > 1.0

    run_virtually(main())


def test_where_bookmarks_come_nothing_is_ever_listed_again() -> None:
    async def main() -> None:
        async with watched(OBJECTS) as there:
            there.at["nodes"].put(node("c", "c"))
            there.at["pods"].put(pod("more", "a"))
            # As in each cluster in which anything happens at all.
            there.api.version += 1
            before = len(there.api.seen)
            await asyncio.sleep(2 * HOUR)
            assert there.equal
            assert there.failing == []
            assert all(seen.verb == "watch" for seen in there.api.seen[before:])

    run_virtually(main())


def lose_the_latest(there: Watched) -> Any:
    """Return to what was backed up, after some changes that are lost with it."""
    backup = there.api.back_up()
    there.at["pods"].put(pod("waits", "a"))
    there.at["pods"].put(pod("new", "b"))
    there.at["pods"].delete("shop/db")
    there.at["nodes"].put(node("c", "c"))
    there.at["nodes"].delete("b")
    there.api.version += 5000
    there.at["pods"].put(pod("newer", "a"))
    there.at["nodes"].put(node("d", "d"))
    return backup


async def restore_with_raised_versions(there: Watched, away: float) -> int:
    """Stop the API server, and have it know less at a higher version; return its port.

    By the writes of others, or by --bump-revision: no number tells it from the old one.
    """
    backup = lose_the_latest(there)
    await there.until(lambda: there.equal, 1.0)
    port, known = there.api.port, there.api.version
    await there.api.stop()
    await asyncio.sleep(away)
    there.api.restore(backup)
    there.api.version = known + 1000
    return port


@pytest.mark.parametrize(
    ("sent", "stays"),
    [
        pytest.param(CLOSE, True, id="ended in order"),
        pytest.param(CUT, False, id="broke"),
    ],
)
def test_what_is_known_is_uncertain_for_a_moment_after_a_watch(sent: Any, stays: bool) -> None:
    async def main() -> None:
        async with watched(OBJECTS) as there:
            there.at["pods"].send(sent)
            certain = []
            for _ in range(60):
                await asyncio.sleep(0.05)
                certain.append(there.source.picture.certain)
            assert (all(certain), certain[-1]) == (stays, True)

    run_virtually(main())


SLOW_DOWN = answering(lambda: failure(429, "TooManyRequests", "slow down"))


@pytest.mark.parametrize(
    ("away", "throttled"),
    [
        pytest.param(3.0, 0, id="after a moment"),
        pytest.param(30.0, 0, id="after half a minute"),
        pytest.param(300.0, 0, id="after minutes"),
        pytest.param(30.0, 1, id="though it has too much to do at first"),
    ],
)
def test_a_restore_is_seen_as_soon_as_the_server_is_back(away: float, throttled: int) -> None:
    async def main() -> None:
        async with watched(OBJECTS, chance=lambda: 0.999) as there:
            backup = lose_the_latest(there)
            await there.until(lambda: there.equal, 1.0)
            port = there.api.port
            await there.api.stop()
            await asyncio.sleep(away)
            there.api.restore(backup)
            for each in there.at.values():
                each.looks.extend([SLOW_DOWN] * throttled)
            await there.api.start(port)
            assert not there.source.picture.certain, "pods may be bound by it as soon as that is so"
            assert await there.until(lambda: there.source.picture.certain, 30.0) < 10.0
            assert there.equal
            there.at["pods"].put(pod("after", "b"))
            assert await there.until(lambda: there.equal, 30.0) < 1.0

    run_virtually(main())


BAD_GATEWAY = answering(lambda: web.Response(status=502, text="<html>bad gateway</html>"))
NO_LEADER = answering(lambda: failure(500, "InternalError", "etcdserver: no leader"))
TOO_OLD = answering(lambda: failure(410, "Expired", "too old resource version"))


@pytest.mark.parametrize(
    ("watch", "others"),
    [
        pytest.param(BAD_GATEWAY, BAD_GATEWAY, id="a proxy answers in its place"),
        pytest.param(NO_LEADER, NO_LEADER, id="it says itself that it cannot"),
        pytest.param(TOO_OLD, dropping, id="the connection breaks when it is listed"),
        pytest.param(TOO_OLD, BAD_GATEWAY, id="a proxy answers when it is listed"),
    ],
)
def test_a_restore_is_seen_where_the_end_of_the_watch_did_not_tell_of_it(
    watch: Answer, others: Answer
) -> None:
    async def main() -> None:
        async with watched(OBJECTS, chance=lambda: 0.999) as there:
            backup = lose_the_latest(there)
            await there.until(lambda: there.equal, 1.0)
            for each in there.at.values():
                each.watches.extend([watch] * 1000)
                for answers in (each.lists, each.looks, each.streams):
                    answers.extend([others] * 1000)
                each.send(CLOSE)
            await asyncio.sleep(USUAL_MIRROR.outage - 1.0)
            assert not there.source.picture.certain, "not only since no watch is open"
            await asyncio.sleep(20.0)
            there.api.restore(backup)
            for each in there.at.values():
                for answers in (each.watches, each.lists, each.looks, each.streams):
                    answers.clear()
            assert not there.source.picture.certain, "pods may be bound by it as soon as that is so"
            assert await there.until(lambda: there.source.picture.certain, 30.0) < 10.0
            assert there.equal

    run_virtually(main())


@pytest.mark.parametrize(
    "away",
    [pytest.param(12.0, id="after some seconds"), pytest.param(60.0, id="after a minute")],
)
def test_a_restored_history_that_has_passed_what_is_known_is_seen_after_an_outage(
    away: float,
) -> None:
    async def main() -> None:
        async with watched(OBJECTS, chance=lambda: 0.999) as there:
            port = await restore_with_raised_versions(there, away)
            await there.api.start(port)
            assert await there.until(lambda: there.source.picture.certain, 100.0) < 10.0
            assert there.equal

    run_virtually(main())


@pytest.mark.parametrize(
    "in_stream",
    [pytest.param(False, id="by a plain 410"), pytest.param(True, id="by an event")],
)
def test_from_versions_that_a_restore_has_bumped_no_watch_goes_on_and_nothing_is_certain(
    in_stream: bool,
) -> None:
    async def main() -> None:
        async with watched(OBJECTS, chance=lambda: 0.999) as there:
            port = await restore_with_raised_versions(there, 3.0)
            for each in there.at.values():
                each.compacted, each.expires_in_stream = there.api.version, in_stream
            await there.api.start(port)
            assert await there.until(lambda: there.source.picture.certain, 30.0) < 10.0
            assert there.equal

    run_virtually(main())


@pytest.mark.parametrize(
    ("closes", "least", "most"),
    [
        pytest.param(False, 70.0, 90.0, id="as soon as a watch is given up"),
        pytest.param(True, SHORTEST - 1.0, SILENCE + 6.0, id="after two bookmarks"),
    ],
)
def test_a_restore_behind_a_proxy_that_hides_the_break_is_seen(
    closes: bool, least: float, most: float
) -> None:
    async def main() -> None:
        async with watched(OBJECTS) as there:
            if closes:
                put_through_a_proxy(there)
                await asyncio.sleep(10.0)
            backup = lose_the_latest(there)
            await there.until(lambda: there.equal, 1.0)
            there.api.restore(backup)
            for each in there.at.values():
                each.send(CLOSE)
            await asyncio.sleep(1.0)
            assert not there.equal, "watches from the future are accepted, and say nothing"
            took = 1.0 + await there.until(lambda: there.equal, SILENCE + 10.0)
            assert least < took < most
            assert there.failing == []
            there.at["pods"].put(pod("after", "b"))
            assert await there.until(lambda: there.equal, 30.0) < 1.0

    run_virtually(main())


def old_list(there: Watched) -> Answer:
    """Answer as somebody does who keeps what the server said once."""
    version = there.api.version
    body = {
        "metadata": {"resourceVersion": str(version)},
        "items": [*there.at["pods"].objects.values()],
    }
    encoded = msgspec.json.encode(body)
    return answering(lambda: web.Response(body=encoded, content_type="application/json"))


def test_a_list_from_before_what_is_known_undoes_nothing_while_the_server_knows_better() -> None:
    async def main() -> None:
        async with watched(OBJECTS) as there:
            pods = there.at["pods"]
            old = old_list(there)
            pods.delete("shop/db")
            pods.put(pod("waits", "a"))
            await there.until(lambda: there.equal, 1.0)
            pods.lists.extend([old] * 20)
            put_through_a_proxy(there)
            end = there.now + SILENCE + 30.0
            while there.now < end:
                await asyncio.sleep(1.0)
                assert there.equal, "a deleted pod has not come back, nor is one unbound"
            assert len(pods.lists) < 20
            assert len(pods.looked) >= 20 - len(pods.lists)
            # The cure of silence is no cure: after three minutes that is said.
            pods.lists.extend([old] * 40)
            await there.until(lambda: there.failing != [], 60.0)
            await asyncio.sleep(1.0)
            assert there.state.stale == "nothing received about pods for too long"
            pods.lists.clear()
            await there.until(lambda: there.failing == [], 10.0)

    run_virtually(main())


SLOW_DOWN_LONG = answering(
    lambda: failure(429, "TooManyRequests", "slow down", headers={"Retry-After": "3600"})
)


UNANSWERED = [
    pytest.param(SLOW_DOWN, id="it has too much to do"),
    pytest.param(SLOW_DOWN_LONG, id="it has too much to do, and names an hour"),
    pytest.param(hanging(headers=False), id="nothing is answered"),
]


EXPIRES = saying(line("ERROR", status(410, "Expired", "too old resource version")))


@pytest.mark.parametrize(
    "watch", [*UNANSWERED, pytest.param(EXPIRES, id="it opens to say that only a list will do")]
)
def test_no_watch_for_the_time_of_a_restore_makes_what_is_known_uncertain(watch: Answer) -> None:
    async def main() -> None:
        async with watched(OBJECTS, chance=lambda: 0.999) as there:
            there.at["pods"].watches.extend([watch] * 1000)
            there.at["pods"].lists.extend([hanging(headers=False)] * 1000)
            there.at["pods"].send(CLOSE)
            await asyncio.sleep(USUAL_MIRROR.outage - 2.0)
            assert there.source.picture.certain, "no etcd is restored so soon"
            await asyncio.sleep(6.0)
            assert not there.source.picture.certain

    run_virtually(main())


@pytest.mark.parametrize("watch", UNANSWERED)
def test_a_restored_history_is_seen_though_the_watch_ended_in_order(watch: Answer) -> None:
    """It has passed what is known, so that no number tells."""

    async def main() -> None:
        async with watched(OBJECTS, chance=lambda: 0.999) as there:
            backup = lose_the_latest(there)
            await there.until(lambda: there.equal, 1.0)
            for each in there.at.values():
                for answers in (each.watches, each.lists, each.looks, each.streams):
                    answers.extend([watch] * 1000)
                each.send(CLOSE)
            await asyncio.sleep(30.0)
            known = there.api.version
            there.api.restore(backup)
            there.api.version = known + 1000
            for each in there.at.values():
                for answers in (each.watches, each.lists, each.looks, each.streams):
                    answers.clear()
            assert not there.source.picture.certain, "pods may be bound by it as soon as that is so"
            assert await there.until(lambda: there.source.picture.certain, 100.0) < 60.0
            assert there.equal

    run_virtually(main())


@pytest.mark.parametrize("code", [200, 503])
def test_a_watch_that_a_proxy_never_finishes_answering_is_given_up(code: int) -> None:
    """A byte now and then is no answer: in the headers, or in what a failure says."""

    async def answer(request: web.Request) -> web.StreamResponse:
        transport = request.transport
        assert transport is not None
        transport.write(f"HTTP/1.1 {code} Said\r\n".encode())
        transport.write(b"X-Slow: " if code == 200 else b"Content-Length: 9999\r\n\r\n")
        while not transport.is_closing():
            transport.write(b"x")
            await asyncio.sleep(30.0)
        raise asyncio.CancelledError

    async def main() -> None:
        async with watched(OBJECTS) as there:
            pods = there.at["pods"]
            pods.watches.append(answer)
            pods.send(CLOSE)
            pods.put(pod("more", "a"))
            assert await there.until(lambda: there.equal, HOUR) < 100.0

    run_virtually(main())
