"""Which pods NominationController points to a node, and when."""

from __future__ import annotations

from collections.abc import Callable
from unittest.mock import patch

import pytest

from extender.core.cluster.state import ClusterState
from extender.core.controllers.reconciling import LOOK_SECONDS
from extender.core.verbs import nominating
from extender.core.verbs.nominating import Chooser
from tests.annotating import REQUIRED, annotated
from tests.builders import HOST, Pod, model_node, model_pod, node, pod, selector, term
from tests.features.refused_pods.nominating import (
    ONE,
    THREE,
    TWO,
    NominationRig,
)


async def test_a_refused_pod_is_pointed_to_a_node_after_a_moment() -> None:
    rig = NominationRig(ONE.on("a"), TWO)
    rig.refuse(TWO)
    await rig.pass_time(0)
    assert rig.api.made == [], "the scheduler may still come back by itself"
    await rig.pass_time()
    assert rig.api.made == [("two", None, "b")]
    assert rig.counts() == {"set": 1}
    (entry,) = rig.history.latest()
    assert (entry.kind, entry.result, entry.pod, entry.node) == ("hint", "set", "default/two", "b")


@pytest.mark.parametrize("lag", [1.0, 60.0, 290.0])
async def test_a_pod_is_remembered_that_the_watch_shows_late(lag: float) -> None:
    rig = NominationRig(ONE.on("a"))
    rig.refuse(TWO)
    while rig.now < 100.0 + lag:
        await rig.tick()
    assert rig.api.made == []
    rig.state.upsert_pod(model_pod(TWO))
    while rig.now < 100.0 + lag + lag / 8 + LOOK_SECONDS:
        await rig.tick()
    assert rig.api.made[:1] == [("two", None, "b")]


async def test_nothing_is_done_for_a_pod_that_was_admitted_meanwhile() -> None:
    rig = NominationRig(ONE.on("a"), TWO)
    rig.refuse(TWO)
    rig.controller.admitted(model_pod(TWO))
    await rig.pass_time()
    assert rig.api.made == []


async def test_a_search_of_all_nodes_needs_no_hint_until_something_changes() -> None:
    rig = NominationRig(ONE.on("a"), TWO.on("b"), THREE)
    rig.refuse(THREE, asked=2)
    await rig.tick()
    assert rig.api.made == []
    rig.state.remove_pod("default/one", "default-one")
    await rig.tick()
    assert rig.api.made == [("three", None, "a")], "the wake-up came before the watch event"


SEARCHED_AGAIN: dict[str, tuple[Callable[[ClusterState], object], bool]] = {
    "a pod takes a place": (lambda state: state.upsert_pod(model_pod(pod("x").on("a"))), False),
    "a pod is bound by us": (lambda state: state.reserve(model_pod(pod("x")), "a", 1e9), False),
    "and the watch shows it": (lambda state: bound(state, "a", "a"), False),
    "and the watch shows it smaller": (lambda state: bound(state, "a", "a", smaller=True), True),
    "a pod that we meant to bind elsewhere": (lambda state: bound(state, "a", "b"), True),
    "another pod is gone": (lambda state: state.remove_pod("default/y", "default-y"), True),
    "a node has other labels": (
        lambda state: state.upsert_node(model_node(node("a", {HOST: "a", "disk": "ssd"}))),
        True,
    ),
}
"""What happens, and whether the nodes are looked through again for a pod that found none."""


def bound(state: ClusterState, meant: str, shown: str, *, smaller: bool = False) -> None:
    """Have a pod bound by us, and shown; smaller if it was resized meanwhile."""
    taken = pod("x").requests(cpu="1") if smaller else pod("x")
    state.reserve(model_pod(taken), meant, 1e9)
    state.upsert_pod(model_pod(pod("x").on(shown)))


@pytest.mark.parametrize(("change", "again"), SEARCHED_AGAIN.values(), ids=SEARCHED_AGAIN)
async def test_nodes_are_looked_through_again_after_a_change_that_may_help(
    change: Callable[[ClusterState], object], again: bool
) -> None:
    rig = NominationRig(ONE.on("a"), TWO.on("b"), THREE, pod("y").on("a"))
    with patch.object(Chooser, "choose", autospec=True, side_effect=Chooser.choose) as search:
        rig.refuse(THREE)
        await rig.tick()
        assert search.call_count == 1
        change(rig.state)
        rig.refuse(THREE)
        await rig.tick()
        assert search.call_count == 1 + again


