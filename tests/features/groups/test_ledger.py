"""The members of a pod group are those of its pods that have not ended, through all events."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from extender.core.cluster.state import ClusterState
from extender.features.groups.ledger import members_of
from tests.builders import Pod, model_pod, node, pod, state_of

ONE, TWO, THREE = (pod(name).in_group("gang") for name in ("one", "two", "three"))


def waiting(state: ClusterState, group: str = "default/gang") -> list[str]:
    members = members_of(state)
    return sorted(key for key, each in members.of(group).items() if not members.has_place(each))


@pytest.mark.parametrize(
    ("event", "expected"),
    [
        pytest.param(TWO.labels(app="web"), ["one", "two"], id="a pod that changes stays"),
        pytest.param(TWO.on("a"), ["one"], id="a pod that is bound waits no longer"),
        pytest.param(TWO.phase("Failed"), ["one"], id="a pod that has ended waits no longer"),
        pytest.param(TWO.uid("new"), ["one", "two"], id="a successor takes the place"),
        pytest.param(
            pod("two").uid("new"), ["one"], id="a successor outside the group leaves it empty"
        ),
        pytest.param(
            TWO.uid("new").in_group("other"), ["one"], id="a successor in another group moves"
        ),
        pytest.param(pod("three"), ["one", "two"], id="pods without a group are none of it"),
    ],
)
def test_who_waits_after_an_event(event: Pod, expected: list[str]) -> None:
    state = state_of([node("a")], [], [ONE, TWO])
    state.upsert_pod(model_pod(event))
    assert waiting(state) == [f"default/{name}" for name in expected]


@pytest.mark.parametrize(
    "event",
    [
        pytest.param(lambda state: state.upsert_pod(model_pod(THREE)), id="a member comes"),
        pytest.param(lambda state: state.remove_pod("default/two", "default-two"), id="one goes"),
        pytest.param(lambda state: state.upsert_pod(model_pod(TWO.uid("new"))), id="a namesake"),
        pytest.param(lambda state: state.upsert_pod(model_pod(TWO.labels(app="x"))), id="an edit"),
        pytest.param(lambda state: state.upsert_pod(model_pod(TWO.phase("Failed"))), id="an end"),
        pytest.param(
            lambda state: state.upsert_pod(model_pod(pod("two").uid("new"))), id="it leaves"
        ),
        pytest.param(lambda state: state.upsert_pod(model_pod(TWO.on("a"))), id="a place"),
        pytest.param(lambda state: state.reserve(model_pod(TWO), "a", 1.0), id="a reservation"),
    ],
)
def test_what_is_found_of_a_group_is_looked_for_again_after(
    event: Callable[[ClusterState], object],
) -> None:
    state = state_of([node("a")], [], [ONE, TWO])
    members = members_of(state)
    assert members.found("default/gang", lambda: "before") == "before"
    assert members.found("default/gang", lambda: "again") == "before"
    event(state)
    assert members.found("default/gang", lambda: "after") == "after"


def test_groups_of_two_namespaces_are_two() -> None:
    state = state_of([], [], [ONE, pod("one", "other").in_group("gang")])
    assert waiting(state) == ["default/one"]
    assert waiting(state, "other/gang") == ["other/one"]


def test_nothing_is_left_of_a_group_whose_pods_are_gone() -> None:
    state = state_of([node("a")], [], [ONE, TWO])
    state.upsert_pod(model_pod(TWO.on("a")))
    for each in (ONE, TWO.on("a"), ONE):
        gone = model_pod(each)
        state.remove_pod(gone.key, gone.uid)
    assert members_of(state)._of == {}


@pytest.mark.parametrize(
    "event",
    [
        pytest.param(lambda state: state.remove_pod("default/two", "new"), id="is gone"),
        pytest.param(
            lambda state: state.upsert_pod(model_pod(TWO.uid("new").phase("Failed"))), id="ends"
        ),
        pytest.param(
            lambda state: state.upsert_pod(model_pod(pod("two").uid("newer"))), id="is another"
        ),
        pytest.param(
            lambda state: state.upsert_pod(model_pod(pod("two").uid("newer").in_group("other"))),
            id="is of another group",
        ),
    ],
)
def test_the_end_of_a_group_is_told_once_its_last_member(
    event: Callable[[ClusterState], object],
) -> None:
    state, told = state_of([node("a")], [], [ONE, TWO]), list[str]()
    members_of(state).ended.append(told.append)
    for before in (TWO.uid("new"), ONE.phase("Failed"), TWO.uid("new").labels(app="web")):
        state.upsert_pod(model_pod(before))
    assert told == []
    event(state)
    assert told == ["default/gang"]


def test_a_reserved_place_is_one() -> None:
    state = state_of([node("a")], [], [ONE, TWO])
    state.reserve(model_pod(ONE), "a", deadline=1.0)
    assert waiting(state) == ["default/two"]


def test_the_audit_finds_a_member_that_is_not_as_the_watch_showed_it() -> None:
    state = state_of([node("a")], [], [ONE, TWO])
    members = members_of(state)
    assert {*members.audit()} == {None}
    one = members._of["default/gang"].pop("default/one")
    wrong = "default/one among the members of its pod group"
    assert [*members.audit()] == [wrong, None]
    members._of["default/gang"][one.key] = one
    state.remove_pod(one.key, one.uid)
    members._of["default/gang"][one.key] = one
    assert [*members.audit()] == [None, wrong]
