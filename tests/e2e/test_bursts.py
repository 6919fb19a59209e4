"""Pods that get in each other's way, all at once: binding is ours, so none of them collide."""

from __future__ import annotations

import asyncio
from collections import Counter
from typing import TYPE_CHECKING

import pytest

from tests.e2e.bench import pods_path
from tests.e2e.extending import REPLACE
from tests.e2e.objects import HOSTNAME, JSON, ZONE, node, pod, term

if TYPE_CHECKING:
    from tests.e2e.bench import Bench

BURST_S = 60.0
"""Far beyond what a burst takes; only a failure gets there."""
AT_A_TIME = 16
SOLO, CREW = {"app": "solo"}, {"app": "crew"}


async def create_at_once(bench: Bench, pods: list[JSON]) -> None:
    """Create pods as fast as the API server takes them, and return once all are bound."""
    gate = asyncio.Semaphore(AT_A_TIME)

    async def create(each: JSON) -> None:
        async with gate:
            await bench.api.create(pods_path(each), each)

    await asyncio.gather(*map(create, pods))
    await bench.pods.until(
        lambda: len(bench.pods.objects) == len(pods) and not bench.waiting(),
        BURST_S,
        "all pods to be bound",
    )


async def binds(bench: Bench, result: str) -> int:
    """Return how many binds ended so."""
    assert bench.extender is not None
    return await bench.extender.counter("affinity_extender_bind_total", result=result)


def nodes_of(bench: Bench) -> Counter[str]:
    """Return how many pods each node holds."""
    return Counter(each["spec"]["nodeName"] for each in bench.pods.objects.values())


async def test_pods_that_exclude_each_other_fill_the_nodes_one_each(bench: Bench) -> None:
    await bench.add(*(node(f"n{number:03}") for number in range(100)))
    pods = [pod(f"solo-{n}", labels=SOLO, apart=[term(HOSTNAME, SOLO)]) for n in range(100)]
    async with bench.scheduled_by(REPLACE):
        await create_at_once(bench, pods)
        assert await binds(bench, "bound") == len(pods)
    assert set(nodes_of(bench).values()) == {1}
    await bench.assert_lawful()


async def test_a_backlog_of_apps_spreads_over_zones_without_a_refused_bind(bench: Bench) -> None:
    await bench.add(*(node(f"{zone}{n}", zone) for zone in "abc" for n in range(5)))
    pods = [
        pod(f"app{app}-{n}", labels={"app": f"app{app}"}, apart=[term(ZONE, {"app": f"app{app}"})])
        for app in range(40)
        for n in range(3)
    ]
    async with bench.scheduled_by(REPLACE):
        await create_at_once(bench, pods)
        assert await binds(bench, "bound") == len(pods)
        assert await binds(bench, "refused") == 0
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
