"""Gangs as users have them, in a profile of mode `bind`: as in-tree, and none bound in part."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import pytest

from tests.e2e.extending import REPLACE, Extender
from tests.e2e.gangs import SCENARIOS, Scenario, create, faults, outcome, settled, storm, watched
from tests.e2e.scheduling import STOCK, configured, shipped
from tests.e2e.selecting import in_e2e_all

if TYPE_CHECKING:
    from tests.e2e.groups.report import Found
    from tests.e2e.sandbox import Sandbox

pytestmark = pytest.mark.usefixtures("_no_groups_left", "_important")

CALM_S = 12.0
"""The scheduler tries again after 10 s at most, so after as long without a bind none comes."""
SOON_S = 0.5
MIXED = next(each for each in SCENARIOS if "single pods" in each.name)


@pytest.mark.parametrize("mode", [in_e2e_all(STOCK), REPLACE])
@pytest.mark.parametrize("scenario", SCENARIOS, ids=str)
async def test_what_becomes_of_gangs(
    sandbox: Sandbox, found: Found, scenario: Scenario, mode: str
) -> None:
    await sandbox.add(*scenario.nodes, *scenario.before)
    async with sandbox.scheduled_by(mode):
        end = await outcome(sandbox, scenario, mode)
    assert faults(scenario, end) == []
    await sandbox.assert_lawful()
    release = sandbox.control_plane.binaries.scheduler
    by = f"{release}, {'in-tree' if mode == STOCK else mode}"
    seconds = end.seconds if scenario.is_bound else None
    runs = found.setdefault(scenario.name, {}).setdefault(by, [])
    runs.append((seconds, max(end.in_part.values(), default=0.0)))


async def calm(sandbox: Sandbox) -> None:
    """Return once no pod has been bound for a while."""
    while True:
        before = len(sandbox.places())
        # Nothing is to happen, so there is nothing to wait for.
        await asyncio.sleep(CALM_S)
        if before == len(sandbox.places()):
            return


@pytest.mark.parametrize("mode", [in_e2e_all(STOCK), REPLACE])
async def test_no_gang_is_left_in_part_where_there_is_no_room_for_all(
    sandbox: Sandbox, mode: str
) -> None:
    scenario = storm()
    await sandbox.add(*scenario.nodes)
    async with sandbox.scheduled_by(mode), watched(sandbox, scenario) as in_part:
        await create(sandbox, scenario, mode)
        await calm(sandbox)
    await sandbox.assert_lawful()
    bound: dict[str, int] = {}
    for key in sandbox.places():
        of = key.rpartition("/")[2].partition("-")[0]
        bound[of] = bound.get(of, 0) + 1
    bound.pop("single", None)
    if mode != STOCK:  # In-tree does not promise it: its binds are not decided together.
        assert set(bound.values()) <= {4}, in_part


@pytest.mark.long
async def test_an_extender_that_is_killed_in_between_leaves_no_rule_broken(
    sandbox: Sandbox,
) -> None:
    await sandbox.add(*MIXED.nodes)
    async with sandbox.scheduled_by(REPLACE):
        assert sandbox.extender
        await create(sandbox, MIXED, REPLACE)
        for _ in range(3):
            await asyncio.sleep(SOON_S)  # Somewhere in the middle of it.
            await sandbox.extender.kill_and_start_again()
        await settled(sandbox, MIXED)
    await sandbox.assert_lawful()


@pytest.mark.long
async def test_another_replica_takes_over_in_between(sandbox: Sandbox) -> None:
    """Each replica of the scheduler has an extender beside it; both watch, and one is asked."""
    control_plane = sandbox.control_plane
    await sandbox.add(*MIXED.nodes)
    async with Extender.running(control_plane, REPLACE, sandbox.folder("standby")) as standby:
        async with sandbox.scheduled_by(REPLACE):
            await create(sandbox, MIXED, REPLACE)
            await asyncio.sleep(SOON_S)
        config = shipped(REPLACE, standby.url)
        async with configured(control_plane, config, sandbox.folder("second")):
            await settled(sandbox, MIXED)
    await sandbox.assert_lawful()
