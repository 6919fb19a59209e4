"""Pods that get in each other's way, all at once: binding is ours, so none of them collide.

Each scenario runs once; `--repeats 5` is how the promise is checked before a release.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from typing import TYPE_CHECKING

import pytest

from tests.e2e.api import key_of
from tests.e2e.bursts import (
    PATIENCE_S,
    RIVAL,
    apart_by_zone,
    arrived,
    create,
    exclusive,
    gathering,
    hostile,
    until_bound,
    worked_off,
)
from tests.e2e.extending import REPLACE
from tests.e2e.objects import node, pod
from tests.e2e.sandbox import pods_path
from tests.e2e.scheduling import STOCK, rival

if TYPE_CHECKING:
    from pathlib import Path

    from tests.e2e.objects import JSON
    from tests.e2e.sandbox import Sandbox


async def binds(sandbox: Sandbox, result: str) -> int:
    """Return how many binds ended so."""
    assert sandbox.extender is not None
    return await sandbox.extender.counter("affinity_extender_bind_total", result=result)


async def until_all_binds_ended(sandbox: Sandbox, count: int) -> None:
    """Return once so many binds are counted as done: the watch may be ahead of their answers."""
    async with asyncio.timeout(PATIENCE_S):
        while await binds(sandbox, "bound") < count:  # noqa: ASYNC110 - a metric of another process
            await asyncio.sleep(0.01)


async def test_pods_that_exclude_each_other_fill_the_nodes_one_each_in_no_more_than_twice_the_time(
    sandbox: Sandbox,
) -> None:
    burst = exclusive(300)
    async with arrived(sandbox, burst, STOCK) as stock:
        pass
    await sandbox.clear()
    async with arrived(sandbox, burst, REPLACE) as ours:
        await until_all_binds_ended(sandbox, len(burst.pods))
    assert set(Counter(sandbox.places().values()).values()) == {1}
    await sandbox.assert_lawful()
    assert ours <= 2 * stock


async def test_a_backlog_of_apps_spreads_over_zones_in_no_more_than_twice_the_time(
    sandbox: Sandbox,
) -> None:
    burst = apart_by_zone(apps=100, nodes=30)
    async with worked_off(sandbox, burst, STOCK) as stock:
        pass
    await sandbox.clear()
    async with worked_off(sandbox, burst, REPLACE) as ours:
        await until_all_binds_ended(sandbox, len(burst.pods))
        # None, on a machine that keeps up. On one that does not, a bind may take longer than a
        # filter is held for, and then refusing it is what keeps the rules.
        assert await binds(sandbox, "refused") <= len(burst.pods) // 20
    await sandbox.assert_lawful()
    # Stock is held back by its limit of requests, ours by the processor: less on a fast one.
    assert ours <= 2.0 * stock


async def test_the_scheduler_names_no_node_before_a_bind(sandbox: Sandbox) -> None:
    """If it did, filter would not have to hold pods that concern one another."""
    await sandbox.add(node("a", "a"), node("b", "b"))
    async with sandbox.scheduled_by(REPLACE):
        await create(sandbox, (pod(f"plain-{n}") for n in range(50)))
        await until_bound(sandbox, 50)
    seen = [each for each in sandbox.pods.history if not each["spec"].get("nodeName")]
    assert len(seen) >= 50
    assert [each for each in seen if each["status"].get("nominatedNodeName")] == []


async def test_a_group_that_starts_all_at_once_starts_in_one_zone(sandbox: Sandbox) -> None:
    async with arrived(sandbox, gathering(200), REPLACE):
        pass
    assert len({name[0] for name in sandbox.places().values()}) == 1
    await sandbox.assert_lawful()


@pytest.mark.long  # The next one kills it as often, and more pods are in each other's way.
async def test_a_group_starts_in_one_zone_while_the_extender_is_killed_and_started_again(
    sandbox: Sandbox,
) -> None:
    burst = gathering(200)
    await sandbox.add(*burst.nodes)
    await _work_through_kills(sandbox, burst.pods, (5, 60, 120))
    assert len({name[0] for name in sandbox.places().values()}) == 1
    await sandbox.assert_lawful()


async def test_nothing_collides_while_the_extender_is_killed_and_started_again(
    sandbox: Sandbox,
) -> None:
    burst = exclusive(150)
    await sandbox.add(*burst.nodes)
    await _work_through_kills(sandbox, burst.pods, (5, 40, 80))
    assert set(Counter(sandbox.places().values()).values()) == {1}


async def _work_through_kills(sandbox: Sandbox, pods: list[JSON], moments: tuple[int, ...]) -> None:
    """Let pods be placed by an extender that is killed each time so many are bound."""
    async with sandbox.scheduled_by(REPLACE):
        assert sandbox.extender is not None
        creating = asyncio.create_task(create(sandbox, pods))
        for bound in moments:
            await until_bound(sandbox, bound)
            await sandbox.extender.kill_and_start_again()
        await creating
        await until_bound(sandbox, len(pods))


async def test_two_schedulers_share_one_extender(sandbox: Sandbox, tmp_path: Path) -> None:
    burst = hostile(150)
    await sandbox.add(*burst.nodes, *burst.seeds)
    async with sandbox.scheduled_by(REPLACE):
        assert sandbox.extender is not None
        async with rival(sandbox.control_plane, sandbox.extender, RIVAL, tmp_path):
            await create(sandbox, burst.pods)
            await until_bound(sandbox, len(burst.seeds) + len(burst.pods))
    await sandbox.assert_lawful()


async def test_pods_that_others_bind_meanwhile_are_avoided_once_they_are_seen(
    sandbox: Sandbox,
) -> None:
    burst = exclusive(120)
    first, later = burst.pods[:80], burst.pods[80:100]
    targets = [each["metadata"]["name"] for each in burst.nodes[::6]]
    await sandbox.add(*burst.nodes)
    async with sandbox.scheduled_by(REPLACE):
        creating = asyncio.create_task(create(sandbox, first))
        for number, target in enumerate(targets):
            await until_bound(sandbox, 4 * number)
            await _bind_past_us(sandbox, f"intruder-{number}", target, first[0]["spec"]["affinity"])
        await creating
        await until_bound(sandbox, len(first) + len(targets))
        there = set(sandbox.places().values())
        await create(sandbox, later)
        await until_bound(sandbox, len(first) + len(targets) + len(later))
    places = sandbox.places()
    assert not there & {places[key_of(each)] for each in later}
    # Two that were bound within the same moment may have met, and only where an intruder is.
    crowded = {name for name, count in Counter(places.values()).items() if count > 1}
    assert crowded <= set(targets)


async def _bind_past_us(sandbox: Sandbox, name: str, node: str, affinity: JSON) -> None:
    """Place a pod as a kubelet does its static ones: nobody is asked."""
    intruder = pod(name, labels={"app": "solo"}, on=node)
    intruder["spec"]["affinity"] = affinity
    await sandbox.api.create(pods_path(intruder), intruder)
