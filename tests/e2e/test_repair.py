"""Pods that a lost zone has driven together are spread again when it is back; then all is quiet.

`make repair` does that with ten times thirty pods (`--apps`, `--replicas`), and writes what it took
into bench/results/repair.md.
"""

from __future__ import annotations

import asyncio
import json
from collections import Counter
from contextlib import asynccontextmanager
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING, Any

import pytest

from bench.machine import machine
from tests.e2e.extending import ASSIST, REPLACE, Extender
from tests.e2e.moving import QUIET_S, Moves, replica_set
from tests.e2e.objects import HOSTNAME, JSON, ZONE, node, pod_spec, term
from tests.e2e.preempting import budget
from tests.e2e.scheduling import configured, shipped
from tests.e2e.selecting import in_e2e_all

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from tests.e2e.sandbox import Sandbox

SETTLE_S = 3
LONG_S = 60.0
REPORT = Path(__file__).resolve().parents[2] / "bench" / "results" / "repair.md"
both_modes = pytest.mark.parametrize("mode", [in_e2e_all(ASSIST), REPLACE])


def nodes(zones: str, each: int = 3) -> list[JSON]:
    return [node(f"{zone}{number}", zone) for zone in zones for number in range(each)]


def replicas(app: str, number: int) -> JSON:
    """Return a ReplicaSet that prefers other zones, and less so other hosts."""
    labels = {"app": app}
    spec = pod_spec(prefer_apart=[(100, term(ZONE, labels)), (10, term(HOSTNAME, labels))])
    return replica_set(app, spec["affinity"], number)


@asynccontextmanager
async def repairing(
    sandbox: Sandbox, mode: str, *, sample: int = 0, **settings: Any
) -> AsyncIterator[Moves]:
    """Run a scheduler with an extender that moves pods for preferred rules.

    The scheduler looks at a `sample` of the nodes, in percent; 0 leaves that to it.
    """
    folder = sandbox.folder("repair")
    config = folder / "repair.yaml"
    document = {
        "apiVersion": "affinity-extender.io/v1",
        "kind": "AffinityExtenderConfiguration",
        "requiredDuringExecution": {"evictionsPerMinute": 600, "maxAffected": "100%"},
        "preferredDuringExecution": {
            "enabled": True,
            "dryRun": False,
            "settleSeconds": SETTLE_S,
            "restSeconds": 1,
            **settings,
        },
    }
    config.write_text(json.dumps(document))
    plane = sandbox.control_plane
    async with (
        Extender.running(plane, mode, folder, "--config", str(config)) as extender,
        configured(
            plane,
            shipped(mode, extender.url) | {"percentageOfNodesToScore": sample},
            folder,
        ),
        sandbox.kubelet(),
    ):
        sandbox.extender = extender
        moves = Moves(sandbox, [extender])
        try:
            await moves.leader()
            yield moves
        finally:
            sandbox.extender = None


def zones_of(moves: Moves, app: str) -> list[int]:
    """Return how many pods of an app run in each zone that has any, the fewest first."""
    return sorted(Counter(each[0] for each in moves.running(app).values()).values())


@both_modes
async def test_a_zone_that_is_back_is_filled_with_hardly_a_move_too_many(
    sandbox: Sandbox, mode: str, request: pytest.FixtureRequest
) -> None:
    number, size = (request.config.getoption(name) for name in ("--apps", "--replicas"))
    apps = [f"app-{each}" for each in range(number)]
    await sandbox.add(*nodes("ab"))
    async with repairing(sandbox, mode) as moves:
        for app in apps:
            await moves.create(replicas(app, size))
        before = [zones_of(moves, app) for app in apps]
        await asyncio.sleep(QUIET_S)
        assert moves.evicted() == []

        fewest = sum(size // 3 for _ in apps)
        began = monotonic()
        await sandbox.add(*nodes("c"))
        even = [size // 3] * 3
        await moves.until(
            lambda: all(zones_of(moves, app) == even for app in apps),
            LONG_S * size / 3,
            "the pods to be spread again",
        )
        took = monotonic() - began
        quiet = QUIET_S if number == 1 else 60 * LONG_S
        await asyncio.sleep(quiet)
        assert [zones_of(moves, app) for app in apps] == [even for _ in apps]
        evicted = len(moves.evicted())
        assert evicted <= fewest * 1.1

        if request.config.getoption("--record"):
            REPORT.write_text(
                f"# A zone that is lost and comes back\n\n{machine()}, `{mode}`. {number} "
                f"ReplicaSets of {size}, which prefer other zones, and less so other hosts, on "
                f"nodes in two zones ({before[0]} each); then a third zone is there.\n\n"
                "| | |\n| --- | ---: |\n"
                f"| moves needed at least | {fewest} |\n| evictions | {evicted} |\n"
                f"| seconds until even again | {took:.0f} |\n"
                f"| evictions in {quiet / 60:.0f} minutes after that | 0 |\n"
            )


async def test_a_better_node_that_the_scheduler_does_not_look_at_is_found(sandbox: Sandbox) -> None:
    """Of 402 nodes it asks about 100; two are in the zone where one pod more would sit better."""
    await sandbox.add(*nodes("ab", 200))
    async with repairing(sandbox, REPLACE, sample=25) as moves:
        await moves.create(replicas("web", 6))
        await sandbox.add(*nodes("c", 2))
        even = [2, 2, 2]
        await moves.until(lambda: zones_of(moves, "web") == even, LONG_S, "pods in the new zone")
        await asyncio.sleep(QUIET_S)
        assert zones_of(moves, "web") == even
        assert len(moves.evicted()) == 2


async def test_a_budget_that_allows_nobody_keeps_them(sandbox: Sandbox) -> None:
    await sandbox.add(*nodes("a"))
    async with repairing(sandbox, REPLACE) as moves:
        await moves.create(replicas("web", 3))
        async with budget(sandbox.api, {"app": "web"}):
            await sandbox.add(*nodes("b"))
            await asyncio.sleep(SETTLE_S + QUIET_S)
            assert moves.evicted() == []
        await moves.until(lambda: zones_of(moves, "web") == [1, 2], LONG_S, "a move")


async def test_a_dry_run_says_whom_it_would_move(sandbox: Sandbox) -> None:
    await sandbox.add(*nodes("a"))
    async with repairing(sandbox, REPLACE, dryRun=True) as moves:
        await moves.create(replicas("web", 2))
        await sandbox.add(*nodes("b"))
        note = await moves.said("WouldEvictByPreferredRule", within=LONG_S)
        assert "its preferred rules are met better on another node, by 100 in their" in note
        await asyncio.sleep(QUIET_S)
        assert moves.evicted() == []
        assert len(await moves.notes("WouldEvictByPreferredRule")) == 1
        (would,) = (await moves.violations())["improvable"]
        assert (would["outcome"], would["gain"], would["betterNode"][0]) == ("dryRun", 100, "b")
        name = would["pod"].partition("/")[2]
        told = await moves.extenders[0].page(f"/explain?pod={name}")
        assert (told["improvement"]["node"][0], told["improvement"]["stays"]) == ("b", None)
