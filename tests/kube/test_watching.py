"""Following changes: every way a watch can end, lie or stand still."""

from __future__ import annotations

import logging

import pytest
from aiohttp import web

from extender.core.kube.limits import Most, Timeouts
from tests.kube.fake_api import (
    CLOSE,
    CUT,
    Answer,
    answering,
    dropping,
    failure,
    hanging,
    line,
    listing,
    saying,
    status,
)
from tests.kube.rig import Rig, at, thing


async def test_changes_arrive(rig: Rig) -> None:
    async with rig.running():
        await rig.until_watching()
        rig.things.put(thing("a", 1))
        rig.things.put(thing("b", 1))
        rig.things.put(thing("a", 2))
        rig.things.delete("ns/b")
        await rig.until_values(a=2)
    assert rig.observer.events == {"ADDED": 2, "MODIFIED": 1, "DELETED": 1}
    assert rig.observer.heard_at == rig.time.now


@pytest.mark.parametrize(
    ("chance", "seconds"),
    [
        pytest.param(0.0, "300", id="at the least"),
        pytest.param(0.5, "450", id="half way"),
        pytest.param(0.9999, "599", id="at the most"),
    ],
)
async def test_watch_asks_for_bookmarks_and_an_end_in_five_to_ten_minutes(
    rig: Rig, chance: float, seconds: str
) -> None:
    rig.time.chance = chance
    async with rig.running():
        await rig.until_watching()
    assert rig.things.watched[0].params == {
        "watch": "true",
        "fieldSelector": "shape!=round",
        "resourceVersion": "100",
        "allowWatchBookmarks": "true",
        "timeoutSeconds": seconds,
    }


@pytest.mark.parametrize(
    "end",
    [
        pytest.param(CLOSE, id="a server that closes without a word"),
        pytest.param(CUT, id="a connection that is cut"),
    ],
)
async def test_watch_that_brought_something_goes_on_at_once_from_there(
    rig: Rig, end: bytes
) -> None:
    async with rig.running():
        await rig.until_watching()
        version = rig.things.put(thing("a", 1))
        await rig.until_values(a=1)
        rig.things.send(end)
        await rig.until_watching(2)
        assert rig.things.watched[1].params["resourceVersion"] == str(version)
        rig.things.put(thing("b", 2))
        await rig.until_values(a=1, b=2)
    assert rig.time.slept == []
    assert len(rig.things.listed) == 1


async def test_bookmarks_move_the_version(rig: Rig) -> None:
    async with rig.running():
        await rig.until_watching()
        version = rig.things.bookmark()
        await rig.pulse.until(lambda: rig.observer.events["BOOKMARK"] == 1)
        rig.things.send(CLOSE)
        await rig.until_watching(2)
    assert rig.things.watched[1].params["resourceVersion"] == str(version)
    assert rig.time.slept == []


async def test_server_that_ends_each_watch_at_once_is_not_asked_in_a_hot_loop(rig: Rig) -> None:
    rig.things.watches.extend([saying()] * 8)
    async with rig.running():
        await rig.until_watching(9)
    assert rig.time.slept == [0.8, 1.6, *[2.5] * 6]
    assert rig.observer.restarts == {"empty": 8}
    assert len(rig.things.listed) == 1


@pytest.mark.parametrize(
    ("answer", "skips", "lists"),
    [
        pytest.param(
            saying(b"\n", b"garbage\n", b"\xff\xfe\n", b"[1]\n"),
            {"not_json": 6},
            2,
            id="only lines of garbage",
        ),
        pytest.param(
            answering(lambda: web.Response(text="<html>welcome</html>")),
            {"truncated": 3},
            2,
            id="a page for people with status 200",
        ),
        pytest.param(saying(CUT), {}, 1, id="a connection cut at once"),
    ],
)
async def test_watch_that_brings_nothing_of_use_is_slept_off(
    rig: Rig, answer: Answer, skips: dict[str, int], lists: int
) -> None:
    rig.things.watches.extend([answer] * 3)
    async with rig.running():
        await rig.until_watching(4)
        rig.things.put(thing("a", 1))
        await rig.until_values(a=1)
    assert rig.time.slept == [0.8, 1.6, 2.5]
    assert rig.observer.skips == skips
    assert len(rig.things.listed) == lists


