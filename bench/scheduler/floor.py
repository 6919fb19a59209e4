"""A scheduler in front of a server that answers at once: what any extender in Python costs it."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from bench.servers import echo_server
from tests.e2e.sandbox import Sandbox
from tests.e2e.scheduling import Scheduler, configured, shipped

SAMPLE = 500
"""Nodes that a scheduler asks about in a cluster of 5,000."""
_BEYOND_AN_ECHO = ("bindVerb", "preemptVerb")


@asynccontextmanager
async def scheduled_by_echo(
    sandbox: Sandbox, mode: str, *, scored: bool, qps: int
) -> AsyncIterator[Scheduler]:
    """Run a scheduler as in a mode, where no node is refused and every score is the same.

    It binds itself. `scored` tells whether to name hosts with scores or, as for pods without
    preferences, none.
    """
    with echo_server("echo") as echo:
        config = shipped(mode, echo.url)
        (extender,) = config["extenders"]
        extender["prioritizeVerb"] += f"?hosts={SAMPLE if scored else 0}"
        for verb in _BEYOND_AN_ECHO:
            extender.pop(verb, None)
        folder = sandbox.folder(f"{mode}-echo")
        async with configured(sandbox.control_plane, config, folder, qps=qps) as scheduler:
            yield scheduler