async def test_a_pod_that_wants_company_is_pointed_to_it_when_it_comes() -> None:
    follower = pod("follower").affinity(term(HOST, selector(app="db")))
    rig = NominationRig(follower)
    rig.refuse(follower)
    await rig.tick()
    assert rig.api.made == []
    rig.state.upsert_pod(model_pod(pod("db").labels(app="db").on("b")))
    await rig.tick()
    assert rig.api.made == [("follower", None, "b")]


async def test_a_place_that_a_limit_leaves_is_pointed_to_however_many_pods_came() -> None:
    keen = THREE.selects(**{HOST: "a"})
    rule = {"podAntiAffinity": {REQUIRED: [term(HOST, selector(app="db"), maxMatchingPods=1)]}}
    rig = NominationRig(keen)
    rig.state.upsert_pod(model_pod(annotated(ONE.on("a"), rule)))
    rig.refuse(keen)
    await rig.tick()
    assert rig.api.made == []
    assert rig.state.arrivals == 1
    rig.state.remove_pod("default/one", "default-one")
    await rig.tick()
    assert rig.api.made == [("three", None, "a")]


async def test_a_search_of_some_nodes_is_not_taken_for_one_of_all(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(nominating, "MOST_CONDITIONS", 1)
    small = pod("small").requests(cpu="1")
    rig = NominationRig(pod("large").requests(cpu="4").on("a"), small)
    rig.refuse(small)
    await rig.tick()
    assert rig.api.made == [], "node a alone was looked at"
    rig.chance = 0.5
    rig.refuse(small)
    await rig.tick()
    assert rig.api.made == [("small", None, "b")]


async def test_what_was_in_vain_for_a_port_is_tried_for_a_pod_without_it() -> None:
    taken = [pod(f"taken-{name}").host_port(80).on(name) for name in ("a", "b")]
    ported, other = pod("ported").host_port(80), pod("other")
    rig = NominationRig(*taken, ported, other)
    rig.refuse(ported)
    await rig.pass_time()
    assert rig.api.made == []
    rig.refuse(other)
    await rig.pass_time()
    assert [name for name, _, _ in rig.api.made] == ["other"]


async def test_a_pod_that_no_watch_has_shown_yet_is_waited_for() -> None:
    rig = NominationRig(ONE.on("a"))
    rig.refuse(TWO)
    await rig.pass_time()
    assert rig.api.made == []
    rig.state.upsert_pod(model_pod(TWO))
    await rig.tick()
    assert rig.api.made == [("two", None, "b")]


async def test_a_pod_that_was_not_bound_is_pointed_to_the_node_it_is_to_have() -> None:
    rig = NominationRig(TWO)
    rig.controller.point(model_pod(TWO), "b")
    await rig.pass_time(0)
    assert rig.api.made == [], "the scheduler ends its attempt first, and clears the field"
    await rig.pass_time()
    assert rig.api.made == [("two", None, "b")]
    rig.state.upsert_pod(model_pod(TWO.on("b")))
    await rig.tick()
    assert rig.counts() == {"set": 1, "taken": 1}


async def test_once_it_is_refused_there_any_node_will_do() -> None:
    rig = NominationRig(TWO)
    rig.controller.point(model_pod(TWO), "b")
    await rig.pass_time()
    rig.state.upsert_pod(model_pod(ONE.on("b")))
    rig.refuse(TWO.nominated("b"), asked=1)
    for _ in range(4):
        await rig.tick()
    assert rig.api.made == [("two", None, "b"), ("two", "b", None), ("two", None, "a")]


@pytest.mark.parametrize(
    "gone",
    [
        pytest.param(TWO.on("b"), id="bound"),
        pytest.param(TWO.uid("successor"), id="replaced"),
    ],
)
async def test_a_pod_that_waits_no_more_is_forgotten(gone: Pod) -> None:
    rig = NominationRig(ONE.on("a"), TWO)
    rig.refuse(TWO)
    rig.state.upsert_pod(model_pod(gone))
    await rig.pass_time()
    await rig.pass_time(10)
    assert rig.api.made == []


async def test_no_hint_comes_from_a_stale_picture() -> None:
    rig = NominationRig(ONE.on("a"), TWO)
    rig.state.stale = "too old"
    rig.refuse(TWO)
    await rig.pass_time()
    await rig.tick()
    assert rig.api.made == []
    rig.state.stale = None
    await rig.tick()
    assert rig.api.made == [("two", None, "b")]
