"""Node affinity in the extender, with the real scheduler, whose own filter and scores are off."""

from __future__ import annotations

import json
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

import pytest

from extender.core import config
from tests.e2e.extending import ASSIST, REPLACE, Extender
from tests.e2e.objects import HOSTNAME, JSON, node, pod, term
from tests.e2e.sandbox import pods_path, refusal
from tests.e2e.scheduling import configured, shipped

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from tests.e2e.sandbox import Sandbox

REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"
HANDED_OVER = {
    ASSIST: ("preScore", "score"),
    REPLACE: ("filter", "preScore", "score"),
}
"""Where docs/modes.md says that the scheduler's own plugin has to be off."""


def about(key: str, operator: str, *values: str) -> JSON:
    """Return a term of one expression."""
    requirement: JSON = {"key": key, "operator": operator}
    return {"matchExpressions": [requirement | ({"values": [*values]} if values else {})]}


def wishing(name: str, *, selector: JSON | None = None, rules: JSON | None = None) -> JSON:
    """Return a pod with a node selector, or node affinity."""
    made = pod(name)
    affinity = {"affinity": {"nodeAffinity": rules}} if rules else {}
    return made | {"spec": made["spec"] | {"nodeSelector": selector} | affinity}


def named(name: str, where: str) -> JSON:
    """Return a pod for one node, as a DaemonSet's controller makes it."""
    field = {"key": "metadata.name", "operator": "In", "values": [where]}
    return wishing(name, rules={REQUIRED: {"nodeSelectorTerms": [{"matchFields": [field]}]}})


@asynccontextmanager
async def scheduled_by(sandbox: Sandbox, mode: str) -> AsyncIterator[None]:
    """Run the scheduler as docs/modes.md has it, and the extender with both plugins."""
    folder = sandbox.folder(mode)
    not_system = {REQUIRED: {"nodeSelectorTerms": [about("pool", "NotIn", "system")]}}
    document = {
        "apiVersion": config.API_VERSION,
        "kind": config.KIND,
        "plugins": ["NodeAffinity", "InterPodAffinity"],
        "nodeAffinity": {"addedAffinity": not_system},
    }
    path = folder / "node-affinity.yaml"
    path.write_text(json.dumps(document))
    async with Extender.running(
        sandbox.control_plane, mode, folder, "--config", str(path)
    ) as extender:
        scheduler = shipped(mode, extender.url)
        plugins = scheduler["profiles"][0]["plugins"]
        for point in HANDED_OVER[mode]:
            off = plugins.setdefault(point, {}).setdefault("disabled", [])
            off.append({"name": "NodeAffinity"})
        async with configured(sandbox.control_plane, scheduler, folder):
            sandbox.extender = extender
            try:
                yield
            finally:
                sandbox.extender = None


@pytest.fixture(autouse=True)
async def nodes(sandbox: Sandbox) -> None:
    """Have three nodes for everybody, and one for nobody."""
    await sandbox.add(
        node("a", disk="ssd"),
        node("b", disk="hdd"),
        node("c", disk="ssd"),
        node("d", disk="hdd", pool="system"),
    )


async def test_the_extender_enforces_node_affinity_in_replace(sandbox: Sandbox) -> None:
    async with scheduled_by(sandbox, REPLACE):
        hdd = {PREFERRED: [{"weight": 100, "preference": about("disk", "In", "hdd")}]}
        apart = pod("apart", apart=[term(HOSTNAME, {"e2e/name": "selects"})])
        placed = await sandbox.settle(
            wishing("selects", selector={"disk": "hdd"}),
            named("named", "c"),
            wishing("prefers", rules=hdd),
            apart | {"spec": apart["spec"] | {"nodeSelector": {"disk": "hdd"}}},
            named("system", "d"),
        )
        assert placed == {
            "selects": "b",
            "named": "c",
            "prefers": "b",
            "apart": None,
            "system": None,
        }
        told = refusal(sandbox.pods.objects["default/apart"])
        assert told is not None
        assert "1 node(s) didn't match pod anti-affinity rules" in told
        assert "2 node(s) didn't match Pod's node affinity/selector" in told
        assert "1 node(s) didn't match scheduler-enforced node affinity" in told
        system = refusal(sandbox.pods.objects["default/system"])
        assert system is not None
        assert "1 node(s) didn't match scheduler-enforced node affinity" in system


async def test_a_waiting_pod_follows_the_labels_of_nodes_in_replace(sandbox: Sandbox) -> None:
    async with scheduled_by(sandbox, REPLACE):
        waits = wishing("waits", selector={"disk": "nvme"})
        await sandbox.api.create(pods_path(waits), waits)
        assert await sandbox.decided("default/waits") is None
        await sandbox.api.patch("/api/v1/nodes/c", {"metadata": {"labels": {"disk": "nvme"}}})
        assert await sandbox.bound("default/waits") == "c"


async def test_the_extender_scores_node_affinity_in_assist(sandbox: Sandbox) -> None:
    async with scheduled_by(sandbox, ASSIST):
        some = about("disk", "In", "hdd"), about("pool", "DoesNotExist")
        both = {PREFERRED: [{"weight": 50, "preference": each} for each in some]}
        placed = await sandbox.settle(wishing("prefers", rules=both))
        assert placed == {"prefers": "b"}
        # What is required stays with the scheduler there, and what is added is ours alone.
        assert await sandbox.settle(named("system", "d")) == {"system": "d"}
