"""Failures of every day leave nothing for the garbage collector to find."""

from __future__ import annotations

import pytest

from extender.core.errors import ExtenderError
from extender.core.kube.calls import ApiCall
from extender.core.kube.failures import StatusError
from extender.core.kube.frames import Lines
from tests.circles import left_in_circles
from tests.kube.fake_api import CLOSE, CUT, answering, failure, line, status
from tests.kube.rig import PATH, Rig

OURS = (ExtenderError, Lines, ApiCall)
EXPIRED = line("ERROR", status(410, "Expired", "too old resource version"))
BUSY = line("ERROR", status(429, "TooManyRequests", "slow"))


@pytest.mark.parametrize(
    "end",
    [
        pytest.param(CLOSE, id="as the server's timeout does"),
        pytest.param(CUT, id="with its connection"),
        pytest.param(EXPIRED, id="because it is too old"),
        pytest.param(BUSY, id="because the server is busy"),
        pytest.param(b"garbage\n", id="because a line is no event"),
    ],
)
async def test_a_watch_that_ends(rig: Rig, end: bytes) -> None:
    async with rig.running():
        with left_in_circles(*OURS) as found:
            for ends in range(1, 4):
                await rig.until_watching(ends)
                rig.things.send(end)
            await rig.until_watching(4)
        assert not found


async def test_a_request_that_is_refused(rig: Rig) -> None:
    rig.things.lists.extend([answering(lambda: failure(409, "Conflict", "no"))] * 3)
    async with rig.client() as client:
        with left_in_circles(*OURS) as found:
            for _ in range(3):
                with pytest.raises(StatusError):
                    await client.get(PATH, {})
        # What pytest holds of the last one is no circle.
        assert not found