@pytest.mark.parametrize(
    ("broken", "reason"),
    [
        pytest.param(b"\x00{}\n", "not_json", id="bytes that are no JSON"),
        pytest.param(b'{"type":"ADDED"}\n', "not_json", id="an event without object"),
        pytest.param(b'{"type":7,"object":{}}\n', "not_json", id="a type that is no text"),
        pytest.param(
            line("RENAMED", at(901, thing("a"))), "unknown_type", id="a type we do not know"
        ),
        pytest.param(line("ADDED", {"kind": "Thing"}), "no_metadata", id="no metadata"),
        pytest.param(
            line("ADDED", {"metadata": {"resourceVersion": "901"}}), "no_metadata", id="no name"
        ),
        pytest.param(line("MODIFIED", thing("known", 9)), "no_metadata", id="no version"),
        pytest.param(line("BOOKMARK", {"metadata": {}}), "no_metadata", id="an empty bookmark"),
        pytest.param(
            b'{"type":"ADDED","object":' + b"[" * 500_000 + b"]" * 500_000 + b"}\n",
            "not_json",
            id="nesting deeper than any API server has it",
        ),
    ],
)
async def test_line_that_is_no_event_ends_the_watch_and_is_asked_for_again(
    rig: Rig, broken: bytes, reason: str
) -> None:
    rig.things.put(thing("known", 1))
    rig.api.version = 900
    async with rig.running():
        await rig.until_watching()
        before = rig.things.watched[0].params["resourceVersion"]
        rig.things.muted = True
        rig.things.put(thing("known", 2))
        rig.things.muted = False
        rig.things.send(broken)
        rig.things.put(thing("next", 2))
        await rig.until_values(known=2, next=2)
        await rig.until_watching(2)
    assert rig.observer.skips == {reason: 1}
    assert rig.observer.restarts == {"broken": 1}
    assert rig.things.watched[1].params["resourceVersion"] == before
    assert len(rig.things.listed) == 1


async def test_line_that_is_no_event_twice_at_the_same_place_costs_a_list(rig: Rig) -> None:
    rig.things.watches.extend([saying(b"garbage\n")] * 2)
    async with rig.running():
        await rig.until_watching(3)
        rig.things.put(thing("a", 1))
        await rig.until_values(a=1)
        rig.things.send(b"garbage\n")
        await rig.until_watching(4)
    assert rig.observer.relists == {"broken": 1}
    assert len(rig.things.listed) == 2, "another place is another matter"


async def test_object_that_cannot_be_read_keeps_its_last_good_version_and_costs_nothing(
    rig: Rig,
) -> None:
    rig.things.put(thing("known", 1))
    async with rig.running() as reflector:
        await rig.until_watching()
        for _ in range(100):
            rig.things.put({**thing("known"), "value": "x"})
        rig.things.put({**thing("never known"), "value": "x"})
        rig.things.put(thing("next", 2))
        await rig.until_values(known=1, next=2)
        why = "value: expected a number"
        assert reflector.mirror.unreadable == {"ns/known": why, "ns/never known": why}
        rig.things.delete("ns/never known")
        rig.things.put(thing("known", 3))
        await rig.until_values(known=3, next=2)
        assert reflector.mirror.unreadable == {}
    assert rig.observer.skips == {"unreadable": 101}
    assert len(rig.things.watched) == 1
    assert len(rig.things.listed) == 1


async def test_defect_in_reading_one_object_does_not_end_the_stream(rig: Rig) -> None:
    async with rig.running():
        await rig.until_watching()
        # The rig's reader looks a namespace up that this object does not have.
        rig.things.send(line("ADDED", at(101, {"metadata": {"name": "bare"}, "value": 1})))
        rig.api.version = 110
        rig.things.put(thing("next", 2))
        await rig.until_values(next=2)
    assert rig.observer.skips == {"unreadable": 1}
    assert len(rig.things.watched) == 1


