"""Candidates that are ranked once for all pods that find the same."""

from __future__ import annotations

import pytest

from extender.features.refused_pods.search import SHARED_SECONDS
from tests.builders import HOST, ZONE, Pod, model_pod, node
from tests.features.refused_pods.preempting import ON_A, ON_B, A, B, PreemptionRig, loner
from tests.important_pods import HIGH, LOW, MIDDLE, ROOM, db, server


async def test_pods_whose_labels_concern_nobody_share_what_one_of_them_found() -> None:
    coming = [loner(f"p{number}").labels(number=str(number)) for number in range(3)]
    rig = PreemptionRig([A, B, server("c")], ON_A, ON_B, db("rock", "c", HIGH), *coming)
    rig.refuse("p0")
    await rig.pass_time(0.1)
    assert rig.evicted() == ["on-a"]
    # It is better, and there since the nodes were ranked.
    rig.api.end("default-rock")
    cheap = model_pod(db("cheap", "c", LOW - 1))
    rig.api.pods[cheap.uid] = cheap
    rig.api.show()
    rig.refuse("p1")
    await rig.pass_time(0.1)
    assert rig.evicted() == ["on-a", "on-b"]
    rig.now += SHARED_SECONDS
    rig.refuse("p2")
    await rig.pass_time(0.1)
    assert rig.evicted() == ["cheap", "on-a", "on-b"]


async def test_what_is_ranked_is_looked_at_once_more_when_it_is_taken() -> None:
    coming = [loner(f"p{number}") for number in range(2)]
    c = server("c", "z3")
    rig = PreemptionRig([A, B, c], ON_A, ON_B, db("on-c", "c", MIDDLE + 1), *coming)
    rig.refuse("p0")
    await rig.pass_time(0.1)
    rock = model_pod(db("rock", "b", HIGH))
    rig.api.pods[rock.uid] = rock
    rig.api.show()
    rig.refuse("p1")
    await rig.pass_time(0.1)
    assert rig.evicted() == ["on-a", "on-c"]


async def test_a_place_that_is_free_by_now_is_found_though_nodes_were_ranked_before() -> None:
    coming = [loner(f"p{number}") for number in range(2)]
    rig = PreemptionRig([A, B, server("c")], ON_A, ON_B, db("rock", "c", HIGH), *coming)
    rig.refuse("p0")
    await rig.pass_time(0.1)
    rig.refuse("p1")
    rig.api.end("default-rock")
    await rig.pass_time(0.1)
    assert rig.evicted() == ["on-a"]


@pytest.mark.parametrize(
    ("other", "asked"),
    [
        pytest.param(loner("p1"), ["c"], id="the scheduler has let it through elsewhere"),
        pytest.param(loner("p1").selects(disk="ssd"), [], id="it asks for other nodes"),
    ],
)
async def test_pods_that_may_go_elsewhere_share_no_ranking(other: Pod, asked: list[str]) -> None:
    """A node is left of those that were ranked for the first one, and it is none for the other."""
    c = node("c", {HOST: "c", ZONE: "z3", "disk": "ssd"}, ROOM)
    rig = PreemptionRig([A, B, c], ON_A, ON_B, db("on-c", "c", MIDDLE), loner("p0"), other)
    rig.refuse("p0", "a", "b")
    await rig.pass_time(0.1)
    rig.refuse("p1", *asked)
    await rig.pass_time(0.1)
    assert rig.evicted() == ["on-a", "on-c"]
