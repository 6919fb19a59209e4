"""Many pods at once that get in each other's way: what is there, and what comes."""

from __future__ import annotations

import asyncio
import time
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from tests.e2e.api import for_each
from tests.e2e.objects import HOSTNAME, JSON, ZONE, node, pod, term
from tests.e2e.sandbox import pods_path

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterable

    from tests.e2e.sandbox import Sandbox

PATIENCE_S = 90.0
"""Far beyond what a burst takes; only a failure gets there."""
RIVAL = "rival-scheduler"


@dataclass(frozen=True, slots=True)
class Burst:
    """Nodes, pods that have a place already, and pods that all want one now."""

    nodes: list[JSON]
    pods: list[JSON]
    seeds: list[JSON] = field(default_factory=list)


def exclusive(count: int) -> Burst:
    """Return as many nodes as pods, none of which may share a node with another."""
    labels = {"app": "solo"}
    return Burst(
        [node(f"n{number:03}") for number in range(count)],
        [pod(f"solo-{n:03}", labels=labels, apart=[term(HOSTNAME, labels)]) for n in range(count)],
    )


def apart_by_zone(apps: int, nodes: int) -> Burst:
    """Return apps of three replicas, each of which needs a zone of the three for itself."""
    return Burst(
        [node(f"{zone}{n:02}", zone) for zone in "abc" for n in range(nodes // 3)],
        [
            pod(f"app{app}-{n}", labels=labels, apart=[term(ZONE, labels)])
            for app in range(apps)
            for labels in [{"app": f"app{app}"}]
            for n in range(3)
        ],
    )


def gathering(count: int) -> Burst:
    """Return pods that must share a zone with each other, and three zones to choose from."""
    labels = {"app": "crew"}
    return Burst(
        [node(f"{zone}{n}", zone) for zone in "abc" for n in range(4)],
        [pod(f"crew-{n:03}", labels=labels, near=[term(ZONE, labels)]) for n in range(count)],
    )


def hostile(count: int) -> Burst:
    """Return two apps that exclude each other by zone, one of them for another scheduler."""
    red, blue = {"app": "red"}, {"app": "blue"}
    pods = []
    for number in range(count):
        ours = pod(f"red-{number:03}", labels=red, apart=[term(ZONE, blue)])
        theirs = pod(f"blue-{number:03}", labels=blue, apart=[term(ZONE, red)])
        theirs["spec"]["schedulerName"] = RIVAL
        pods += [ours, theirs]
    return Burst(
        [node(f"{zone}{n:02}", zone) for zone in "abcdef" for n in range(4)],
        pods,
        # Each has a zone to begin with: the faster one must not take them all.
        [pod("red-seed", labels=red, on="a00"), pod("blue-seed", labels=blue, on="b00")],
    )


async def create(sandbox: Sandbox, pods: Iterable[JSON]) -> None:
    """Create pods as fast as the API server takes them."""
    await for_each(pods, lambda each: sandbox.api.create(pods_path(each), each))


async def until_bound(sandbox: Sandbox, count: int) -> None:
    """Return once so many pods have a node."""
    await sandbox.pods.until(
        lambda: len(sandbox.places()) >= count, PATIENCE_S, f"{count} bound pods"
    )


@asynccontextmanager
async def arrived(sandbox: Sandbox, burst: Burst, mode: str) -> AsyncIterator[float]:
    """Let the pods arrive while a scheduler runs; yields the seconds until the last is bound.

    Creating them is part of that, and faster than any scheduler. The block is entered while the
    programs still run, so that they can be asked.
    """
    await sandbox.add(*burst.nodes, *burst.seeds)
    async with sandbox.scheduled_by(mode):
        start = time.monotonic()
        await create(sandbox, burst.pods)
        await until_bound(sandbox, len(burst.seeds) + len(burst.pods))
        yield time.monotonic() - start


@asynccontextmanager
async def worked_off(sandbox: Sandbox, burst: Burst, mode: str) -> AsyncIterator[float]:
    """Let a scheduler start when the pods are there; yields the seconds from first to last bind."""
    await sandbox.add(*burst.nodes, *burst.seeds)
    await create(sandbox, burst.pods)
    first = asyncio.create_task(_moment_of_bind(sandbox, len(burst.seeds) + 1))
    async with sandbox.scheduled_by(mode):
        await until_bound(sandbox, len(burst.seeds) + len(burst.pods))
        yield time.monotonic() - await first


async def _moment_of_bind(sandbox: Sandbox, count: int) -> float:
    await until_bound(sandbox, count)
    return time.monotonic()