async def test_line_cut_off_in_the_middle_is_never_an_event(rig: Rig) -> None:
    whole = line("ADDED", at(101, thing("a", 1)))
    rig.things.watches.append(saying(whole, line("ADDED", at(102, thing("b", 2)))[:40], CUT))
    rig.things.put(thing("a", 1))
    rig.things.put(thing("b", 2))
    rig.things.lists.append(listing([], version="100"))
    async with rig.running():
        await rig.until_values(a=1, b=2)
    assert [seen.params["resourceVersion"] for seen in rig.things.watched] == ["100", "101"]
    assert rig.observer.restarts == {"broken": 1}
    assert len(rig.things.listed) == 1


async def test_last_line_without_its_end_is_dropped_and_asked_for_again(rig: Rig) -> None:
    rig.things.watches.append(saying(line("ADDED", at(101, thing("a", 1)))[:-20]))
    rig.things.lists.append(listing([], version="100"))
    rig.things.put(thing("a", 1))
    async with rig.running():
        await rig.until_values(a=1)
    assert rig.observer.skips == {"truncated": 1}
    assert rig.things.watched[1].params["resourceVersion"] == "100"
    assert len(rig.things.listed) == 1


@pytest.mark.parametrize(
    ("answer", "reason", "slept"),
    [
        pytest.param(
            answering(lambda: failure(410, "Expired", "too old resource version")),
            "expired",
            [0.8],
            id="410 as the answer",
        ),
        pytest.param(
            saying(line("ERROR", status(410, "Expired", "too old resource version"))),
            "expired",
            [0.8],
            id="410 as an ERROR event",
        ),
        pytest.param(
            saying(line("ERROR", status(410, "Gone", "gone"))),
            "expired",
            [0.8],
            id="410 by its older name",
        ),
        pytest.param(
            saying(line("ERROR", status(500, None, "etcdserver: no leader"))),
            "refused",
            [0.8],
            id="an ERROR event without reason",
        ),
        pytest.param(
            saying(line("ERROR", {"metadata": {}})), "refused", [0.8], id="an ERROR without Status"
        ),
        pytest.param(
            saying(b'{"type":"ERROR","object":"what"}\n'),
            "refused",
            [0.8],
            id="an ERROR that holds no object",
        ),
        pytest.param(
            answering(lambda: web.Response(status=502, text="<html>bad gateway</html>")),
            "refused",
            [0.8],
            id="a proxy's 502 with a page for people",
        ),
        pytest.param(
            answering(lambda: failure(503, "Unavailable", "no", headers={"Retry-After": "7"})),
            "refused",
            [7.0],
            id="503 that asks for seven seconds",
        ),
    ],
)
async def test_failure_that_voids_the_version_lists_again(
    rig: Rig, answer: Answer, reason: str, slept: list[float]
) -> None:
    rig.things.put(thing("a", 1))
    rig.things.watches.append(answer)
    async with rig.running():
        await rig.until_watching(2)
    assert rig.sink.values == {"a": 1}
    assert rig.observer.relists == {reason: 1}
    assert rig.time.slept == slept
    assert len(rig.things.listed) == 2


@pytest.mark.parametrize(
    ("answer", "reason", "slept"),
    [
        pytest.param(
            answering(
                lambda: failure(429, "TooManyRequests", "slow down", headers={"Retry-After": "5"})
            ),
            "throttled",
            5.0,
            id="429 waits as long as asked",
        ),
        pytest.param(
            answering(lambda: failure(429, "TooManyRequests", "slow down")),
            "throttled",
            0.8,
            id="429 that names no time",
        ),
        pytest.param(
            answering(
                lambda: failure(429, "TooManyRequests", "no", headers={"Retry-After": "86400"})
            ),
            "throttled",
            32.0,
            id="429 that names a day",
        ),
        pytest.param(
            saying(line("ERROR", status(429, "TooManyRequests", "slow down", retryAfterSeconds=4))),
            "throttled",
            4.0,
            id="429 as an ERROR event",
        ),
        pytest.param(
            saying(
                line("ADDED", at(101, thing("a", 1))),
                line("ERROR", status(429, "TooManyRequests", "slow down", retryAfterSeconds=4)),
            ),
            "throttled",
            4.0,
            id="429 after something came",
        ),
    ],
)
async def test_throttled_watch_waits_and_goes_on_without_a_list(
    rig: Rig, answer: Answer, reason: str, slept: float
) -> None:
    rig.things.put(thing("a", 1))
    rig.things.watches.append(answer)
    async with rig.running():
        await rig.until_watching(2)
    assert rig.observer.restarts == {reason: 1}
    assert rig.time.slept[0] == slept
    assert len(rig.things.listed) == 1


