"""Several replicas, one of which is killed, frozen, cut off or replaced, while pods come.

Judged by what the API server shows: no pods are together that exclude each other, each bind that
was said to be done is done, every pod gets its place, and no pod is evicted twice.
"""

from __future__ import annotations

import asyncio
import os
import signal
from itertools import product
from typing import TYPE_CHECKING

import pytest

from extender.core.controllers.staleness import LOOK_SECONDS, STILL_SECONDS
from tests.e2e.extending import ASSIST, REPLACE, Extender
from tests.e2e.faults.proxy import Failing, Mode
from tests.e2e.moving import QUIET_S
from tests.e2e.objects import HOSTNAME, node, pod, term
from tests.e2e.replicas import replicated
from tests.e2e.replicas_report import Report, recorded
from tests.e2e.sandbox import pod_path

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from tests.e2e.replicas import Replica, Replicas
    from tests.e2e.sandbox import Sandbox


async def killed(replicas: Replicas, victim: Replica) -> None:
    """End its extender by SIGKILL; the kubelet starts it again."""
    await victim.extender.kill_and_start_again()
    await replicas.until_moved()


async def frozen(replicas: Replicas, victim: Replica) -> None:
    """Have all of it stand still until another replica has done its work."""
    victim.signal(signal.SIGSTOP)
    try:
        await replicas.until_moved()
    finally:
        victim.signal(signal.SIGCONT)


async def cut_off(replicas: Replicas, victim: Replica) -> None:
    """Let nothing get to the API server until another replica has done its work."""
    victim.api.fail(Failing(Mode.FROZEN))
    try:
        await replicas.until_moved()
    finally:
        victim.api.recover()


async def upgraded(replicas: Replicas, victim: Replica) -> None:
    """Replace all replicas, one after the other, each when its successor is ready."""
    del victim
    await replicas.renew()
    await replicas.until_moved()


REPORT = Report(
    "replicas",
    "Replicas of which one is killed, frozen, cut off or replaced",
    "A row names the mode, how many replicas there are, and what happens to the one that evicts. "
    "It passes if no rule is broken, no bind is lost, no pod is evicted twice, and every pod gets "
    "its place.",
)
BRIEF = {(REPLACE, 2, frozen)}
"""The row that CI runs; test_upgrade.py has upgrades."""
TABLE = [
    pytest.param(
        *row,
        id=f"{row[0]}-{row[1]}-{row[2].__name__}",
        marks=[] if row in BRIEF else [pytest.mark.long],
    )
    for row in product((ASSIST, REPLACE), (2, 3), (killed, frozen, cut_off, upgraded))
]


@pytest.mark.parametrize(("mode", "number", "happens"), TABLE)
async def test_whatever_happens_to_a_replica_no_rule_and_no_bind_is_broken(
    request: pytest.FixtureRequest,
    sandbox: Sandbox,
    mode: str,
    number: int,
    happens: Callable[[Replicas, Replica], Awaitable[None]],
) -> None:
    async with recorded(request, REPORT) as waits, replicated(sandbox, mode, number) as replicas:
        leader = await replicas.leader()
        await replicas.break_rule()
        await asyncio.sleep(2)
        await happens(replicas, leader)
        # Those that wake up, or are back, have time to do what they must not.
        await asyncio.sleep(QUIET_S)
        await replicas.until_placed()
        waits.extend(replicas.waits())

        assert await replicas.faults() == []
        if happens is upgraded:
            assert await replicas.refusals() == []


@pytest.mark.long
async def test_a_replica_that_wakes_up_does_not_bind_by_the_picture_of_before(
    sandbox: Sandbox,
) -> None:
    labels = {"app": "web"}
    late, early = (pod(each, labels=labels, apart=[term(HOSTNAME, labels)]) for each in "ab")
    await sandbox.add(node("n"), late, early)
    folder = sandbox.folder("frozen")
    async with Extender.running(sandbox.control_plane, REPLACE, folder) as extender:
        made = sandbox.pods.objects["default/a"]
        args = {"PodName": "a", "PodNamespace": "default", "PodUID": made["metadata"]["uid"]}
        os.kill(extender.pid, signal.SIGSTOP)
        asked = asyncio.create_task(extender.bind({**args, "Node": "n"}))
        try:
            target = {"apiVersion": "v1", "kind": "Node", "name": "n"}
            binding = {"metadata": {"name": "b"}, "target": target}
            await sandbox.api.create(f"{pod_path(early)}/binding", binding)
            await sandbox.bound("default/b")
            await asyncio.sleep(LOOK_SECONDS + STILL_SECONDS)
        finally:
            os.kill(extender.pid, signal.SIGCONT)
        assert (await asked)["Error"]
    assert sandbox.places() == {"default/b": "n"}
