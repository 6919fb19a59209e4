"""Taking over a list: pages, versions that are too old or too new, objects that make no sense."""

from __future__ import annotations

import asyncio
import itertools
from typing import Any

import pytest
from aiohttp import web

from tests.kube.fake_api import (
    CLOSE,
    Answer,
    Json,
    answering,
    dropping,
    failure,
    listing,
)
from tests.kube.rig import Rig, Thing, thing

EXPIRED = answering(lambda: failure(410, "Expired", "too old resource version"))


def relist(rig: Rig) -> None:
    """Have the watch refused, so that everything is listed again."""
    rig.things.compact()
    rig.things.send(CLOSE)


async def test_first_list_takes_the_latest_by_selector_and_in_pages(rig: Rig) -> None:
    rig.things.put(thing("a", 1))
    async with rig.running() as reflector:
        await reflector.synced.wait()
    assert rig.things.listed[0].params == {
        "fieldSelector": "shape!=round",
        "limit": "500",
    }
    assert rig.sink.values == {"a": 1}
    assert rig.observer.syncs == [("things", False), ("things", True)]
    assert not rig.observer.relists


async def test_pages_are_followed_to_the_last(rig: Rig) -> None:
    for number in range(1001):
        rig.things.put(thing(f"t{number}", number))
    async with rig.running():
        await rig.until_watching()
    assert len(rig.sink.things) == 1001
    assert len(rig.things.listed) == 3
    assert rig.things.watched[0].params["resourceVersion"] == str(rig.api.version)


async def test_a_watch_goes_on_from_the_first_page_if_the_next_is_newer(rig: Rig) -> None:
    first = listing([thing("a", 1)], version="5", more="next")
    rig.things.lists.extend([first, listing([thing("b", 2)], version="9")])
    async with rig.running():
        await rig.until_watching()
    assert rig.sink.values == {"a": 1, "b": 2}
    assert rig.things.watched[0].params["resourceVersion"] == "5"


async def test_unpaged_answer_to_a_paged_question_is_taken(rig: Rig) -> None:
    # As a server's cache answers some lists: at once, whatever the limit.
    everything = [thing(f"t{number}", number) for number in range(1001)]
    rig.things.lists.append(listing(everything, version="7"))
    async with rig.running():
        await rig.until_watching()
    assert len(rig.sink.things) == 1001
    assert len(rig.things.listed) == 1


async def test_null_items_are_an_empty_list(rig: Rig) -> None:
    rig.things.lists.append(listing(None, version="7"))
    async with rig.running():
        await rig.until_watching()
    assert rig.things.watched[0].params["resourceVersion"] == "7"


async def test_expired_continue_falls_back_to_one_whole_list(rig: Rig) -> None:
    rig.things.paginates_cached = True
    for number in range(1200):
        rig.things.put(thing(f"t{number}", number))

    async def expire(request: web.Request) -> web.StreamResponse:
        rig.things.compact()
        rig.things.delete("ns/t3")
        return await rig.things.list(request)

    rig.things.lists.extend([rig.things.list, expire])
    async with rig.running():
        await rig.until_watching()
    assert len(rig.sink.things) == 1199
    assert [set(seen.params) for seen in rig.things.listed] == [
        {"fieldSelector", "limit"},
        {"fieldSelector", "limit", "continue"},
        {"fieldSelector"},
    ]
    assert rig.time.slept == []


