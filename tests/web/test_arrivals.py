"""Bodies on their way: large ones two at a time, and nothing is lost while the program stops."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from typing import Any, cast

from aiohttp import web

from extender.core.web.app import Arrivals
from extender.core.web.limits import MOST


@dataclass
class Body:
    """A request whose body comes when the test has it come."""

    content_length: int
    is_read: bool = False
    came: asyncio.Event = field(default_factory=asyncio.Event)

    async def read(self) -> bytes:
        self.is_read = True
        await self.came.wait()
        return b"body"


async def test_large_bodies_are_read_two_at_a_time_and_small_ones_do_not_wait_for_them() -> None:
    arrivals = Arrivals()
    large = [Body(MOST.small_body + 1) for _ in range(MOST.large_bodies + 2)]
    small = [Body(MOST.small_body) for _ in range(3)]
    reading = [
        asyncio.create_task(arrivals.read(cast("web.Request", cast("Any", each))))
        for each in (*large, *small)
    ]
    await asyncio.sleep(0)
    assert [each.is_read for each in large] == [True, True, False, False]
    assert all(each.is_read for each in small)
    large[0].came.set()
    assert await reading[0] == b"body"
    await asyncio.sleep(0)
    assert [each.is_read for each in large] == [True, True, True, False]
    # Who hangs up makes room as well.
    reading[1].cancel()
    await asyncio.wait([reading[1]])
    await asyncio.sleep(0)
    assert all(each.is_read for each in large)
    for each in (*large, *small):
        each.came.set()
    async with asyncio.timeout(10.0):
        await asyncio.gather(*reading[2:])
        await arrivals.over(10.0)