async def test_server_that_is_away_for_a_while_costs_no_list(rig: Rig) -> None:
    async with rig.running():
        await rig.until_watching()
        version = rig.things.put(thing("a", 1))
        await rig.until_values(a=1)
        port = rig.api.port
        await rig.api.stop()
        await rig.pulse.until(lambda: len(rig.time.slept) >= 3)
        rig.things.put(thing("b", 2))
        await rig.api.start(port)
        await rig.until_values(a=1, b=2)
    assert rig.observer.restarts["unreachable"] >= 3
    assert rig.things.watched[-1].params["resourceVersion"] == str(version)
    assert len(rig.things.listed) == 1
    assert ("GET", f"127.0.0.1:{port}", "<error>") in rig.observer.requests


async def test_break_and_its_end_are_logged_once(
    rig: Rig, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, "extender.core.kube.reflector")
    rig.things.watches.extend([saying()] * 5)
    async with rig.running():
        await rig.until_watching(6)
        rig.things.put(thing("a", 1))
        rig.things.put(thing("b", 2))
        await rig.until_values(a=1, b=2)
    assert [record.getMessage() for record in caplog.records if "pages" not in record.msg] == [
        "things: synced, 0 objects",
        "things: watching again: ended at once and brought nothing",
        "things: watching",
    ]


async def test_connection_dropped_instead_of_an_answer_costs_no_list(rig: Rig) -> None:
    rig.things.watches.extend([dropping, dropping])
    async with rig.running():
        await rig.until_watching(3)
    assert rig.observer.restarts["unreachable"] >= 1
    assert len(rig.things.listed) == 1


async def test_open_watch_on_which_nothing_comes_is_given_up(rig: Rig) -> None:
    rig.timeouts = Timeouts(idle=0.05)
    slept_before: list[float] | None = None

    async def second(request: web.Request) -> web.StreamResponse:
        nonlocal slept_before
        slept_before = list(rig.time.slept)
        return await rig.things.watch(request)

    rig.things.watches.append(hanging(line("ADDED", at(101, thing("a", 1)))))
    rig.things.watches.append(second)
    async with rig.running():
        await rig.until_values(a=1)
        rig.api.version = 101
        await rig.until_watching(2)
    assert rig.observer.restarts["idle"] >= 1
    assert rig.things.watched[1].params["resourceVersion"] == "101"
    assert slept_before == []
    assert len(rig.things.listed) == 1


async def test_watch_that_is_never_answered_is_given_up(rig: Rig) -> None:
    rig.timeouts = Timeouts(idle=0.05)
    rig.things.watches.append(hanging(headers=False))
    async with rig.running():
        await rig.pulse.until(lambda: rig.observer.restarts["unreachable"] == 1)
        await rig.until_watching(2)
    assert rig.time.slept[0] == 0.8
    assert len(rig.things.listed) == 1


async def test_version_does_not_go_back_with_events_out_of_order(rig: Rig) -> None:
    async with rig.running():
        await rig.until_watching()
        rig.things.send(
            line("ADDED", at(900, thing("late", 1))), line("ADDED", at(120, thing("early", 2)))
        )
        await rig.until_values(late=1, early=2)
        rig.api.version = 900
        rig.things.send(CLOSE)
        await rig.until_watching(2)
    assert rig.things.watched[1].params["resourceVersion"] == "900"


