"""What simulated pod groups are held to: the real control plane does what is recorded."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.e2e.recording import differing
from tests.simulation.recordings.group_scenarios import GROUP_SCENARIOS

if TYPE_CHECKING:
    from tests.e2e.sandbox import Sandbox
    from tests.simulation.recordings.scripts import Scenario

pytestmark = pytest.mark.usefixtures("_no_groups_left")

EACH_TIME = {"a-gang-of-which-one-bind-fails"}


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
    record = request.config.getoption("--record")
    assert await differing(sandbox, scenario, kubernetes, record=record) == []
