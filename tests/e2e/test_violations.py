"""Placements against the rules are noticed, whoever made them."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from tests.e2e.extending import ASSIST
from tests.e2e.objects import ZONE, node, pod, term

if TYPE_CHECKING:
    from tests.e2e.sandbox import Sandbox

WEB = {"app": "web"}
NOTICED_S = 30.0
"""Far beyond the seconds that a round takes."""


async def until_broken(sandbox: Sandbox, number: int) -> None:
    """Return once so many anti-affinity rules are known to be broken."""
    assert sandbox.extender
    shown, which = sandbox.extender.counter, {"rule": "antiAffinity"}
    async with asyncio.timeout(NOTICED_S):
        while await shown("affinity_extender_violations", **which) != number:  # noqa: ASYNC110
            await asyncio.sleep(0.1)


async def test_pods_that_were_placed_by_hand_are_told_of(sandbox: Sandbox) -> None:
    await sandbox.add(
        node("a1", "a"),
        node("a2", "a"),
        pod("guard", apart=[term(ZONE, WEB)], on="a1"),
        pod("plain", labels=WEB, on="a2"),
    )
    async with sandbox.scheduled_by(ASSIST):
        assert sandbox.extender
        await until_broken(sandbox, 1)
        async with asyncio.timeout(NOTICED_S):
            # At the end of the round.
            while not sandbox.extender.warnings():  # noqa: ASYNC110
                await asyncio.sleep(0.1)
        (line,) = sandbox.extender.warnings()
        assert f"default/guard must not share {ZONE}=a with default/plain" in line

        await sandbox.remove("default/plain")
        await until_broken(sandbox, 0)
