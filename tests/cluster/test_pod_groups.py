"""The waiting pods of a pod group are those that have no node yet, through all events."""

from __future__ import annotations

import pytest

from extender.core.cluster.state import ClusterState
from tests.builders import Pod, model_pod, node, pod, state_of

ONE, TWO = pod("one").in_group("gang"), pod("two").in_group("gang")


def waiting(state: ClusterState, group: str = "default/gang") -> list[str]:
    return sorted(state.waiting_in_group(group))


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
    assert waiting(state) == []
    assert state._groups._waiting == {}


def test_a_class_is_the_one_from_creation() -> None:
    state = state_of([], [], [ONE])
    state.upsert_pod(model_pod(ONE.labels(app="web")))
    assert state.waiting_in_group("default/gang")["default/one"].labels == {"app": "web"}
