"""What the simulation is held to: the real control plane does in each scenario what is recorded."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.e2e.recording import differing
from tests.simulation.recordings.scenarios import SCENARIOS

if TYPE_CHECKING:
    from tests.e2e.sandbox import Sandbox
    from tests.simulation.recordings.scripts import Scenario


EACH_TIME = {"a-pod-that-fits", "preemption-of-one-victim-that-ends-slowly"}
"""A recording changes with Kubernetes alone, so most are compared when that changes."""


@pytest.mark.parametrize(
    "scenario",
    [
        pytest.param(each, id=each.name, marks=[] if each.name in EACH_TIME else pytest.mark.long)
        for each in SCENARIOS
    ],
)
async def test_the_control_plane_does_what_is_recorded(
    sandbox: Sandbox, scenario: Scenario, kubernetes: str, request: pytest.FixtureRequest
) -> None:
    record = request.config.getoption("--record")
    assert await differing(sandbox, scenario, kubernetes, record=record) == []
