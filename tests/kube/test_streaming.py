"""Taking over everything as a stream, and falling back to pages."""

from __future__ import annotations

import pytest

from extender.core.kube.limits import Timeouts
from tests.kube.fake_api import (
    CLOSE,
    CUT,
    Answer,
    answering,
    dropping,
    failure,
    hanging,
    initial_events_end,
    line,
    saying,
    status,
    too_large,
)
from tests.kube.rig import Rig, at, thing


@pytest.fixture
def rig(rig: Rig) -> Rig:
    """Let the server stream lists."""
    rig.things.streams_lists = True
    return rig


async def test_stream_takes_the_place_of_the_list(rig: Rig) -> None:
    for number in range(250):
        rig.things.put(thing(f"t{number}", number))
    async with rig.running() as reflector:
        await reflector.synced.wait()
        await rig.until_watching()
    assert len(rig.sink.things) == 250
    assert rig.things.streamed[0].params == {
        "watch": "true",
        "fieldSelector": "shape!=round",
        "resourceVersion": "",
        "resourceVersionMatch": "NotOlderThan",
        "sendInitialEvents": "true",
        "allowWatchBookmarks": "true",
        "timeoutSeconds": "300",
    }
    assert rig.things.listed == []
    assert rig.things.watched[0].params["resourceVersion"] == str(rig.api.version)


async def test_nothing_is_synced_before_everything_has_come(rig: Rig) -> None:
    rig.things.streams.append(hanging(line("ADDED", at(900, thing("a", 1)))))
    async with rig.running() as reflector:
        await rig.pulse.until(lambda: len(rig.things.streamed) == 1)
        assert not reflector.synced.is_set()
        assert rig.sink.values == {}


async def test_changes_during_the_stream_count(rig: Rig) -> None:
    rig.api.version = 950
    rig.things.streams.append(
        saying(
            line("ADDED", at(900, thing("a", 1))),
            line("ADDED", at(120, thing("b", 1))),
            line("ADDED", at(121, {**thing("c"), "value": "x"})),
            line("ADDED", at(122, thing("d", 1))),
            line("BOOKMARK", {"metadata": {"resourceVersion": "901"}}),
            line("BOOKMARK", {"metadata": {"resourceVersion": "901", "annotations": [1]}}),
            line("MODIFIED", at(902, {**thing("d"), "value": "x"})),
            line("MODIFIED", at(902, thing("a", 2))),
            line("DELETED", at(903, thing("b", 1))),
            b"\n",
            initial_events_end(950),
        )
    )
    async with rig.running():
        await rig.until_watching()
    assert rig.sink.values == {"a": 2, "d": 1}
    assert rig.things.watched[0].params["resourceVersion"] == "950"
    assert rig.observer.skips == {"unreadable": 2, "not_json": 1}


async def test_what_was_mended_during_the_stream_can_be_read(rig: Rig) -> None:
    rig.api.version = 950
    rig.things.streams.append(
        saying(
            line("ADDED", at(121, {**thing("a"), "value": "x"})),
            line("MODIFIED", at(902, thing("a", 2))),
            initial_events_end(950),
        )
    )
    async with rig.running() as reflector:
        await rig.until_watching()
        assert reflector.mirror.unreadable == {}
    assert rig.sink.values == {"a": 2}


async def test_relist_by_stream_finds_what_was_missed(rig: Rig) -> None:
    rig.things.put(thing("a", 1))
    rig.things.put(thing("b", 1))
    async with rig.running():
        await rig.until_watching()
        rig.things.muted = True
        rig.things.delete("ns/b")
        rig.things.compact()
        rig.things.send(CLOSE)
        await rig.until_values(a=1)
    assert rig.things.listed == []
    assert [seen.params["resourceVersion"] for seen in rig.things.streamed] == ["", ""]


@pytest.mark.parametrize(
    ("answer", "streams"),
    [
        pytest.param(
            answering(lambda: failure(422, "Invalid", "sendInitialEvents: Forbidden")),
            1,
            id="a server that cannot stream is not asked again",
        ),
        pytest.param(
            answering(lambda: failure(400, "BadRequest", "unknown parameter")),
            1,
            id="a proxy that knows better is not asked again",
        ),
        pytest.param(answering(too_large), 2, id="a version that the server has not reached"),
        pytest.param(
            saying(line("ERROR", status(410, "Expired", "too old"))), 2, id="an expired version"
        ),
        pytest.param(
            saying(line("ADDED", at(900, thing("x")))), 2, id="an end before everything was sent"
        ),
        pytest.param(saying(line("ADDED", at(900, thing("x"))), CUT), 2, id="a cut connection"),
        pytest.param(
            hanging(line("ADDED", at(900, thing("x")))), 2, id="a bookmark that never comes"
        ),
        pytest.param(saying(b"<html>hello</html>"), 2, id="a page for people"),
        pytest.param(
            saying(b"\x00garbage\n", initial_events_end(900)), 2, id="a line that may be an object"
        ),
    ],
)
async def test_what_cannot_be_streamed_is_listed_at_once(
    rig: Rig, answer: Answer, streams: int
) -> None:
    rig.timeouts = Timeouts(idle=0.1)
    rig.things.put(thing("a", 1))
    rig.things.streams.append(answer)
    slept: list[float] | None = None
    async with rig.running() as reflector:
        await reflector.synced.wait()
        slept = list(rig.time.slept)
        assert len(rig.things.listed) == 1
        await rig.until_watching()
        rig.things.watches.append(answering(lambda: failure(410, "Expired", "too old")))
        rig.things.send(CLOSE)
        await rig.pulse.until(lambda: len(rig.things.watched) >= 3)
    assert rig.sink.values == {"a": 1}
    assert slept == []
    assert len(rig.things.streamed) == streams


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        pytest.param(
            answering(lambda: failure(429, "TooManyRequests", "slow")), "refused", id="throttled"
        ),
        pytest.param(
            answering(lambda: failure(500, "InternalError", "no")), "refused", id="a server's error"
        ),
        pytest.param(dropping, "unreachable", id="no answer"),
    ],
)
async def test_server_in_trouble_is_left_alone_for_a_while(
    rig: Rig, answer: Answer, reason: str
) -> None:
    rig.things.put(thing("a", 1))
    rig.things.streams.extend([answer, answer])
    async with rig.running():
        await rig.until_values(a=1)
    assert rig.things.listed == []
    assert rig.observer.relists[reason] >= 1
    assert rig.time.slept[0] == 0.8
