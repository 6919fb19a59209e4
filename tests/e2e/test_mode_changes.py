"""Scheduler and extender in different modes, as while one of them is being restarted."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.e2e.extending import ASSIST, REPLACE, SHADOW
from tests.e2e.objects import HOSTNAME, node, pod, term
from tests.e2e.sandbox import SETTLE_S, pods_path
from tests.e2e.test_outages import scheduler_fault

if TYPE_CHECKING:
    from tests.e2e.sandbox import Sandbox

WEB = {"app": "web"}
NODES = [node("n1"), node("n2")]
THREE_FOR_TWO_NODES = [pod(f"w{n}", labels=WEB, apart=[term(HOSTNAME, WEB)]) for n in range(3)]


@pytest.mark.parametrize(
    ("scheduler", "extender"),
    [
        pytest.param(scheduler, extender, id=f"scheduler {scheduler}, extender {extender}")
        for scheduler in (SHADOW, ASSIST)
        for extender in (SHADOW, ASSIST, REPLACE)
        if scheduler != extender
    ],
)
async def test_hard_rules_hold_while_the_scheduler_has_them(
    sandbox: Sandbox, scheduler: str, extender: str
) -> None:
    await sandbox.add(*NODES)
    async with sandbox.scheduled_by(scheduler, extender):
        placed = await sandbox.settle(*THREE_FOR_TWO_NODES)
    assert sorted(filter(None, placed.values())) == ["n1", "n2"]
    await sandbox.assert_lawful()


@pytest.mark.parametrize("extender", [SHADOW, ASSIST])
async def test_nothing_is_placed_while_nobody_has_the_hard_rules(
    sandbox: Sandbox, extender: str
) -> None:
    await sandbox.add(*NODES)
    async with sandbox.scheduled_by(REPLACE, extender):
        for each in THREE_FOR_TWO_NODES:
            await sandbox.api.create(pods_path(each), each)
        for each in THREE_FOR_TWO_NODES:
            key = f"default/{each['metadata']['name']}"
            await sandbox.pods.until(
                lambda key=key: scheduler_fault(sandbox.pods.objects.get(key, {})) is not None,  # type: ignore[misc]
                SETTLE_S,
                f"{key} to be refused its bind",
            )
        assert sandbox.waiting() == ["w0", "w1", "w2"]
