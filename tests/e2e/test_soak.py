"""A minute of pods whose names and labels are never used again leaves nothing behind."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from bench.soak import look, soaked, under_load

if TYPE_CHECKING:
    from tests.e2e.sandbox import Sandbox

WARM_S, LOAD_S = 20, 60
LEVEL_S = 60
"""For connections that are kept for a while to be closed."""
MOST_MIB = 40.0
"""That caches which are not full yet may take of it, several times what was measured."""
EVENTS = 40
"""A second, a fifth of what is asked for: a machine that does less has shown nothing."""


async def test_a_minute_leaves_no_file_and_no_task_behind(sandbox: Sandbox) -> None:
    folder = sandbox.folder("soak")
    async with soaked(sandbox.control_plane, folder) as (extender, caller):
        await asyncio.sleep(5)
        before = await look(extender, caller, 0)
        async with under_load(sandbox.control_plane, extender, caller):
            await asyncio.sleep(WARM_S)
            warm = await look(extender, caller, WARM_S)
            await asyncio.sleep(LOAD_S)
            after = await look(extender, caller, WARM_S + LOAD_S)
        assert after.events - warm.events >= EVENTS * LOAD_S
        assert after.calls - warm.calls >= EVENTS * LOAD_S / 4
        assert after.mib - warm.mib <= MOST_MIB
        async with asyncio.timeout(LEVEL_S):
            while True:
                now = await look(extender, caller, 0)
                if now.files <= before.files and now.tasks <= before.tasks:
                    break
                await asyncio.sleep(1)
