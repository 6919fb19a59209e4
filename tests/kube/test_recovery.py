"""After an outage of any kind and length, all is known within 10 s of the server being well."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise

import pytest
from aiohttp import web

from tests.kube.fake_api import CUT, Answer, answering, dropping, failure, line, saying
from tests.kube.test_resources import pod
from tests.kube.test_silence import OBJECTS
from tests.kube.virtual_loop import run_virtually
from tests.kube.watched import Watched, watched

MOST_SECONDS = 10.0
MOST_REQUESTS_A_SECOND = 6.0
"""For all five resources together, of virtual time, while nothing works."""

HALF = line("MODIFIED", {"metadata": {"name": "x", "resourceVersion": "9"}})[:40]


@dataclass(frozen=True)
class Trouble:
    """What becomes of requests."""

    list: Answer | None
    watch: Answer | None


def throttled(seconds: int | None) -> Answer:
    """Answer that there is too much to do."""
    headers = None if seconds is None else {"Retry-After": str(seconds)}
    return answering(lambda: failure(429, "TooManyRequests", "slow down", headers=headers))


BAD_GATEWAY = answering(lambda: web.Response(status=502, text="<html>bad gateway</html>"))
HALF_A_LIST = answering(
    lambda: web.Response(body=b'{"metadata":{"resourceVersion":"7"},"items":[{"metada')
)
GONE = answering(lambda: failure(410, "Expired", "too old resource version"))


class Broken:
    """Troubles of every resource, until they are over."""

    def __init__(self, there: Watched, trouble: Trouble) -> None:
        self._on = True
        for each in there.at.values():
            for answers, bad, good in (
                (each.lists, trouble.list, each.list),
                (each.looks, trouble.list, each.list),
                (each.watches, trouble.watch, each.watch),
            ):
                if bad is not None:
                    answers.extend([self._either(bad, good)] * 5000)

    def end(self) -> None:
        """Have the server well again."""
        self._on = False

    def _either(self, bad: Answer, good: Answer) -> Answer:
        async def answer(request: web.Request) -> web.StreamResponse:
            return await (bad if self._on else good)(request)

        return answer


@pytest.mark.parametrize("seconds", [2.0, 25.0, 200.0])
@pytest.mark.parametrize(
    "trouble",
    [
        pytest.param(Trouble(dropping, dropping), id="every connection is reset"),
        pytest.param(Trouble(None, saying(CUT)), id="watches are reset when they begin"),
        pytest.param(Trouble(None, saying(HALF, CUT)), id="watches break off in a line"),
        pytest.param(Trouble(None, saying(HALF)), id="watches end in half a line"),
        pytest.param(Trouble(HALF_A_LIST, saying(HALF)), id="lists are half there as well"),
        pytest.param(Trouble(HALF_A_LIST, GONE), id="a list is needed, and each is half there"),
        pytest.param(Trouble(None, GONE), id="a list is needed again and again"),
        pytest.param(Trouble(None, saying(b"garbage\n")), id="no line makes sense"),
        pytest.param(Trouble(BAD_GATEWAY, BAD_GATEWAY), id="a proxy has nobody to ask"),
        pytest.param(Trouble(throttled(None), throttled(None)), id="too much to do"),
        pytest.param(Trouble(throttled(4), throttled(4)), id="too much to do, and come in 4 s"),
    ],
)
def test_everything_is_known_soon_after(trouble: Trouble, seconds: float) -> None:
    async def main() -> None:
        async with watched(OBJECTS, chance=lambda: 0.999) as there:
            broken = Broken(there, trouble)
            for each in there.at.values():
                each.send(CUT)
            await asyncio.sleep(1.0)
            there.at["pods"].put(pod("waits", "a"))
            before = len(there.api.seen)
            await asyncio.sleep(seconds)
            assert len(there.api.seen) - before <= MOST_REQUESTS_A_SECOND * seconds + 20
            there.at["pods"].put(pod("late", "b"))
            there.at["pods"].delete("shop/db")
            broken.end()
            assert await there.until(watching(there), 60.0) < MOST_SECONDS
            assert there.failing == []

    run_virtually(main())


def watching(there: Watched) -> Callable[[], bool]:
    """Return what says whether all is known, and all will be."""
    return lambda: there.equal and all(each.open for each in there.at.values())


def test_a_throttled_client_comes_no_earlier_than_it_was_told() -> None:
    async def main() -> None:
        async with watched(OBJECTS) as there:
            pods = there.at["pods"]
            pods.watches.append(throttled(30))
            pods.send(CUT)
            before = len(pods.watched) + 1
            await there.until(lambda: len(pods.watched) == before, 5.0)
            await asyncio.sleep(29.0)
            assert len(pods.watched) == before
            await there.until(watching(there), 10.0)

    run_virtually(main())


def test_lists_that_take_long_and_do_not_help_have_long_pauses() -> None:
    async def main() -> None:
        async with watched(OBJECTS) as there:
            pods = there.at["pods"]

            async def slowly(request: web.Request) -> web.StreamResponse:
                await asyncio.sleep(4.0)
                return await pods.list(request)

            pods.lists.extend([slowly] * 100)
            pods.watches.extend([GONE] * 100)
            pods.send(CUT)
            start = there.now
            await asyncio.sleep(600.0)
            assert len([seen for seen in pods.listed if seen.at > start]) <= 600.0 / 16.0 + 1

    run_virtually(main())


@pytest.mark.parametrize(
    ("seconds", "pause"),
    [
        pytest.param(2.0, 6.0, id="three times as long"),
        pytest.param(20.0, 30.0, id="but not for ever"),
    ],
)
def test_how_long_the_pause_after_a_list_is(seconds: float, pause: float) -> None:
    async def main() -> None:
        async with watched(OBJECTS) as there:
            pods = there.at["pods"]

            async def slowly(request: web.Request) -> web.StreamResponse:
                await asyncio.sleep(seconds)
                return await pods.list(request)

            pods.lists.extend([slowly] * 3)
            pods.watches.extend([GONE] * 3)
            pods.send(CUT)
            start = there.now
            await asyncio.sleep(4 * (seconds + pause))
            begun = [seen.at for seen in pods.listed if seen.at > start]
            for one, next_one in pairwise(begun[:3]):
                assert next_one - one - seconds == pytest.approx(pause, abs=1.0)

    run_virtually(main())
