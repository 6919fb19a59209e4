"""Candidates that are ranked once for all pods that find the same."""

from __future__ import annotations

from extender.features.refused_pods.search import SHARED_SECONDS
from tests.builders import model_pod
from tests.features.refused_pods.preempting import ON_A, ON_B, A, B, PreemptionRig, loner
from tests.important_pods import HIGH, LOW, MIDDLE, db, server


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