async def test_a_refusal_of_the_latest_is_slept_off(rig: Rig) -> None:
    rig.things.put(thing("a", 1))
    rig.things.lists.append(EXPIRED)
    async with rig.running():
        await rig.until_watching()
    assert rig.sink.values == {"a": 1}
    assert rig.observer.relists == {"expired": 1}
    assert rig.time.slept == [0.8]


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        pytest.param(
            answering(lambda: web.Response(text="<html>hello</html>")),
            "broken",
            id="a page for people",
        ),
        pytest.param(answering(lambda: web.json_response({})), "broken", id="an empty object"),
        pytest.param(answering(lambda: web.json_response([])), "broken", id="an array"),
        pytest.param(
            answering(lambda: web.json_response({"metadata": {}, "items": []})),
            "broken",
            id="a list without version",
        ),
        pytest.param(
            answering(
                lambda: web.json_response({"metadata": {"resourceVersion": ""}, "items": []})
            ),
            "broken",
            id="a list of an empty version",
        ),
        pytest.param(
            answering(lambda: web.json_response({"metadata": {"resourceVersion": "7"}})),
            "broken",
            id="a list without items",
        ),
        pytest.param(
            answering(lambda: web.Response(body=b'{"metadata":{"resourceVersion":"7"},"items":[{')),
            "broken",
            id="half a list",
        ),
        pytest.param(
            answering(lambda: web.Response(body=b"\xff\xfe\x00")), "broken", id="bytes of no text"
        ),
        pytest.param(dropping, "unreachable", id="no answer at all"),
        pytest.param(
            answering(lambda: web.Response(status=502, text="<html>bad gateway</html>")),
            "refused",
            id="a failure of a proxy",
        ),
        pytest.param(
            answering(lambda: web.Response(status=302, headers={"Location": "/login"})),
            "refused",
            id="a redirect to a login page",
        ),
        pytest.param(answering(lambda: failure(403, "Forbidden", "no")), "refused", id="a refusal"),
    ],
)
async def test_what_is_no_list_never_passes_for_an_empty_cluster(
    rig: Rig, answer: Answer, reason: str
) -> None:
    rig.things.put(thing("a", 1))
    async with rig.running() as reflector:
        await rig.until_watching()
        # aiohttp itself tries once more when a connection drops that it had used before.
        rig.things.lists.extend([answer, answer, answer])
        rig.things.watches.append(EXPIRED)
        rig.things.send(CLOSE)
        await rig.until_watching(3)
        assert reflector.synced.is_set()
    assert rig.sink.values == {"a": 1}
    assert rig.sink.deleted == []
    assert rig.observer.relists[reason] >= 1
    assert rig.observer.relists["expired"] == 1


async def test_pages_that_go_round_in_a_circle_are_left(rig: Rig) -> None:
    page: Json = {"metadata": {"resourceVersion": "7", "continue": "again"}, "items": []}
    rig.things.lists.extend([answering(lambda: web.json_response(page))] * 2)
    async with rig.running():
        await rig.until_watching()
    assert rig.observer.relists == {"broken": 1}


async def test_objects_that_cannot_be_read_are_left_out(rig: Rig) -> None:
    rig.things.put(thing("good", 1))
    items = [
        thing("good", 1),
        {**thing("odd"), "value": "many"},
        {"metadata": {"name": 7}},
        "not even an object",
        {},
    ]
    rig.things.lists.append(listing(items, version="7"))
    async with rig.running() as reflector:
        await reflector.synced.wait()
    assert rig.sink.values == {"good": 1}
    assert rig.observer.skips == {"unreadable": 1, "no_metadata": 3}


async def test_relist_puts_the_difference_right(rig: Rig) -> None:
    for name in ("kept", "changed", "gone", "replaced"):
        rig.things.put(thing(name, 1))
    async with rig.running():
        await rig.until_watching()
        rig.things.muted = True
        rig.things.put(thing("changed", 2))
        rig.things.delete("ns/gone")
        rig.things.delete("ns/replaced")
        rig.things.put(thing("replaced", 3, uid="another"))
        rig.things.put(thing("new", 4))
        rig.things.compact()
        rig.things.muted = False
        rig.things.send(CLOSE)
        await rig.until_values(kept=1, changed=2, replaced=3, new=4)
    assert rig.sink.things["ns/replaced"] == Thing("ns/replaced", "another", 3)
    assert rig.sink.deleted == [("ns/gone", "uid-of-gone")]
    assert rig.observer.syncs == [("things", False), ("things", True)]


