"""The simulated scheduler and API server do what the real ones did, call by call."""

from __future__ import annotations

import pytest

from simulation.loop import simulate
from tests.simulation.recordings.group_scenarios import GROUP_SCENARIOS
from tests.simulation.recordings.scenarios import SCENARIOS
from tests.simulation.recordings.scripts import Scenario, play
from tests.simulation.recordings.stage import SimulatedStage
from tests.simulation.recordings.stored import FOLDER, Recording, Story, differences


async def played(scenario: Scenario, seed: int) -> Recording:
    stage = SimulatedStage(seed)
    await stage.open(scenario.there)
    await play(scenario, stage)
    return Recording.of(scenario.name, Recording.load(scenario.name).kubernetes, stage.log)


ALL = (*SCENARIOS, *GROUP_SCENARIOS)


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("scenario", ALL, ids=lambda each: each.name)
def test_the_simulation_does_what_the_control_plane_did(scenario: Scenario, seed: int) -> None:
    found = simulate(played(scenario, seed))
    assert differences(Recording.load(scenario.name), found, idle=True) == []


def test_each_recording_belongs_to_a_scenario() -> None:
    assert {file.stem for file in FOLDER.glob("*.json")} == {each.name for each in ALL}


OTHERS = {
    "another answer": ["[deed]", "filter 2: 1 fit"],
    "a call that is missing": ["[deed]"],
    "a call too many": ["[deed]", "filter 2: 2 fit", "bind: done"],
    "another order": ["filter 2: 2 fit", "[deed]"],
    "a back-off that is none": ["[deed]", "after back-off: filter 2: 2 fit"],
}


@pytest.mark.parametrize("steps", OTHERS.values(), ids=OTHERS)
def test_what_is_not_the_same_is_told(steps: list[str]) -> None:
    recorded, found = (
        Recording("s", "1", {"web": Story(each, [])})
        for each in (["[deed]", "filter 2: 2 fit"], steps)
    )
    assert differences(recorded, found, idle=True) != []


LATE = {
    "a hint": ["filter 2: 0 fit", "filter 2: 0 fit", "nominated", "filter 1: 1 fit"],
    "another attempt": ["filter 2: 0 fit", "filter 2: 1 fit"],
}


@pytest.mark.parametrize("calls", LATE.values(), ids=LATE)
def test_an_extender_that_sees_an_event_late_makes_up_for_it(calls: list[str]) -> None:
    recorded, found = (
        Recording("s", "1", {"web": Story(["[create node n2]", *each, "bind: done"], [])})
        for each in (["filter 2: 1 fit"], calls)
    )
    assert differences(recorded, found, idle=True) == []


def test_a_busy_machine_may_make_a_pause_but_not_take_one_away() -> None:
    rested, hurried = (
        Recording("s", "1", {"web": Story(["filter 1: error", each], [])})
        for each in ("after back-off: filter 1: 1 fit", "filter 1: 1 fit")
    )
    assert differences(hurried, rested, idle=False) == []
    assert differences(rested, hurried, idle=False) != []
    assert differences(hurried, rested, idle=True) != []
