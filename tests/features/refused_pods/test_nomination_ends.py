"""What ends a hint, and what renews it."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from extender.core.controllers.reconciling import LOOK_SECONDS
from extender.core.timing import LONGEST_PAUSE_SECONDS
from extender.features.refused_pods.nominations import MOST_RENEWALS, SEEN_SECONDS
from extender.features.refused_pods.refusals import GONE_SECONDS, SETTLING_SECONDS
from tests.builders import HOST, Pod, model_node, model_pod, node, pod
from tests.features.refused_pods.nominating import (
    ONE,
    PATIENCE,
    ROOM,
    THREE,
    TWO,
    NominationRig,
    show,
)


@pytest.mark.parametrize(
    ("request_says", "watch_says"),
    [
        pytest.param("b", None, id="the request says so"),
        pytest.param(None, "b", id="the watch says so"),
    ],
)
async def test_a_nomination_by_somebody_else_stands(
    request_says: str | None, watch_says: str | None
) -> None:
    rig = NominationRig(ONE.on("a"), TWO.nominated(watch_says) if watch_says else TWO)
    rig.refuse(TWO.nominated(request_says) if request_says else TWO)
    await rig.pass_time()
    assert rig.api.made == []
    assert rig.counts() == {"skipped": 1}


@pytest.mark.parametrize(
    ("place", "result"),
    [
        pytest.param("b", "taken", id="where the hint said"),
        pytest.param("a", "elsewhere", id="elsewhere"),
    ],
)
async def test_a_hint_ends_when_the_pod_is_bound(place: str, result: str) -> None:
    rig = NominationRig(ONE.on("a"), TWO)
    rig.refuse(TWO)
    await rig.pass_time()
    rig.state.upsert_pod(model_pod(TWO.on(place)))
    await rig.tick()
    assert rig.counts() == {"set": 1, result: 1}
    assert rig.controller.outstanding == 0


async def test_a_place_that_we_reserve_ends_the_hint_once_the_pod_is_bound() -> None:
    rig = NominationRig(ONE.on("a"), TWO)
    rig.refuse(TWO)
    await rig.pass_time()
    two = model_pod(TWO)
    rig.state.reserve(two, "b", rig.now + 30)
    await rig.tick()
    assert rig.counts() == {"set": 1}
    rig.state.settle(two, "b", rig.now + 30)
    await rig.tick()
    assert rig.counts() == {"set": 1, "taken": 1}


async def test_a_hint_is_withdrawn_when_the_bind_there_comes_to_nothing() -> None:
    rig = NominationRig(ONE.on("a"), TWO)
    rig.refuse(TWO)
    await rig.pass_time()
    claim = rig.state.reserve(model_pod(TWO), "b", rig.now + 30)
    await rig.tick()
    rig.state.release(claim)
    await rig.pass_time(PATIENCE)
    assert ("two", "b", None) in rig.api.made


async def test_a_hint_ends_with_its_pod() -> None:
    rig = NominationRig(ONE.on("a"), TWO)
    rig.refuse(TWO)
    await rig.pass_time()
    rig.state.remove_pod("default/two", "default-two")
    await rig.tick()
    assert rig.counts() == {"set": 1, "gone": 1}


async def test_a_hint_that_nobody_takes_is_withdrawn() -> None:
    rig = NominationRig(ONE.on("a"), TWO)
    rig.refuse(TWO)
    await rig.pass_time()
    await rig.pass_time(PATIENCE)
    assert rig.api.made == [("two", None, "b"), ("two", "b", None)]
    assert rig.counts() == {"set": 1, "withdrawn": 1}
    await rig.pass_time(0.1)
    rig.refuse(TWO)
    await rig.pass_time()
    assert len(rig.api.made) == 2, "not at once again"
    await rig.tick()
    assert len(rig.api.made) == 2, "the other nodes have their turn first"
    await rig.tick()
    await rig.tick()
    assert rig.api.made[2:] == [("two", None, "b")], "there is no other"


async def test_a_node_that_was_of_no_use_is_pointed_to_again_though_nothing_has_changed() -> None:
    """A search that leaves it out finds nothing, which says nothing about the next one."""
    rig = NominationRig(ONE.on("a"), TWO)
    rig.refuse(TWO)
    await rig.pass_time()
    await rig.pass_time(PATIENCE)
    assert rig.api.made == [("two", None, "b"), ("two", "b", None)]
    await rig.tick()
    await rig.pass_time(PATIENCE)
    assert rig.api.made[2:3] == [("two", None, "b")]


async def test_a_hint_that_the_scheduler_wiped_out_is_renewed() -> None:
    rig = NominationRig(ONE.on("a"), TWO)
    rig.refuse(TWO)
    await rig.pass_time()
    show(rig.state, "two", None)
    await rig.pass_time(LOOK_SECONDS - SETTLING_SECONDS)
    assert len(rig.api.made) == 1, "the watch may only be late"
    await rig.tick()
    assert rig.api.made == [("two", None, "b")] * 2
    assert rig.counts() == {"set": 1, "renewed": 1}


@pytest.mark.parametrize("per_second", [100, 1], ids=["at once", "one a second"])
async def test_before_each_renewal_the_watch_has_time_and_there_are_not_many(
    per_second: float,
) -> None:
    """Both with the first one and with each that was renewed; and renewals count as hints do."""
    rig = NominationRig(ONE.on("a"), TWO, per_second=per_second)
    rig.refuse(TWO)
    await rig.pass_time()
    for made in range(1, MOST_RENEWALS + 1):
        show(rig.state, "two", None)
        rig.refuse(TWO)
        await rig.pass_time(SEEN_SECONDS / 2)
        assert len(rig.api.made) == made, "the watch may only be late"
        if per_second == 1:
            await rig.pass_time(SEEN_SECONDS)
            assert len(rig.api.made) == made, "there was one within this second"
            await rig.pass_time(1.0)
        else:
            await rig.tick()
        assert len(rig.api.made) == made + 1
    show(rig.state, "two", None)
    await rig.tick()
    await rig.tick()
    assert len([each for each in rig.api.made if each[2]]) == MOST_RENEWALS + 1


async def _refused_at(rig: NominationRig, node: str, raw: Pod = TWO) -> None:
    """Have the scheduler try the node of a hint in vain, and the hint withdrawn."""
    rig.refuse(raw.nominated(node), asked=1)
    rig.refuse(raw)
    await rig.pass_time()
    assert rig.api.made[-1] == ("two", node, None)


async def test_a_pod_whose_hint_was_refused_is_pointed_nowhere_until_something_changes() -> None:
    """Autoscalers take a nominated pod for one that has its place."""
    rig = NominationRig(TWO)
    rig.refuse(TWO)
    await rig.pass_time()
    rig.refuse(TWO)
    await rig.pass_time()
    assert rig.api.made == [("two", None, "a")], "a request older than the hint says nothing"
    await _refused_at(rig, "a")
    made = rig.api.made[:]
    for _ in range(100):
        rig.refuse(TWO)
        await rig.tick()
        show(rig.state, "two", "a")
        show(rig.state, "two", None)
    assert rig.api.made == made, "neither the scheduler's attempts nor nominations change anything"
    rig.state.upsert_pod(model_pod(pod("other").on("a")))
    await rig.tick()
    assert rig.api.made[2:] == [("two", None, "b")], "the node that was tried comes last"
    await _refused_at(rig, "b")
    assert rig.counts() == {"set": 2, "refused": 2}


CHANGES: dict[str, tuple[Callable[[NominationRig], object], bool]] = {
    "a pod is gone": (lambda rig: rig.state.remove_pod("default/one", "default-one"), True),
    "a pod has come": (lambda rig: rig.state.upsert_pod(model_pod(pod("x").on("a"))), True),
    "a node has come": (
        lambda rig: rig.state.upsert_node(model_node(node("c", {HOST: "c"}, ROOM))),
        True,
    ),
    "the pod asks for something else": (lambda rig: rig.refuse(TWO.requests(cpu="1")), True),
    "a hint for another pod": (lambda rig: show(rig.state, "three", "a"), False),
    "another refusal": (lambda rig: rig.refuse(TWO), False),
}
"""What happens after a hint was refused, and whether another one follows."""


@pytest.mark.parametrize(("change", "again"), CHANGES.values(), ids=CHANGES)
async def test_what_may_let_a_pod_in_whose_hint_was_refused(
    change: Callable[[NominationRig], object], again: bool
) -> None:
    rig = NominationRig(ONE.on("a"), TWO, THREE)
    rig.refuse(TWO)
    await rig.pass_time()
    await _refused_at(rig, "b")
    for _ in range(8):
        await rig.tick()
    made = len(rig.api.made)
    change(rig)
    for _ in range(8):
        await rig.tick()
    assert (len(rig.api.made) > made) is again


async def test_a_change_since_a_node_was_chosen_counts_before_the_refusal_is_known() -> None:
    """The scheduler and we have seen the same pod come: its node is taken, others are not."""
    rig = NominationRig(TWO)
    rig.refuse(TWO)
    await rig.pass_time()
    rig.state.upsert_pod(model_pod(ONE.on("a")))
    await _refused_at(rig, "a")
    await rig.tick()
    assert rig.api.made[2:] == [("two", None, "b")]


async def test_after_as_long_as_the_scheduler_waits_itself_a_hint_is_tried_again() -> None:
    rig = NominationRig(ONE.on("a"), TWO)
    rig.refuse(TWO)
    await rig.pass_time()
    await _refused_at(rig, "b")
    await rig.pass_time(LONGEST_PAUSE_SECONDS - 1)
    assert len(rig.api.made) == 2
    await rig.pass_time(1)
    for _ in range(8):
        await rig.tick()
    assert rig.api.made[2:] == [("two", None, "b")]


async def test_what_is_remembered_of_a_refused_hint_ends_with_the_pod() -> None:
    rig = NominationRig(ONE.on("a"), TWO)
    rig.refuse(TWO)
    await rig.pass_time()
    await _refused_at(rig, "b")
    record = rig.controller._records.get("default-two")
    assert record is not None
    assert record.refusal is not None
    rig.state.remove_pod("default/two", "default-two")
    await rig.pass_time(GONE_SECONDS)
    await rig.tick()
    assert record.refusal is None


async def test_a_change_during_a_pause_does_not_make_it_endless() -> None:
    rig = NominationRig(ONE.on("a"), TWO)
    rig.refuse(TWO)
    await rig.pass_time()
    rig.refuse(TWO.nominated("b"))
    await rig.tick()
    await rig.tick()
    assert rig.api.made == [("two", None, "b"), ("two", "b", None)], "there is no other node"
    rig.state.upsert_pod(model_pod(pod("other").on("a")))
    for _ in range(4):
        await rig.tick()
    assert rig.api.made[2:] == [("two", None, "b")], "though nothing has changed since"


async def test_a_hint_that_the_scheduler_refused_and_wiped_out_is_not_renewed() -> None:
    rig = NominationRig(ONE.on("a"), TWO)
    rig.refuse(TWO)
    await rig.pass_time()
    rig.refuse(TWO.nominated("b"))
    show(rig.state, "two", None)
    await rig.tick()
    await rig.tick()
    assert rig.api.made == [("two", None, "b"), ("two", "b", None)]
    assert rig.counts() == {"set": 1, "refused": 1}


async def test_a_hint_that_is_wiped_out_again_and_again_is_given_up() -> None:
    rig = NominationRig(ONE.on("a"), TWO)
    rig.refuse(TWO)
    await rig.pass_time()
    for _ in range(12):
        show(rig.state, "two", None)
        await rig.tick()
    assert rig.api.made == [("two", None, "b")] * (1 + MOST_RENEWALS)
    await rig.pass_time(PATIENCE)
    assert rig.controller.outstanding == 0
    rig.refuse(TWO)
    for _ in range(20):
        await rig.tick()
    assert rig.api.made[MOST_RENEWALS + 2 :] == [], "it was tried, though nobody said so"