async def test_versions_that_are_no_numbers_are_taken_as_they_come(rig: Rig) -> None:
    rig.things.lists.append(listing([], version="9f"))
    rig.things.watches.append(
        saying(
            line(
                "ADDED",
                {
                    **thing("a", 1),
                    "metadata": {
                        "name": "a",
                        "namespace": "ns",
                        "uid": "u",
                        "resourceVersion": "0a",
                    },
                },
            )
        )
    )
    rig.things.watches.append(saying())
    rig.things.watches.append(hanging())
    async with rig.running():
        await rig.pulse.until(lambda: len(rig.things.watched) == 3)
    assert [seen.params["resourceVersion"] for seen in rig.things.watched] == ["9f", "0a", "0a"]


async def test_watch_from_no_version_stays_there_until_something_changes(rig: Rig) -> None:
    # Some servers list at version 0; a watch from there starts with all objects, in no order.
    rig.things.lists.append(listing([], version="0"))
    first = [line("ADDED", at(900, thing("a", 1))), line("ADDED", at(120, thing("b", 1)))]
    rig.things.watches.append(saying(*first))
    rig.things.watches.append(saying(*first, line("MODIFIED", at(901, thing("a", 2)))))
    rig.things.watches.append(hanging())
    async with rig.running():
        await rig.pulse.until(lambda: len(rig.things.watched) == 3)
    assert [seen.params["resourceVersion"] for seen in rig.things.watched] == ["0", "0", "901"]
    assert rig.sink.values == {"a": 2, "b": 1}


async def test_repeated_events_change_nothing(rig: Rig) -> None:
    async with rig.running():
        await rig.until_watching()
        event = line("ADDED", at(101, thing("a", 1)))
        gone = line("DELETED", at(102, thing("b", 1)))
        rig.things.send(event, event, gone, gone, event)
        await rig.pulse.until(lambda: rig.observer.events.total() == 5)
        assert rig.sink.values == {"a": 1}
    assert len(rig.things.watched) == 1


async def test_other_uid_under_a_known_name_takes_its_place(rig: Rig) -> None:
    async with rig.running():
        await rig.until_watching()
        rig.things.put(thing("a", 1, uid="first"))
        rig.things.delete("ns/a")
        rig.things.put(thing("a", 2, uid="second"))
        # A deletion of the first that arrives late must not touch the second.
        rig.things.send(line("DELETED", at(200, thing("a", 1, uid="first"))))
        await rig.pulse.until(lambda: rig.observer.events["DELETED"] == 2)
        assert rig.sink.things["ns/a"].uid == "second"


async def test_event_of_many_mebibytes_is_one_line(rig: Rig) -> None:
    async with rig.running():
        await rig.until_watching()
        obj = thing("huge", 1)
        obj["metadata"]["annotations"] = {"x": "y" * (5 << 20)}
        rig.things.put(obj)
        await rig.until_values(huge=1)
    assert len(rig.things.watched) == 1
    assert not rig.observer.restarts


async def test_event_beyond_the_limit_is_passed_by_with_a_list(
    rig: Rig, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("extender.core.kube.frames.MOST", Most(line=1000))
    async with rig.running():
        await rig.until_watching()
        obj = thing("huge", 1)
        obj["metadata"]["annotations"] = {"x": "y" * (3 << 20)}
        rig.things.put(obj)
        await rig.until_values(huge=1)
        await rig.pulse.until(lambda: len(rig.things.listed) == 2)
    assert rig.observer.relists == {"broken": 1}


async def test_missed_deletion_is_found_when_the_watch_has_fallen_behind(rig: Rig) -> None:
    rig.things.expires_in_stream = True
    rig.things.put(thing("a", 1))
    rig.things.put(thing("b", 1))
    async with rig.running():
        await rig.until_watching()
        rig.things.muted = True
        rig.things.delete("ns/b")
        rig.things.compact()
        rig.things.send(CLOSE)
        await rig.until_values(a=1)
    assert rig.observer.relists == {"expired": 1}
    assert rig.sink.deleted == [("ns/b", "uid-of-b")]
