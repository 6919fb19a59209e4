"""Whole workloads: nothing is placed against a rule, and nothing waits that need not."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING

import pytest

from tests.e2e.extending import ASSIST, REPLACE
from tests.e2e.objects import HOSTNAME, JSON, ZONE, namespace, node, pod, term
from tests.e2e.scheduling import STOCK
from tests.e2e.selecting import in_e2e_all

if TYPE_CHECKING:
    from tests.e2e.sandbox import Sandbox

SIX_NODES = [node(f"{zone}{n}", zone) for zone in "abc" for n in (1, 2)]
NAMESPACES = [namespace("red", team="red"), namespace("blue", team="blue")]


def like(name: str) -> dict[str, str]:
    return {"app": name}


def workload() -> list[JSON]:
    """Return pods of which some cannot be placed, the same ones wherever the others went."""
    solo, spread, pair, guard = like("solo"), like("spread"), like("pair"), like("guard")
    everywhere: JSON = {"namespaceSelector": {}}
    guarded = [term(ZONE, guard), term(ZONE, like("victim"), **everywhere)]
    together, one_a_host = [term(ZONE, pair)], [term(HOSTNAME, pair)]
    return [
        *(pod(f"solo-{n}", labels=solo, apart=[term(HOSTNAME, solo)]) for n in range(7)),
        *(pod(f"spread-{n}", labels=spread, apart=[term(ZONE, spread)]) for n in range(4)),
        *(pod(f"pair-{n}", labels=pair, near=together, apart=one_a_host) for n in range(3)),
        *(pod(f"guard-{n}", "red", labels=guard, apart=guarded) for n in range(3)),
        pod("victim", "blue", labels=like("victim")),
        pod("bystander", "blue", labels=like("bystander")),
        pod("seeker", near=[term(ZONE, like("ghost"))]),
        pod("neighbour", near=[term(HOSTNAME, solo)], prefer_apart=[(10, term(ZONE, pair))]),
        pod("stranger", "red", near=[term(HOSTNAME, solo)]),
    ]


def mixed(seed: int, count: int) -> list[JSON]:
    """Return pods with rules drawn by lot; few apps, so that the rules meet often."""
    lot = random.Random(seed)
    apps = [like(name) for name in ("web", "db", "cache", "batch")]
    scopes: list[JSON] = [{}, {}, {"namespaceSelector": {}}, {"namespaces": ["red"]}]

    def terms(chance: float) -> list[JSON]:
        drawn = lot.random() < chance
        key, app, scope = lot.choice([HOSTNAME, ZONE]), lot.choice(apps), lot.choice(scopes)
        return [term(key, app, **scope)] if drawn else []

    return [
        pod(
            f"mixed-{n}",
            lot.choice(["default", "red", "blue"]),
            labels=lot.choice(apps),
            near=terms(0.3),
            apart=terms(0.3),
            prefer_near=[(lot.randint(1, 100), each) for each in terms(0.5)],
            prefer_apart=[(lot.randint(1, 100), each) for each in terms(0.5)],
        )
        for n in range(count)
    ]


@pytest.mark.parametrize("mode", [in_e2e_all(ASSIST), REPLACE])
async def test_the_same_pods_wait_as_under_the_stock_scheduler(sandbox: Sandbox, mode: str) -> None:
    waiting = {}
    for each in (STOCK, mode):
        await sandbox.add(*SIX_NODES, *NAMESPACES)
        async with sandbox.scheduled_by(each):
            await sandbox.settle(*workload())
        await sandbox.assert_lawful()
        waiting[each] = sandbox.waiting()
        await sandbox.clear()

    assert waiting[mode] == waiting[STOCK]
    assert waiting[STOCK] == ["pair-2", "seeker", "solo-6", "spread-3", "stranger", "victim"]


@pytest.mark.parametrize("mode", [in_e2e_all(STOCK), ASSIST, REPLACE])
@pytest.mark.parametrize("seed", [1, in_e2e_all(2)])
async def test_a_mixed_workload_obeys_every_rule(sandbox: Sandbox, mode: str, seed: int) -> None:
    await sandbox.add(*SIX_NODES, *NAMESPACES)
    async with sandbox.scheduled_by(mode):
        placed = await sandbox.settle(*mixed(seed, count=40))
        # Pods that waited are tried again as others come; the last of them may still be on its way.
        await sandbox.until_nobody_waits_needlessly()

    assert len(list(filter(None, placed.values()))) > len(placed) // 2
    await sandbox.assert_lawful()
