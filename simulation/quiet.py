"""Time in which nothing happens but what extenders do by themselves: they do it less often then."""

from __future__ import annotations

import asyncio
from typing import Final

from simulation.loop import the_loop

SETTLED_SECONDS: Final = 1_000.0
"""After the last thing that users or bad luck did: what was begun for pods is over by then."""
AWAKE_SECONDS: Final = 60.0
"""Before the next one: whoever waits long while all is quiet does not wait any more by then."""


async def sleep_until(at: float) -> None:
    """Wait, in quiet if that takes long."""
    loop = the_loop()
    quiet_until = at - AWAKE_SECONDS
    if quiet_until - loop.time() > SETTLED_SECONDS:
        await asyncio.sleep(SETTLED_SECONDS)
        loop.quiet = True
        await asyncio.sleep(quiet_until - loop.time())
        loop.quiet = False
    await asyncio.sleep(max(at - loop.time(), 0.0))
