"""One set of victims for a preemptor: by processes that are killed, and by several at once."""

from __future__ import annotations

import asyncio

import pytest

from extender.core.model.disruption import mark_message
from tests.builders import model_pod
from tests.features.refused_pods.preempting import ON_A, ON_B, A, B, PreemptionRig
from tests.important_pods import HIGH, LOW, MIDDLE, db, important

# Restarts and replicas


async def restarted(rig: PreemptionRig, at: str) -> PreemptionRig:
    """Let the process be killed when it sends a request; return what its successor works with."""
    rig.refuse()
    async with rig.held_at(at) as work:
        work.cancel()
    rig.state.expire(rig.now + 1000)
    rig.controller = rig.another()
    return rig


@pytest.mark.parametrize("at", ["try", "nominate", "mark", "delete", "tell"])
@pytest.mark.parametrize("cheaper", [False, True])
async def test_a_process_that_is_killed_leaves_one_set_of_victims(
    at: str, *, cheaper: bool
) -> None:
    rig = PreemptionRig([A, B], ON_A, ON_B, important())
    rig.api.grace = True
    await restarted(rig, at)
    nominated = rig.state.pods["default/important"].status.nominated
    assert nominated == ("a" if at in {"mark", "delete", "tell"} else None)
    if cheaper and nominated is not None:
        # Somewhere else it would be better by now.
        rig.api.pods["default-on-b"] = model_pod(db("on-b", "b", LOW - 1))
        rig.api.show()
    rig.refuse()
    await rig.tick(20)
    assert rig.evicted() == ["on-a"]


async def test_a_set_of_which_a_part_is_on_its_way_out_is_gone_on_with() -> None:
    leaving = ON_A.being_deleted().preempted()
    rig = PreemptionRig([A, B], leaving, db("rest", "a"), db("cheaper", "b"), important())
    # A predecessor nominated the node; the scheduler has wiped that out, as after an error.
    rig.refuse()
    await rig.tick(4)
    assert rig.evicted() == ["rest"]


async def test_a_set_for_somebody_else_is_not_gone_on_with() -> None:
    leaving = ON_A.being_deleted().preempted()
    other = important("other", priority=MIDDLE).nominated("a")
    rig = PreemptionRig([A, B], leaving, db("rest", "a"), db("cheaper", "b"), important(), other)
    rig.refuse()
    await rig.tick(4)
    assert rig.evicted() == ["cheaper"]


async def test_two_replicas_at_once_evict_one_set() -> None:
    pods = (ON_A, ON_B, important())
    one = PreemptionRig([A, B], *pods)
    two = PreemptionRig([A, B], *pods, api=one.api)
    one.api.shows = False
    for rig in (one, two):
        rig.refuse()
    await asyncio.gather(one.pass_time(1), two.pass_time(1))
    assert one.evicted() == [], "who knows what others did before"
    assert {**one.counts(), **two.counts()} == {"started": 1, "overtaken": 1}
    one.api.shows = True
    one.api.show()
    await asyncio.gather(one.tick(8), two.tick(8))
    assert one.evicted() == ["on-a"]


async def mark_on_b(rig: PreemptionRig) -> None:
    """Let another replica mark a victim on the node that is not the best one."""
    victim = rig.api.pods["default-on-b"]
    await rig.api.mark(victim, mark_message("default-scheduler", "default-important"))


async def test_marks_of_victims_outlast_a_nomination_that_was_wiped_out() -> None:
    rig = PreemptionRig([A, B], ON_A, ON_B, important())
    await mark_on_b(rig)
    rig.refuse()
    await rig.tick(4)
    assert rig.evicted() == ["on-b"]


async def test_nobody_else_goes_while_marked_pods_may_be_deleted_yet() -> None:
    rig = PreemptionRig([A, B], ON_A, ON_B, db("rock", "b", HIGH), important())
    await mark_on_b(rig)
    rig.refuse()
    await rig.tick(8)
    assert rig.evicted() == [], "on b nobody's eviction helps, and on a it is not its turn"
    rig.api.end("default-on-b")
    await rig.tick(4)
    assert rig.evicted() == ["on-a"]


async def test_who_nominates_looks_for_the_marks_of_others_before_it_marks() -> None:
    rig = PreemptionRig([A, B], ON_A, ON_B, important())
    rig.refuse()
    async with rig.held_at("nominate"):
        await mark_on_b(rig)
    assert rig.done("delete") == []
    await rig.tick(8)
    assert rig.evicted() == ["on-b"]


async def test_who_marks_looks_at_the_nomination_before_it_deletes() -> None:
    rig = PreemptionRig([A, B], ON_A, ON_B, important())
    rig.refuse()
    async with rig.held_at("mark"):
        rig.api.nominated("important", "b")
    assert rig.done("nominate", "delete") == ["nominate important None->a"]


async def test_who_marks_looks_whether_it_helps_before_it_deletes() -> None:
    rig = PreemptionRig([A, B], ON_A, ON_B, important())
    rig.refuse()
    async with rig.held_at("mark"):
        rig.api.pods["default-rock"] = model_pod(db("rock", "a", HIGH))
        rig.api.show()
    assert rig.done("delete") == []
    await rig.tick()
    assert rig.counts() == {"started": 1, "useless": 1}


async def test_nobody_is_marked_before_the_watch_shows_the_nomination() -> None:
    # What others marked before it would be shown by then as well.
    rig = PreemptionRig([A, B], ON_A, ON_B, important())
    rig.api.shows = False
    rig.refuse()
    await rig.pass_time()
    await rig.tick(2)
    assert rig.done("nominate", "mark")[:1] == ["nominate important None->a"]
    assert rig.done("mark") == []
    rig.api.shows = True
    rig.api.show()
    await rig.tick(4)
    assert rig.evicted() == ["on-a"]


async def test_nothing_is_deleted_before_the_watch_shows_the_mark() -> None:
    rig = PreemptionRig([A], ON_A, important())
    rig.refuse()
    async with rig.held_at("mark"):
        rig.api.shows = False
    await rig.tick()
    assert rig.done("delete") == []
    rig.api.shows = True
    rig.api.show()
    await rig.tick(4)
    assert rig.evicted() == ["on-a"]
