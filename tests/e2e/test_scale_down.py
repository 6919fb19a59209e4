"""A Deployment that prefers to be spread over zones still is so when it is scaled down.

The order is the controller manager's own. `make scale-down` runs twenty rounds, and writes what was
left, with the extender and without it, into bench/results/scale-down.md.
"""

from __future__ import annotations

import asyncio
import json
from collections import Counter
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import pytest

from bench.machine import machine
from tests.e2e.extending import ASSIST, REPLACE, Extender
from tests.e2e.objects import HOSTNAME, JSON, ZONE, node, pod_spec, term
from tests.e2e.sandbox import pod_path
from tests.e2e.scheduling import STOCK, configured, shipped

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from tests.e2e.sandbox import Sandbox

NODES = [node(f"{zone}{number}", zone) for zone in "abc" for number in range(3)]
DEPLOYMENTS = "/apis/apps/v1/namespaces/default/deployments"
WEB = {"app": "web"}
FULL = 30
DOWN_TO = (15, 6)
ROUND_S = 60.0
REPORT = Path(__file__).resolve().parents[2] / "bench" / "results" / "scale-down.md"
COST = "controller.kubernetes.io/pod-deletion-cost"
GIVEN_COST = "affinity-extender.io/deletion-cost"


def deployment(cost: str | None = None) -> JSON:
    """Return the Deployment web, of which somebody may have set the pods' cost himself."""
    metadata = {"labels": WEB} | ({} if cost is None else {"annotations": {COST: cost}})
    spec = pod_spec(prefer_apart=[(100, term(ZONE, WEB)), (50, term(HOSTNAME, WEB))])
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "web", "namespace": "default"},
        "spec": {
            "replicas": 0,
            "selector": {"matchLabels": WEB},
            "template": {"metadata": metadata, "spec": spec},
        },
    }


@asynccontextmanager
async def giving_costs(sandbox: Sandbox, mode: str) -> AsyncIterator[None]:
    """Run a scheduler with the extender, which gives costs, or the scheduler alone."""
    await sandbox.add(*NODES)
    if mode == STOCK:
        async with sandbox.scheduled_by(STOCK), sandbox.kubelet():
            yield
        return
    folder = sandbox.folder("scale-down")
    config = folder / "costs.yaml"
    document = {
        "apiVersion": "affinity-extender.io/v1",
        "kind": "AffinityExtenderConfiguration",
        "scaleDown": {"enabled": True, "settleSeconds": 1, "patchesPerMinute": 600},
    }
    config.write_text(json.dumps(document))
    plane, options = sandbox.control_plane, ("--config", str(config))
    async with (
        Extender.running(plane, mode, folder, *options) as extender,
        configured(plane, shipped(mode, extender.url), folder),
        sandbox.kubelet(),
    ):
        sandbox.extender = extender
        try:
            yield
        finally:
            sandbox.extender = None


def ready(sandbox: Sandbox) -> list[JSON]:
    """Return the pods that run and are not on their way out."""
    pods = sandbox.pods.objects.values()
    running = (each for each in pods if each["status"]["phase"] == "Running")
    return [each for each in running if not each["metadata"].get("deletionTimestamp")]


class Spread(NamedTuple):
    """By how many pods zones, and hosts, differ."""

    zones: int
    hosts: int


async def scaled(sandbox: Sandbox, replicas: int) -> Spread:
    """Scale to so many, and return how they are spread once nobody else is left."""
    await sandbox.api.patch(f"{DEPLOYMENTS}/web", {"spec": {"replicas": replicas}})
    await sandbox.pods.until(
        lambda: len(ready(sandbox)) == len(sandbox.pods.objects) == replicas,
        ROUND_S,
        f"{replicas} pods to run",
    )
    hosts, zones = Counter(dict.fromkeys(sandbox.nodes, 0)), Counter(dict.fromkeys("abc", 0))
    hosts.update(each["spec"]["nodeName"] for each in ready(sandbox))
    zones.update(each["spec"]["nodeName"][0] for each in ready(sandbox))
    return Spread(*(max(each.values()) - min(each.values()) for each in (zones, hosts)))


