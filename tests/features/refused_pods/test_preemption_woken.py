"""Preemptors that are tried again, and what happens to others meanwhile."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from extender.core.controllers.reconciling import LOOK_SECONDS
from extender.core.kube.failures import NoAnswerError
from extender.features.refused_pods.preemption import FIRST_PAUSE_SECONDS
from extender.features.refused_pods.victim_sets import (
    TRYING_SECONDS,
)
from tests.builders import model_pod
from tests.features.refused_pods.preempting import ON_A, ON_B, A, PreemptionRig
from tests.important_pods import db, important, plain, server


async def refused_too_late() -> PreemptionRig:
    """Return a rig whose watch has just shown victims gone for which a pod was refused again."""
    rig = PreemptionRig([A], ON_A, important())
    rig.refuse()
    async with rig.held_at("delete"):
        rig.api.shows = False
    rig.refuse()
    rig.api.shows = True
    rig.api.show()
    await rig.tick()
    return rig


async def test_a_pod_refused_for_victims_that_the_watch_showed_too_late_is_tried_again() -> None:
    rig = await refused_too_late()
    await rig.pass_time(TRYING_SECONDS)
    await rig.tick(4)
    assert rig.done("nominate", "wake") == ["nominate important None->a", "wake important"]


async def test_a_pod_that_could_not_be_woken_is_woken_at_the_next_look() -> None:
    rig = await refused_too_late()
    rig.api.fails = lambda call: NoAnswerError("lost") if call.startswith("wake") else None
    await rig.pass_time(TRYING_SECONDS)
    rig.api.fails = lambda _: None
    await rig.tick(4)
    assert rig.done("wake") == ["wake important failed", "wake important"]


async def test_a_pod_that_nobody_has_refused_since_is_left_to_the_scheduler() -> None:
    rig = PreemptionRig([A], ON_A, important())
    rig.refuse()
    await rig.pass_time()
    await rig.tick(4)
    assert rig.done("nominate", "wake") == ["nominate important None->a"]


async def test_who_comes_between_goes_as_well_but_later() -> None:
    rig = PreemptionRig([A], ON_A, important())
    rig.api.grace = True
    rig.refuse()
    await rig.pass_time()
    rig.state.upsert_pod(model_pod(db("intruder", "a")))
    rig.api.pods["default-intruder"] = model_pod(db("intruder", "a"))
    rig.api.end("default-on-a")
    await rig.tick()
    assert rig.counts() == {"started": 1, "useless": 1}
    await rig.pass_time(FIRST_PAUSE_SECONDS)
    assert rig.evicted() == ["intruder", "on-a"]


# The preemptor goes, or needs nobody to go any more


@pytest.mark.parametrize(
    ("end", "result"),
    [
        pytest.param(lambda rig: rig.api.end("default-important"), "gone", id="deleted"),
        pytest.param(lambda rig: rig.api.bind("important", "b"), "elsewhere", id="bound elsewhere"),
    ],
)
async def test_no_further_victim_goes_for_a_preemptor_that_needs_none(
    end: Callable[[PreemptionRig], None], result: str
) -> None:
    rig = PreemptionRig([A, server("b", pods="1")], ON_A, db("more", "a"), ON_B, important())
    rig.refuse()
    async with rig.held_at("mark"):
        end(rig)
    await rig.tick(4)
    assert rig.evicted() == []
    assert rig.counts() == {"started": 1, result: 1}


async def test_an_admitted_preemptor_stops_further_deletions_until_it_is_refused_again() -> None:
    rig = PreemptionRig([A], ON_A, important())
    rig.refuse()
    async with rig.held_at("mark"):
        rig.controller.admitted(model_pod(important()))
    await rig.pass_time(20)
    assert rig.evicted() == []
    rig.refuse()
    await rig.tick()
    assert rig.evicted() == ["on-a"]


async def test_nobody_waits_for_a_victim_that_need_not_go_any_more() -> None:
    rig = PreemptionRig([A], ON_A, db("spared", "a"), important())
    rig.api.fails = lambda call: NoAnswerError("lost") if call == "delete spared" else None
    rig.refuse()
    await rig.pass_time()
    assert rig.evicted() == ["on-a"]
    rig.api.fails = lambda _: None
    spared = model_pod(plain("spared", "a"))
    rig.api.pods[spared.uid] = spared
    rig.refuse()
    rig.api.show()
    for _ in range(8):
        await rig.pass_time(1.0)
    assert (rig.evicted(), rig.done("wake")[:1]) == (["on-a"], ["wake important"])


async def test_a_place_that_becomes_free_between_two_tries_to_evict_is_seen_at_once() -> None:
    rig = PreemptionRig([A], ON_A, important())
    rig.api.fails = lambda call: NoAnswerError("lost") if call.startswith("delete") else None
    rig.refuse()
    for _ in range(9):
        await rig.pass_time(1.0)
    tried = len(rig.done("delete"))
    rig.refuse()
    rig.api.end("default-on-a")
    for _ in range(4):
        await rig.pass_time(LOOK_SECONDS)
    assert (len(rig.done("delete")), rig.done("wake")[:1]) == (tried, ["wake important"])
