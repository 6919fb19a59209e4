"""Mode shadow: the scheduler places as without us, and tells us where we would not have."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import pytest

from tests.conformance.asking import Release
from tests.conformance.programs import FAST_PATH
from tests.e2e.api import key_of
from tests.e2e.extending import LAG_S, SHADOW
from tests.e2e.objects import HOSTNAME, JSON, ZONE, node, pod, term
from tests.e2e.scheduling import STOCK
from tests.e2e.test_workloads import NAMESPACES, SIX_NODES, workload

if TYPE_CHECKING:
    from tests.e2e.sandbox import Sandbox

WEB, DB = {"app": "web"}, {"app": "db"}
DISAGREEMENTS = "affinity_extender_shadow_disagreements_total"
FAST_PATH_SINCE = 37


@pytest.fixture
def gates(kubernetes: str) -> tuple[str, ...]:
    """Return what makes the scheduler and us disagree, nothing where a release does not have it."""
    return (FAST_PATH,) if Release.parse(kubernetes).minor >= FAST_PATH_SINCE else ()


def twin(name: str) -> JSON:
    """Return a node that shares its hostname, and so its domain, with every other twin."""
    made = node(name)
    made["metadata"]["labels"][HOSTNAME] = "twin"
    return made


def misread(name: str) -> JSON:
    """Return a pod whose rule the scheduler's fast path reads in its own way, among twins.

    It must not be in one domain with a database; to the fast path each node is a domain.
    """
    return pod(name, apart=[term(HOSTNAME, DB)])


async def disagreements(sandbox: Sandbox) -> int:
    """Return on how many nodes we disagreed about anti-affinity.

    About affinity we may disagree because our watch is behind a pod that was just placed.
    """
    assert sandbox.extender
    return await sandbox.extender.counter(DISAGREEMENTS, reason='[^"]*anti-affinity rules')


async def test_the_same_pods_wait_and_nothing_differs(
    sandbox: Sandbox, gates: tuple[str, ...]
) -> None:
    waiting = {}
    for mode in (STOCK, SHADOW):
        await sandbox.add(*SIX_NODES, *NAMESPACES)
        async with sandbox.scheduled_by(mode, gates=gates):
            await sandbox.settle(*workload())
            waiting[mode] = sandbox.waiting()
            await sandbox.assert_lawful()
            if sandbox.extender:
                assert await sandbox.extender.calls("filter") > 0
                if gates:
                    await _force_disagreement(sandbox)
                assert await disagreements(sandbox) == len(gates), "no more than is forced"
        await sandbox.clear()

    assert waiting[SHADOW] == waiting[STOCK]


async def _force_disagreement(sandbox: Sandbox) -> None:
    """Have one node counted."""
    await sandbox.add(twin("twin-1"), twin("twin-2"))
    db = pod("db", labels=DB, on="twin-1")
    await sandbox.add(db)
    await sandbox.pods.until(lambda: key_of(db) in sandbox.pods.objects, LAG_S, "the pod")
    await _until_known(sandbox)
    await sandbox.settle(misread("known"))


async def _until_known(sandbox: Sandbox) -> None:
    """Return once our watches are as far as those of the test."""
    assert sandbox.extender
    objects = "affinity_extender_cache_objects"
    there = {"nodes": len(sandbox.nodes), "pods": len(sandbox.pods.objects)}
    async with asyncio.timeout(LAG_S):
        for resource, count in there.items():
            while await sandbox.extender.counter(objects, resource=resource) < count:  # noqa: ASYNC110
                await asyncio.sleep(0.01)


async def test_our_scores_do_not_add_to_the_schedulers(sandbox: Sandbox) -> None:
    # A taint outweighs the wish once (300 points against 200), not if it counted twice.
    taint = {"key": "busy", "effect": "PreferNoSchedule"}
    await sandbox.add(
        node("a1", "a") | {"spec": {"taints": [taint]}},
        node("b1", "b"),
        pod("db", labels=DB, on="a1"),
    )
    for mode in (STOCK, SHADOW):
        async with sandbox.scheduled_by(mode):
            coming = pod(f"web-{mode}", prefer_near=[(100, term(ZONE, DB))])
            placed = await sandbox.settle(coming)
            assert list(placed.values()) == ["b1"]
            if sandbox.extender:
                assert await sandbox.extender.calls("prioritize") > 0


async def test_a_node_that_we_would_refuse_is_counted_and_said(
    sandbox: Sandbox, gates: tuple[str, ...]
) -> None:
    if not gates:
        pytest.skip("before 1.37 the scheduler and the extender read this rule alike")
    await sandbox.add(twin("a1"), twin("b1"), pod("db", labels=DB, on="a1"))
    async with sandbox.scheduled_by(SHADOW, gates=gates):
        placed = await sandbox.settle(misread("web"))
        assert await disagreements(sandbox) == 1
        assert placed == {"web": "b1"}, "it is the scheduler who decides"
        assert sandbox.extender
        (line,) = sandbox.extender.warnings()
        what = "the scheduler would place default/web where the extender would not: "
        assert line.startswith(what)
        assert line.endswith("node(s) didn't match pod anti-affinity rules: b1")


async def test_pods_are_placed_while_the_extender_is_away(sandbox: Sandbox) -> None:
    await sandbox.add(node("a1"), node("b1"))
    async with sandbox.scheduled_by(SHADOW):
        extender = sandbox.extender
        assert extender
        await extender.stop()

        placed = await sandbox.settle(
            *(pod(f"w{n}", labels=WEB, apart=[term(HOSTNAME, WEB)]) for n in range(3))
        )

        await extender.start_again()
    assert sorted(filter(None, placed.values())) == ["a1", "b1"]
    assert placed["w2"] is None
