"""What simulated pod groups are held to: the real control plane does what is recorded."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.e2e.api import key_of
from tests.e2e.controlplane.cluster import control_plane
from tests.e2e.controlplane.credentials import SCHEDULER
from tests.e2e.extending import EXTENDER
from tests.e2e.recording import RealStage
from tests.e2e.test_pod_groups import GROUPS, WITH_GROUPS
from tests.simulation.recordings.group_scenarios import GROUP_SCENARIOS
from tests.simulation.recordings.scripts import Scenario, play
from tests.simulation.recordings.stored import Recording, differences

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.e2e.controlplane.binaries import Binaries
    from tests.e2e.controlplane.cluster import ControlPlane
    from tests.e2e.sandbox import Sandbox

EACH_TIME = {"a-gang-of-which-one-bind-fails"}


@pytest.fixture(scope="module")
def cluster(binaries: Binaries, tmp_path_factory: pytest.TempPathFactory) -> Iterator[ControlPlane]:
    """Return a control plane that knows pod groups, in the place of the session's."""
    folder = tmp_path_factory.mktemp("control-plane-with-groups")
    with control_plane(binaries, folder, [SCHEDULER, EXTENDER], WITH_GROUPS) as running:
        yield running


@pytest.fixture(autouse=True)
async def _no_groups_left(sandbox: Sandbox) -> None:
    """Remove the groups of an earlier test; the controller that frees them does not run."""
    for each in (await sandbox.api.get(GROUPS))["items"]:
        path = f"{GROUPS}/{key_of(each).rpartition('/')[2]}"
        await sandbox.api.patch(path, {"metadata": {"finalizers": None}})
        await sandbox.api.delete(path)


@pytest.mark.parametrize(
    "scenario",
    [
        pytest.param(each, id=each.name, marks=[] if each.name in EACH_TIME else pytest.mark.long)
        for each in GROUP_SCENARIOS
    ],
)
async def test_the_control_plane_does_with_groups_what_is_recorded(
    sandbox: Sandbox, scenario: Scenario, kubernetes: str, request: pytest.FixtureRequest
) -> None:
    async with RealStage.opened(sandbox, scenario.there) as stage:
        await play(scenario, stage)
        found = Recording.of(scenario.name, kubernetes, stage.log)
    if request.config.getoption("--record"):
        found.save()
    assert differences(Recording.load(scenario.name), found, idle=False) == []
