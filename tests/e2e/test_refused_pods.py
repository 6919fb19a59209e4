"""Pods that fit only where the scheduler does not look, or does not look any more."""

from __future__ import annotations

import asyncio
import json
from time import monotonic
from typing import TYPE_CHECKING

import pytest

from extender.core.kube.client import ApiClient
from extender.core.kube.credentials import load_credentials
from extender.core.wire.objects import PodReader
from extender.features.refused_pods.nominator import ApiNominator
from tests.e2e.api import for_each
from tests.e2e.extending import EXTENDER, REPLACE
from tests.e2e.objects import HOSTNAME, JSON, node, pod, term
from tests.e2e.sandbox import pods_path

if TYPE_CHECKING:
    from tests.e2e.sandbox import Sandbox

DB, WEB = {"app": "db"}, {"app": "web"}
MANY = 3000
"""Nodes of which the scheduler looks at a quarter at a time."""
SECONDS = 2.0
QUIET_S = 1.5
"""Longer than the scheduler keeps coming back with a pod that was refused."""
_TOTAL = "affinity_extender_hints_total"


async def _many_nodes(sandbox: Sandbox, number: int) -> list[str]:
    names = [f"node-{index:05d}" for index in range(number)]
    await for_each(map(node, names), sandbox.add)
    return names


async def test_a_pod_finds_its_only_node_among_thousands(sandbox: Sandbox) -> None:
    names = await _many_nodes(sandbox, MANY)
    took = []
    async with sandbox.scheduled_by(REPLACE):
        for turn in range(5):
            home = names[(turn * 1237 + 700) % MANY]
            label = {"app": f"db-{turn}"}
            await sandbox.add(pod(f"db-{turn}", labels=label, on=home))
            await sandbox.seen(pod(f"db-{turn}", labels=label, on=home))
            start = monotonic()
            await sandbox.add(pod(f"joiner-{turn}", near=[term(HOSTNAME, label)]))
            await sandbox.pods.until(
                lambda turn=turn: f"default/joiner-{turn}" in sandbox.pods.objects,  # type: ignore[misc]
                SECONDS,
                "the pod to be known",
            )
            assert await sandbox.bound(f"default/joiner-{turn}") == home
            took.append(monotonic() - start)

    assert max(took) < SECONDS, took


async def test_a_pod_that_waits_comes_back_when_the_obstacle_goes(sandbox: Sandbox) -> None:
    await sandbox.add(node("a1"), node("b1"))
    webs = [pod(f"w{n}", labels=WEB, apart=[term(HOSTNAME, WEB)]) for n in range(3)]
    async with sandbox.scheduled_by(REPLACE):
        for _ in range(20):
            await sandbox.settle(*webs)
            assert sandbox.waiting() == ["w2"]
            freed = sandbox.pods.objects["default/w0"]["spec"]["nodeName"]
            await sandbox.remove("default/w0")
            assert await sandbox.bound("default/w2") == freed
            await sandbox.seen(sandbox.pods.objects["default/w2"])
            await sandbox.remove("default/w1", "default/w2")


@pytest.fixture
async def orphan(sandbox: Sandbox) -> JSON:
    """Return a pod that no scheduler cares for, and that must share the node of the database."""
    made = pod("orphan", near=[term(HOSTNAME, DB)])
    made["spec"]["schedulerName"] = "nobody"
    return await sandbox.api.create(pods_path(made), made)


async def test_a_hint_is_set_and_withdrawn_when_nobody_takes_it(
    sandbox: Sandbox, orphan: JSON
) -> None:
    names = await _many_nodes(sandbox, 120)
    await sandbox.add(pod("db", labels=DB, on=names[-1]))
    async with sandbox.scheduled_by(REPLACE):
        assert sandbox.extender is not None
        await sandbox.extender.ask("filter", orphan, names[:-1])
        await sandbox.pods.until(lambda: _nominated(sandbox) == names[-1], 2, "the hint")
        await sandbox.pods.until(lambda: _nominated(sandbox) is None, 10, "its end")
        assert await sandbox.extender.counter(_TOTAL, result="set") == 1
        assert await sandbox.extender.counter(_TOTAL, result="withdrawn") == 1


@pytest.mark.parametrize(
    "told",
    [
        pytest.param(True, id="the request says so"),
        pytest.param(False, id="the request is older than the nomination"),
    ],
)
async def test_a_hint_never_takes_the_place_of_a_nomination(
    sandbox: Sandbox, orphan: JSON, told: bool
) -> None:
    names = await _many_nodes(sandbox, 120)
    await sandbox.add(pod("db", labels=DB, on=names[-1]))
    change = {"status": {"nominatedNodeName": names[0]}}
    nominated = await sandbox.api.patch(f"{pods_path(orphan)}/orphan/status", change)
    async with sandbox.scheduled_by(REPLACE):
        assert sandbox.extender is not None
        await sandbox.extender.ask("filter", nominated if told else orphan, names[:-1])
        async with asyncio.timeout(5):
            while not await sandbox.extender.counter(_TOTAL, result="skipped"):  # noqa: ASYNC110
                await asyncio.sleep(0.02)
        assert await sandbox.extender.counter(_TOTAL, result="set") == 0
    assert _nominated(sandbox) == names[0]


async def test_a_refused_pod_is_tried_again_when_it_is_woken(sandbox: Sandbox) -> None:
    lonely = pod("lonely", near=[term(HOSTNAME, DB)])
    await sandbox.add(node("a"))
    credentials = await load_credentials(str(sandbox.control_plane.kubeconfig(EXTENDER)))
    async with ApiClient(credentials) as client, sandbox.scheduled_by(REPLACE):
        assert sandbox.extender is not None
        await sandbox.settle(lonely)
        seen = PodReader().read(json.dumps(sandbox.pods.objects["default/lonely"]).encode())
        await asyncio.sleep(QUIET_S)
        before = await sandbox.extender.calls("filter")
        assert await ApiNominator(client).wake(seen)
        async with asyncio.timeout(5):
            while await sandbox.extender.calls("filter") == before:  # noqa: ASYNC110
                await asyncio.sleep(0.02)


def _nominated(sandbox: Sandbox) -> str | None:
    status = sandbox.pods.objects["default/orphan"].get("status") or {}
    found: str | None = status.get("nominatedNodeName")
    return found