async def rounds(sandbox: Sandbox, number: int) -> dict[int, list[Spread]]:
    """Return how pods were spread in each round, by the number of replicas."""
    found: dict[int, list[Spread]] = {each: [] for each in (FULL, *DOWN_TO)}
    for _ in range(number):
        await sandbox.api.create(DEPLOYMENTS, deployment())
        for replicas, spreads in found.items():
            spreads.append(await scaled(sandbox, replicas))
        await sandbox.api.delete(f"{DEPLOYMENTS}/web")
        await sandbox.pods.until(lambda: not sandbox.pods.objects, ROUND_S, "all pods to be gone")
    return found


def report(found: dict[str, dict[int, list[Spread]]], number: int) -> str:
    """Return the figures of all rounds."""
    rows = [
        f"| {mode} | {replicas} | {sum(each.zones <= 1 for each in spreads)} of {number} "
        f"| {sum(each.zones for each in spreads) / number:.1f}, {max(spreads).zones} "
        f"| {sum(each.hosts for each in spreads) / number:.1f}, "
        f"{max(each.hosts for each in spreads)} |"
        for mode, of_mode in found.items()
        for replicas, spreads in of_mode.items()
    ]
    what = (
        f"{machine()}. {number} rounds: a Deployment of {FULL} replicas that prefers other zones, "
        f"and less so other hosts, on {len(NODES)} nodes in three zones, is scaled down to "
        f"{' and then '.join(map(str, DOWN_TO))}. The order is the ReplicaSet controller's; pods "
        "are ready as soon as they are bound. Differences are mean and worst."
    )
    head = (
        "| scheduler | replicas | zones within 1 | zones differ by | hosts differ by |",
        "| --- | ---: | ---: | ---: | ---: |",
    )
    return "\n".join(("# Which pods a scale-down takes", "", what, "", *head, *rows, ""))


async def test_scaled_down_it_is_as_evenly_spread_as_before(
    sandbox: Sandbox, request: pytest.FixtureRequest
) -> None:
    number, record = (request.config.getoption(name) for name in ("--rounds", "--record"))
    found = {}
    for mode in (STOCK, REPLACE) if record else (REPLACE,):
        async with giving_costs(sandbox, mode):
            found[mode] = await rounds(sandbox, number)
        await sandbox.clear()

    if record:
        REPORT.write_text(report(found, number))
    for replicas, spreads in found[REPLACE].items():
        assert max(spreads).zones <= 1, (replicas, spreads)


def in_order(sandbox: Sandbox, replicas: int) -> bool:
    """Return whether in each zone the ranks of all pods are there without a gap."""
    ranks: dict[str, list[int]] = {}
    for each in ready(sandbox):
        cost = (each["metadata"].get("annotations") or {}).get(GIVEN_COST, "0")
        ranks.setdefault(each["spec"]["nodeName"][0], []).append(-int(cost) // 1000)
    return sum(map(len, ranks.values())) == replicas and all(
        sorted(each) == [*range(1, len(each) + 1)] for each in ranks.values()
    )


@pytest.mark.parametrize("mode", [ASSIST, REPLACE])
async def test_ranks_are_in_order_again_when_pods_were_lost(sandbox: Sandbox, mode: str) -> None:
    async with giving_costs(sandbox, mode):
        await sandbox.api.create(DEPLOYMENTS, deployment())
        await scaled(sandbox, 12)
        await sandbox.pods.until(lambda: in_order(sandbox, 12), ROUND_S, "first costs")

        for name in ("a0", "a1", "a2"):
            await sandbox.api.patch(f"/api/v1/nodes/{name}", {"spec": {"unschedulable": True}})
        lost = [each for each in ready(sandbox) if each["spec"]["nodeName"] in {"a0", "a1"}]
        for each in lost:
            await sandbox.api.delete(pod_path(each))
        await sandbox.pods.until(lambda: in_order(sandbox, 12), ROUND_S, "costs in order")

        # Zone a has one or two pods left.
        assert (await scaled(sandbox, 4)).zones <= 1


async def test_what_its_user_has_written_stays(sandbox: Sandbox) -> None:
    async with giving_costs(sandbox, REPLACE):
        await sandbox.api.create(DEPLOYMENTS, deployment(cost="7"))
        await scaled(sandbox, 3)
        # Long enough for everything to have settled.
        await asyncio.sleep(3)
        assert [each["metadata"]["annotations"] for each in ready(sandbox)] == [{COST: "7"}] * 3