@pytest.mark.parametrize(
    ("uid", "values"),
    [
        pytest.param(None, {"a": 1, "b": 2}, id="the same object keeps its last good version"),
        pytest.param("another", {"b": 2}, id="another object of that name ends the old one"),
    ],
)
async def test_known_object_that_a_relist_shows_broken(
    rig: Rig, uid: str | None, values: dict[str, int]
) -> None:
    rig.things.put(thing("a", 1))
    async with rig.running():
        await rig.until_watching()
        broken = {**thing("a", uid=uid), "value": None}
        rig.things.lists.append(listing([broken, thing("b", 2)], version="900"))
        rig.api.version = 900
        rig.things.watches.append(EXPIRED)
        rig.things.send(CLOSE)
        await rig.until_watching(3)
        assert rig.sink.values == values
    assert rig.observer.skips == {"unreadable": 1}


async def test_relist_is_a_consistent_read(rig: Rig) -> None:
    async with rig.running():
        await rig.until_watching()
        rig.things.put(thing("a", 1))
        await rig.until_values(a=1)
        rig.things.watches.append(EXPIRED)
        rig.things.send(CLOSE)
        await rig.until_watching(3)
    assert rig.things.listed[1].params == rig.things.listed[0].params


async def test_version_follows_an_etcd_that_was_restored_from_a_backup(rig: Rig) -> None:
    rig.api.version = 5000
    async with rig.running():
        await rig.until_watching()
        rig.api.version = 300
        rig.things.watches.append(EXPIRED)
        rig.things.put(thing("a", 1))
        rig.things.send(CLOSE)
        await rig.until_watching(3)
        assert rig.things.watched[-1].params["resourceVersion"] == "301"
    assert "resourceVersion" not in rig.things.listed[-1].params


async def test_what_a_restored_etcd_has_is_taken_over_before_anything_is_decided_by_it(
    rig: Rig, monkeypatch: pytest.MonkeyPatch
) -> None:
    rig.api.version = 5000
    rig.things.put(thing("gone"))
    async with rig.running() as reflector:
        await rig.until_watching()
        certain: list[bool] = []
        change = rig.sink.upsert, rig.sink.delete
        for name, work in zip(("upsert", "delete"), change, strict=True):

            def noted(*args: Any, work: Any = work) -> None:
                certain.append(reflector.certain.is_set())
                work(*args)

            monkeypatch.setattr(rig.sink, name, noted)
        rig.api.version, rig.things.objects = 300, {}
        rig.things.watches.append(EXPIRED)
        rig.things.put(thing("back"))
        rig.things.send(CLOSE)
        await rig.until_watching(3)
        assert (certain, reflector.certain.is_set()) == ([False, False], True)


@pytest.mark.parametrize(
    "streams", [pytest.param(False, id="in pages"), pytest.param(True, id="as a stream")]
)
async def test_others_get_their_turn_while_everything_is_taken_over(
    rig: Rig,
    streams: bool,
) -> None:
    rig.things.streams_lists = streams
    for number in range(2000):
        rig.things.put(thing(f"t{number}", number))
    read: list[int] = []
    stored: list[int] = []

    async def look() -> None:
        while True:
            read.append(rig.reads)
            stored.append(len(rig.sink.things))
            await asyncio.sleep(0)

    looking = asyncio.create_task(look())
    async with rig.running() as reflector:
        await reflector.synced.wait()
    looking.cancel()
    for seen in (read, stored):
        assert max(after - before for before, after in itertools.pairwise(seen)) <= 100


async def test_others_get_their_turn_while_much_is_removed(rig: Rig) -> None:
    for number in range(1000):
        rig.things.put(thing(f"t{number}", number))
    held: list[int] = []

    async def look() -> None:
        while True:
            held.append(len(rig.sink.things))
            await asyncio.sleep(0)

    async with rig.running():
        await rig.until_watching()
        rig.things.muted = True
        for name in sorted(rig.things.objects):
            rig.things.delete(name)
        rig.things.compact()
        rig.things.send(CLOSE)
        looking = asyncio.create_task(look())
        await rig.until_values()
        looking.cancel()
    assert max(before - after for before, after in itertools.pairwise(held)) <= 100
