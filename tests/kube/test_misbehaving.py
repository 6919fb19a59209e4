"""Servers that keep a mirror busy, or believing, without telling it anything."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from dataclasses import replace
from types import SimpleNamespace
from typing import Any
from unittest.mock import patch

import aiohttp
import pytest
from aiohttp import web
from aiohttp.base_protocol import BaseProtocol

from extender.core.errors import ObjectError
from extender.core.kube import watching
from extender.core.kube.calls import pod_path
from extender.core.kube.failures import BrokenAnswerError, IdleStreamError
from extender.core.kube.frames import Lines
from extender.core.kube.limits import MOST, Most, Timeouts
from extender.core.kube.pacing import Patience
from extender.core.timing import LOG_SECONDS
from tests.kube.fake_api import (
    CLOSE,
    DRIP_SECONDS,
    Answer,
    answering,
    dripping,
    failure,
    hanging,
    initial_events_end,
    line,
    saying,
)
from tests.kube.pulse import PATIENCE_SECONDS
from tests.kube.rig import PATH, Rig, at, thing

SHORT = Timeouts(idle=0.3, progress=0.1, streamed=0.4)


def bookmark(version: int) -> bytes:
    return line("BOOKMARK", {"metadata": {"resourceVersion": str(version)}})


def change(version: int) -> bytes:
    """Encode a change of the one thing."""
    return line("MODIFIED", at(version, thing("a", version)))


@pytest.mark.parametrize(
    ("event", "slept"),
    [
        pytest.param(bookmark, [0.8, 1.6, *[2.5] * 5], id="a bookmark"),
        pytest.param(change, [1.0] * 7, id="a change, which must not be late for long"),
    ],
)
async def test_server_that_closes_after_each_event_is_not_asked_in_a_hot_loop(
    rig: Rig, event: Callable[[int], bytes], slept: list[float]
) -> None:
    rig.things.watches.extend(saying(event(101 + number)) for number in range(8))
    async with rig.running():
        await rig.until_watching(9)
    assert rig.time.slept == slept, "only the first is opened again at once"
    assert rig.things.watched[-1].params["resourceVersion"] == "108"
    assert len(rig.things.listed) == 1


async def test_a_watch_that_lasts_makes_the_next_short_one_the_first_again(rig: Rig) -> None:
    async def lasting(request: web.Request) -> web.StreamResponse:
        rig.time.now += 300
        return await saying(bookmark(103))(request)

    rig.things.watches.extend([saying(bookmark(101)), saying(bookmark(102)), lasting])
    rig.things.watches.append(saying(bookmark(104)))
    async with rig.running():
        await rig.until_watching(5)
    assert rig.time.slept == [0.8]


@pytest.mark.parametrize(
    "piece",
    [
        pytest.param(lambda _: b"\n", id="newlines"),
        pytest.param(lambda _: b" ", id="blanks that never become a line"),
        pytest.param(lambda _: bookmark(7), id="bookmarks from before what is known"),
    ],
)
async def test_a_watch_on_which_only_noise_comes_is_given_up(
    rig: Rig, piece: Callable[[int], bytes]
) -> None:
    rig.timeouts = SHORT
    rig.things.watches.append(dripping(change(101), piece=piece))
    async with rig.running():
        await rig.until_values(a=101)
        rig.api.version = 101
        await rig.until_watching(2)
    assert rig.observer.restarts["idle"] >= 1
    assert rig.things.watched[1].params["resourceVersion"] == "101"


async def test_a_reader_that_bytes_woke_at_that_moment_is_told_again() -> None:
    # As asyncio has it: who was woken already does not see an exception that is set afterwards.
    loop = asyncio.get_running_loop()
    protocol = BaseProtocol(loop)
    protocol.connection_made(asyncio.Transport())
    content = aiohttp.StreamReader(protocol, 1 << 16, loop=loop)
    lines = Lines(SimpleNamespace(content=content))  # type: ignore[arg-type]
    patience = Patience(0.01, IdleStreamError)
    give_up = lines.give_up

    def at_the_same_moment(failure: BrokenAnswerError) -> None:
        if not content.total_bytes:
            content.feed_data(b"half a line")
        give_up(failure)

    with (
        patch.object(lines, "give_up", at_the_same_moment),
        patience.with_stream(lines),
        pytest.raises(IdleStreamError),
    ):
        async with asyncio.timeout(PATIENCE_SECONDS):
            await anext(lines)


async def test_bookmarks_keep_a_watch_alive(rig: Rig) -> None:
    # A busy machine may keep either side waiting for tenths of a second.
    rig.timeouts = replace(SHORT, idle=1.0)
    done = asyncio.Event()

    def piece(number: int) -> bytes:
        if number * DRIP_SECONDS > 1.2 * rig.timeouts.idle:
            done.set()
        return bookmark(200 + number)

    rig.things.watches.append(dripping(piece=piece))
    async with rig.running(), asyncio.timeout(PATIENCE_SECONDS):
        await done.wait()
        assert len(rig.things.watched) == 1


NOTHING_NEW = "nothing of use came for 0.1 s"


@pytest.mark.parametrize(
    ("answer", "says"),
    [
        pytest.param(
            dripping(piece=lambda number: line("ADDED", at(900 + number, thing("x", number)))),
            NOTHING_NEW,
            id="the same object again and again",
        ),
        pytest.param(
            dripping(line("ADDED", at(900, thing("x"))), piece=bookmark),
            NOTHING_NEW,
            id="bookmarks, but never the last one",
        ),
        pytest.param(
            dripping(line("ADDED", at(900, thing("x"))), piece=lambda _: b"\n"),
            NOTHING_NEW,
            id="newlines",
        ),
        pytest.param(hanging(line("ADDED", at(900, thing("x")))), NOTHING_NEW, id="nothing"),
        pytest.param(
            dripping(piece=lambda number: line("ADDED", at(900 + number, thing(f"x{number}")))),
            "not complete after 0.4 s",
            id="new objects without end",
        ),
    ],
)
async def test_initial_events_that_never_end_are_listed_in_pages_from_then_on(
    rig: Rig, answer: Answer, says: str, caplog: pytest.LogCaptureFixture
) -> None:
    # Only one of the two deadlines can be what ends it, also on a machine that stands still.
    one = {"streamed": PATIENCE_SECONDS} if says is NOTHING_NEW else {"progress": PATIENCE_SECONDS}
    rig.timeouts = replace(SHORT, **one)
    rig.things.streams_lists = True
    rig.things.put(thing("a", 1))
    rig.things.streams.append(answer)
    async with rig.running() as reflector:
        await reflector.synced.wait()
        assert rig.sink.values == {"a": 1}
        await rig.until_watching()
        rig.things.watches.append(answering(lambda: failure(410, "Expired", "too old")))
        rig.things.send(CLOSE)
        await rig.pulse.until(lambda: len(rig.things.listed) == 2)
    assert len(rig.things.streamed) == 1
    assert caplog.text.count("listing in pages from now on") == 1
    assert f"listing in pages from now on: {says}" in caplog.text


@pytest.mark.parametrize(
    ("piece", "news"),
    [
        pytest.param(
            lambda each: line("ADDED", at(900 + each, thing("x", each))), 1, id="one object"
        ),
        pytest.param(lambda each: line("ADDED", at(900, thing(f"x{each}"))), 20, id="new objects"),
        pytest.param(bookmark, 0, id="bookmarks"),
        pytest.param(lambda _: b"\n", 0, id="newlines"),
    ],
)
async def test_only_an_object_that_is_new_is_progress_of_a_stream(
    rig: Rig, monkeypatch: pytest.MonkeyPatch, piece: Callable[[int], bytes], news: int
) -> None:
    renewed: list[float] = []

    class Noting(Patience):
        def renew(self) -> None:
            renewed.append(self.seconds)
            super().renew()

    monkeypatch.setattr(watching, "Patience", Noting)
    rig.things.streams_lists = True
    rig.things.streams.append(saying(*map(piece, range(20)), initial_events_end(960)))
    async with rig.running() as reflector:
        await reflector.synced.wait()
    assert rig.things.listed == []
    assert len(renewed) == 1 + news, "as it begins, and with each that is new"


async def test_a_long_stream_that_makes_progress_is_taken(rig: Rig) -> None:
    # It takes twice as long in all, and thirty times as long as a piece.
    rig.timeouts = Timeouts(progress=0.3, streamed=30.0)
    rig.things.streams_lists = True

    async def slowly(request: web.Request) -> web.StreamResponse:
        def piece(number: int) -> bytes:
            if number == 60:
                return initial_events_end(960)
            return line("ADDED", at(900 + number, thing(f"t{number}", number)))

        return await dripping(piece=piece)(request)

    rig.things.streams.append(slowly)
    async with rig.running() as reflector:
        await reflector.synced.wait()
    assert len(rig.sink.things) == 60
    assert rig.things.listed == []


async def test_pages_without_end_and_without_anything_new_are_no_list(
    rig: Rig, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(watching, "MOST", Most(barren_pages=5))
    rig.things.put(thing("a", 1))

    def page(number: int) -> Answer:
        metadata = {"resourceVersion": "100", "continue": f"more-{number}"}
        return answering(lambda: _json({"kind": "List", "metadata": metadata, "items": []}))

    rig.things.lists.extend(page(number) for number in range(6))
    async with rig.running():
        await rig.until_values(a=1)
    assert rig.observer.relists == {"broken": 1}
    assert len(rig.things.listed) == 7


async def test_pages_that_bring_something_now_and_then_are_a_list(
    rig: Rig, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(watching, "MOST", Most(barren_pages=3))

    def page(number: int, *items: Any) -> Answer:
        metadata = {"resourceVersion": "100", "continue": f"more-{number}" if number < 9 else ""}
        return answering(lambda: _json({"kind": "List", "metadata": metadata, "items": items}))

    every_third = [
        [at(100, thing(f"t{number}", number))] * (number % 3 == 0) for number in range(10)
    ]
    rig.things.lists.extend(page(number, *each) for number, each in enumerate(every_third))
    async with rig.running() as reflector:
        await rig.pulse.until(lambda: reflector.synced.is_set() or bool(rig.observer.relists))
        assert not rig.observer.relists
        await rig.until_values(t0=0, t3=3, t6=6, t9=9)


def _json(body: Any) -> web.Response:
    from aiohttp import web  # noqa: PLC0415 - only for types elsewhere

    return web.json_response(body)


async def test_what_is_left_out_is_logged_once_a_kind_and_minute(
    rig: Rig, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.WARNING, "extender.core.kube")
    broken = {**thing("secretive"), "value": "x" * 10_000}
    async with rig.running():
        await rig.until_watching()
        for version in range(101, 151):
            rig.things.send(b" \n", line("ADDED", at(version, broken)))
        rig.api.version = 150
        rig.things.send(b"\x00 no JSON" * 200 + b"\n")
        await rig.until_watching(2)
        rig.things.send(line("RENAMED\n", at(160, thing("b"))))
        await rig.pulse.until(lambda: rig.observer.skips.total() == 102)
        rig.time.now += LOG_SECONDS
        await rig.until_watching(3)
        rig.things.send(b"?\n")
        await rig.pulse.until(lambda: rig.observer.skips.total() == 103)
    messages = [each.getMessage() for each in caplog.records if "left out" in each.getMessage()]
    assert messages == [
        "things: left out, not_json: 2 bytes, b' \\n'",
        "things: left out, unreadable: ns/secretive: value: expected a number",
        "things: left out, unknown_type: 'RENAMED\\n'",
        "things: left out, not_json: 2 bytes, b'?\\n' (and 50 times before, not logged)",
    ]
    assert max(map(len, messages)) < MOST.detail + 80


async def test_an_open_watch_on_which_nothing_comes_tells_no_news(rig: Rig) -> None:
    async with rig.running() as reflector:
        silences = [reflector.mirror.silent_for]
        await rig.until_watching()
        silences.append(reflector.mirror.silent_for)
        rig.time.now += 100
        rig.things.send(CLOSE)
        await rig.until_watching(2)
        silences.append(reflector.mirror.silent_for)
        rig.things.bookmark()
        await rig.pulse.until(lambda: rig.observer.events["BOOKMARK"] == 1)
        silences.append(reflector.mirror.silent_for)
    assert silences == [None, 0.0, 100.0, 0.0]


@pytest.mark.parametrize(
    ("key", "path"),
    [
        pytest.param("shop/web-0.x", "/api/v1/namespaces/shop/pods/web-0.x", id="a usual name"),
        pytest.param("shop/a b+c", "/api/v1/namespaces/shop/pods/a%20b%2Bc", id="a strange one"),
    ],
)
async def test_names_are_encoded_once(rig: Rig, key: str, path: str) -> None:
    seen: list[str] = []

    async def answer(request: web.Request) -> web.StreamResponse:
        seen.append(request.raw_path)
        return _json({})

    rig.api.collection(f"/api/v1/namespaces/{key.replace('/', '/pods/')}").lists.append(answer)
    async with rig.client() as client:
        await client.get(pod_path(key), {})
    assert seen == [path]


@pytest.mark.parametrize("key", ["../web", "shop/..", "shop/.", "shop/", "shop/a/b", "shop/a%2fb"])
def test_what_is_no_name_leads_nowhere(key: str) -> None:
    with pytest.raises(ObjectError, match="no name of an object"):
        pod_path(key)


async def test_a_continue_token_goes_back_as_it_came(rig: Rig) -> None:
    token = "a+b/c==%41&limit=1 é"  # noqa: S105 - a place in a list, no secret
    metadata = {"resourceVersion": "100", "continue": token}
    rig.things.lists.append(
        answering(lambda: _json({"metadata": metadata, "items": [at(9, thing("a", 1))]}))
    )
    rig.things.continues[token] = 100, [at(10, thing("b", 2))]
    async with rig.running():
        await rig.until_values(a=1, b=2)
    assert rig.things.listed[1].params["continue"] == token
    assert rig.things.listed[1].path == PATH
