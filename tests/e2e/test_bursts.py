"""Pods that get in each other's way, all at once: binding is ours, so none of them collide."""

from __future__ import annotations

import asyncio
from collections import Counter
from typing import TYPE_CHECKING

import pytest

from tests.e2e.bench import pods_path
from tests.e2e.extending import REPLACE
from tests.e2e.objects import HOSTNAME, JSON, ZONE, node, pod, term
from tests.e2e.scheduling import rival

if TYPE_CHECKING:
    from pathlib import Path

    from tests.e2e.bench import Bench

BURST_S = 60.0
"""Far beyond what a burst takes; only a failure gets there."""
AT_A_TIME = 16
SOLO, CREW = {"app": "solo"}, {"app": "crew"}


async def create(bench: Bench, pods: list[JSON]) -> None:
    """Create pods as fast as the API server takes them."""
    gate = asyncio.Semaphore(AT_A_TIME)

    async def one(each: JSON) -> None:
        async with gate:
            await bench.api.create(pods_path(each), each)

    await asyncio.gather(*map(one, pods))


async def until_bound(bench: Bench, count: int) -> None:
    """Return once so many pods have a node."""
    await bench.pods.until(
        lambda: sum(nodes_of(bench).values()) >= count, BURST_S, f"{count} pods to be bound"
    )


async def create_at_once(bench: Bench, pods: list[JSON]) -> None:
    """Create pods as fast as the API server takes them, and return once all are bound."""
    await create(bench, pods)
    await until_bound(bench, len(pods))


async def binds(bench: Bench, result: str) -> int:
    """Return how many binds ended so."""
    assert bench.extender is not None
    return await bench.extender.counter("affinity_extender_bind_total", result=result)


async def until_all_binds_ended(bench: Bench, count: int) -> None:
    """Return once so many binds are counted as done: the watch may be ahead of their answers."""
    async with asyncio.timeout(BURST_S):
        while await binds(bench, "bound") < count:  # noqa: ASYNC110 - a metric of another process
            await asyncio.sleep(0.01)


def nodes_of(bench: Bench) -> Counter[str]:
    """Return how many pods each node holds."""
    places = (each["spec"].get("nodeName") for each in bench.pods.objects.values())
    return Counter(filter(None, places))


async def test_pods_that_exclude_each_other_fill_the_nodes_one_each(bench: Bench) -> None:
    await bench.add(*(node(f"n{number:03}") for number in range(100)))
    pods = [pod(f"solo-{n}", labels=SOLO, apart=[term(HOSTNAME, SOLO)]) for n in range(100)]
    async with bench.scheduled_by(REPLACE):
        await create_at_once(bench, pods)
        await until_all_binds_ended(bench, len(pods))
    assert set(nodes_of(bench).values()) == {1}
    await bench.assert_lawful()


async def test_a_backlog_of_apps_spreads_over_zones_with_hardly_a_refused_bind(
    bench: Bench,
) -> None:
    await bench.add(*(node(f"{zone}{n}", zone) for zone in "abc" for n in range(5)))
    pods = [
        pod(f"app{app}-{n}", labels={"app": f"app{app}"}, apart=[term(ZONE, {"app": f"app{app}"})])
        for app in range(40)
        for n in range(3)
    ]
    async with bench.scheduled_by(REPLACE):
        await create_at_once(bench, pods)
        await until_all_binds_ended(bench, len(pods))
        # None, on a machine that keeps up. On one that does not, a bind may take longer than a
        # filter is held for, and then refusing it is what keeps the rules.
        assert await binds(bench, "refused") <= len(pods) // 20
    await bench.assert_lawful()


@pytest.mark.parametrize("repeat", range(2))
async def test_a_group_that_starts_all_at_once_starts_in_one_zone(
    bench: Bench, repeat: int
) -> None:
    await bench.add(*(node(f"{zone}{n}", zone) for zone in "abc" for n in range(4)))
    pods = [pod(f"crew{repeat}-{n}", labels=CREW, near=[term(ZONE, CREW)]) for n in range(60)]
    async with bench.scheduled_by(REPLACE):
        await create_at_once(bench, pods)
    assert len({name[0] for name in nodes_of(bench)}) == 1
    await bench.assert_lawful()


async def test_nothing_collides_while_the_extender_is_killed_and_started_again(
    bench: Bench,
) -> None:
    await bench.add(*(node(f"n{number:03}") for number in range(60)))
    pods = [pod(f"solo-{n}", labels=SOLO, apart=[term(HOSTNAME, SOLO)]) for n in range(60)]
    async with bench.scheduled_by(REPLACE):
        assert bench.extender is not None
        creating = asyncio.create_task(create(bench, pods))
        for bound in (5, 20, 35):
            await until_bound(bench, bound)
            await bench.extender.kill_and_start_again()
        await creating
        await until_bound(bench, len(pods))
    assert set(nodes_of(bench).values()) == {1}


async def test_two_schedulers_share_one_extender(bench: Bench, tmp_path: Path) -> None:
    teams = {"red": {"app": "red"}, "blue": {"app": "blue"}}
    # Each team has a zone to begin with: the faster one must not take them all.
    seeds = [
        pod("red-seed", labels=teams["red"], on="a00"),
        pod("blue-seed", labels=teams["blue"], on="b00"),
    ]
    await bench.add(*(node(f"{zone}{n:02}", zone) for zone in "abcdef" for n in range(4)), *seeds)
    pods = []
    for number in range(60):
        for scheduler, (mine, other) in {
            "default-scheduler": ("red", "blue"),
            "rival-scheduler": ("blue", "red"),
        }.items():
            each = pod(f"{mine}-{number}", labels=teams[mine], apart=[term(ZONE, teams[other])])
            each["spec"]["schedulerName"] = scheduler
            pods.append(each)
    async with bench.scheduled_by(REPLACE):
        assert bench.extender is not None
        async with rival(bench.control_plane, bench.extender, "rival-scheduler", tmp_path):
            await create(bench, pods)
            await until_bound(bench, len(seeds) + len(pods))
    await bench.assert_lawful()
