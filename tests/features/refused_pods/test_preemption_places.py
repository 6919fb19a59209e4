"""Nominated nodes that others are after."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection

import pytest

from extender.core.model.objects import Pod as ModelPod
from extender.features.refused_pods import preemption
from tests.builders import model_pod, pod
from tests.features.refused_pods.preempting import ON_A, ON_B, A, B, PreemptionRig, loner
from tests.important_pods import HIGH, LOW, db, important


async def test_what_hints_nominated_is_theirs_to_give_up_first() -> None:
    told: list[tuple[str, set[str]]] = []

    async def release_nomination(each: ModelPod, nodes: Collection[str]) -> frozenset[str]:
        told.append((each.key, {*nodes}))
        return frozenset("a")

    rig = PreemptionRig([A], ON_A, important(), release_nomination=release_nomination)
    rig.refuse()
    await rig.pass_time()
    assert told == [("default/important", {"a"})]
    assert rig.done() == [], "a withdrawal of theirs may still be carried out"


@pytest.mark.parametrize(
    "happens",
    [
        pytest.param(lambda rig, pod: rig.state.remove_pod(pod.key, pod.uid), id="it is deleted"),
        pytest.param(
            lambda rig, _: rig.state.upsert_pod(model_pod(important().on("b"))), id="it is bound"
        ),
        pytest.param(lambda rig, pod: rig.controller.admitted(pod), id="filter admits it"),
    ],
)
async def test_no_node_is_nominated_for_a_pod_that_needs_none_once_hints_have_given_up_theirs(
    happens: Callable[[PreemptionRig, ModelPod], None],
) -> None:
    async def release_nomination(each: ModelPod, nodes: Collection[str]) -> frozenset[str]:
        del nodes
        happens(rig, each)
        return frozenset()

    rig = PreemptionRig([A, B], ON_A, ON_B, important(), release_nomination=release_nomination)
    rig.refuse()
    await rig.pass_time()
    assert rig.done("nominate") == []
    assert rig.evicted() == []


async def test_a_bounded_number_of_pods_has_others_evicted_at_a_time(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(preemption, "MOST_ACTIVE", 1)
    rig = PreemptionRig([A, B], ON_A, ON_B, loner("one"), loner("two"))
    rig.api.grace = True
    for name in ("one", "two"):
        rig.refuse(name)
    await rig.tick(4)
    assert rig.evicted() == ["on-a"]
    rig.api.end("default-on-a")
    rig.state.upsert_pod(model_pod(loner("one").on("a")))
    await rig.tick(4)
    assert rig.evicted() == ["on-a", "on-b"]


async def test_lesser_nominations_on_the_node_end() -> None:
    waiting = [pod(name).priority(LOW).nominated("a") for name in ("lesser", "least")]
    rig = PreemptionRig([A], ON_A, important(), *waiting)
    rig.refuse()
    await rig.pass_time()
    first, *others = rig.done("nominate")
    assert first == "nominate important None->a"
    assert sorted(others) == ["nominate least a->None", "nominate lesser a->None"]


async def test_two_that_exclude_each_other_do_not_evict_on_the_same_node() -> None:
    rig = PreemptionRig([A, B], ON_A, ON_B, loner("one"), loner("two"), loner("three"))
    rig.api.grace = True
    for name in ("one", "two", "three"):
        rig.refuse(name)
    await rig.tick(4)
    assert rig.done("nominate") == ["nominate one None->a", "nominate two None->b"]
    assert rig.evicted() == ["on-a", "on-b"]


async def test_a_place_is_held_though_the_scheduler_wipes_out_the_nomination() -> None:
    rig = PreemptionRig([A, B], ON_A, ON_B, loner("one"), loner("two"))
    rig.refuse("one")
    async with rig.held_at("mark"):
        rig.api.wiped_out("one")
        rig.refuse("two")
        second = asyncio.create_task(rig.pass_time())
    await second
    assert rig.evicted() == ["on-a", "on-b"]
    assert rig.done("nominate")[:2] == ["nominate one None->a", "nominate two None->b"]


async def test_a_place_that_was_taken_meanwhile_is_given_up_at_once() -> None:
    rig = PreemptionRig([A, B], ON_A, ON_B, important())
    rig.refuse()
    async with rig.held_at("mark"):
        rig.api.wiped_out("important")
        rock = db("rock", "a", HIGH)
        rig.api.pods["default-rock"] = model_pod(rock)
        rig.api.show()
    await rig.tick()
    assert rig.counts() == {"started": 1, "useless": 1}
    assert not rig.state.nominated.on("a")


async def test_it_begins_as_soon_as_the_scheduler_has_ended_its_attempt() -> None:
    rig = PreemptionRig([A], ON_A, important())
    rig.refuse()
    await rig.pass_time(0)
    assert rig.api.calls == []
    # It writes a condition, which is nothing to us, but an event.
    rig.api.show()
    # That makes it try once more.
    rig.refuse()
    await rig.pass_time(0)
    assert rig.evicted() == ["on-a"]


async def test_what_the_watch_has_shown_long_ago_ends_no_attempt() -> None:
    rig = PreemptionRig([A], db("rock", "a", HIGH), important())
    rig.refuse()
    rig.api.show()
    await rig.tick()
    rig.api.end("default-rock")
    rig.api.pods["default-on-a"] = model_pod(ON_A)
    rig.state.upsert_pod(model_pod(ON_A))
    rig.refuse()
    await rig.pass_time(0)
    assert rig.api.calls == [], "the scheduler may still preempt by itself"
    await rig.pass_time()
    assert rig.evicted() == ["on-a"]
