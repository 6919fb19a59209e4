"""Who is nominated to which node, by what the watch shows and by what it does not show yet."""

from __future__ import annotations

import pytest

from extender.core.cluster.ledgers import nominated_pods
from extender.core.cluster.state import ClusterState
from extender.core.model import memory
from extender.core.model.objects import Said
from simulation.invariants.recount import nominated_mismatches
from tests.builders import Pod, model_pod, pod

WAITING = pod("p")
UID = "default-p"


def where(state: ClusterState) -> dict[str, str | None]:
    """Return the nodes that pods are nominated to, by uid."""
    assert nominated_mismatches(state) == []
    return {each.uid: each.status.nominated for each in state.nominated.pods}


def test_what_the_watch_shows_counts_until_the_pod_is_placed_or_gone() -> None:
    state = ClusterState()
    state.upsert_pod(model_pod(WAITING.nominated("a")))
    assert where(state) == {UID: "a"}
    state.upsert_pod(model_pod(WAITING.nominated("b")))
    assert where(state) == {UID: "b"}
    assert [each.uid for each in state.nominated.on("b")] == [UID]
    assert not state.nominated.on("a")
    state.upsert_pod(model_pod(WAITING.on("b")))
    assert where(state) == {}
    state.upsert_pod(model_pod(pod("q").nominated("a")))
    state.remove_pod("default/q", "older")
    assert where(state) == {"default-q": "a"}
    state.remove_pod("default/q", "default-q")
    assert where(state) == {}


def test_a_nominated_pod_is_known_with_what_the_scheduler_has_said_last() -> None:
    state, waiting = ClusterState(), model_pod(WAITING.nominated("a"))
    for message in ("no cpu", "no memory"):
        state.upsert_pod(waiting.with_status(said=Said("Unschedulable", message)))
        assert where(state) == {UID: "a"}
        assert [each.status.said for each in state.nominated.shown] == [
            ("Unschedulable", message, None)
        ]


def test_of_a_class_or_node_that_nobody_has_there_are_none() -> None:
    state, other = ClusterState(), model_pod(pod("q").labels(app="other")).pod_class
    state.upsert_pod(model_pod(WAITING.nominated("a")))
    assert [each.uid for each in state.nominated.of_class(model_pod(WAITING).pod_class)] == [UID]
    assert (*state.nominated.of_class(other), *state.nominated.on("b")) == ()


def test_a_namesake_holds_nothing_for_the_pod_that_had_the_name_before() -> None:
    state = ClusterState()
    state.upsert_pod(model_pod(WAITING.nominated("a")))
    state.upsert_pod(model_pod(WAITING.uid("newer")))
    assert where(state) == {}


def test_what_was_nominated_a_moment_ago_counts_before_the_watch_shows_it() -> None:
    state = ClusterState()
    state.upsert_pod(model_pod(WAITING))
    state.expect_nomination(model_pod(WAITING), "a", 2.0)
    assert where(state) == {UID: "a"}
    state.upsert_pod(model_pod(WAITING.labels(condition="updated")))
    assert where(state) == {UID: "a"}, "the watch is behind"
    state.upsert_pod(model_pod(WAITING.nominated("a")))
    state.upsert_pod(model_pod(WAITING))
    assert where(state) == {}, "it was shown, and then cleared"


def test_that_an_older_nomination_is_cleared_ends_no_newer_one() -> None:
    state = ClusterState()
    state.upsert_pod(model_pod(WAITING.nominated("a")))
    state.expect_nomination(model_pod(WAITING), "b", 2.0)
    state.upsert_pod(model_pod(WAITING))
    assert where(state) == {UID: "b"}
    state.upsert_pod(model_pod(WAITING.nominated("c")))
    assert where(state) == {UID: "c"}, "that one is newer"


def held() -> ClusterState:
    """Return a state in which a nomination is held that the watch has shown, and then not."""
    state = ClusterState()
    state.upsert_pod(model_pod(WAITING))
    state.expect_nomination(model_pod(WAITING), "a", 2.0, held=True)
    state.upsert_pod(model_pod(WAITING.nominated("a")))
    state.upsert_pod(model_pod(WAITING))
    return state


def test_one_that_is_held_ends_when_another_node_is_shown() -> None:
    state = ClusterState()
    state.upsert_pod(model_pod(WAITING))
    state.expect_nomination(model_pod(WAITING), "a", 2.0, held=True)
    state.upsert_pod(model_pod(WAITING.nominated("b")))
    assert where(state) == {UID: "b"}
    state.upsert_pod(model_pod(WAITING))
    assert where(state) == {}


def test_nothing_is_kept_of_one_that_was_held_and_is_gone() -> None:
    ledger, waiting = nominated_pods.NominationLedger(), model_pod(WAITING)
    ledger.learn(waiting)
    ledger.expect(waiting, "a", 2.0, held=True)
    assert not ledger.is_empty
    ledger.forget(UID)
    assert ledger.is_empty


def test_one_that_is_held_counts_though_it_was_cleared() -> None:
    state = held()
    assert where(state) == {UID: "a"}
    state.upsert_pod(model_pod(WAITING.nominated("a")))
    assert where(state) == {UID: "a"}


@pytest.mark.parametrize(
    ("end", "left"),
    [
        pytest.param(lambda state: state.give_up_nomination(UID), {}, id="it is given up"),
        pytest.param(lambda state: state.expire(2.0), {}, id="nobody looks after it"),
        pytest.param(
            lambda state: state.upsert_pod(model_pod(WAITING.nominated("b"))),
            {UID: "b"},
            id="another node is nominated",
        ),
        pytest.param(
            lambda state: state.upsert_pod(model_pod(WAITING.on("a"))), {}, id="the pod is bound"
        ),
    ],
)
def test_one_that_is_held_ends(end: object, left: dict[str, str]) -> None:
    assert callable(end)
    state = held()
    end(state)
    assert where(state) == left


def test_it_counts_over_an_older_nomination() -> None:
    state = ClusterState()
    state.upsert_pod(model_pod(WAITING.nominated("old")))
    state.expect_nomination(model_pod(WAITING), "a", 2.0)
    state.upsert_pod(model_pod(WAITING.nominated("old").labels(condition="updated")))
    assert where(state) == {UID: "a"}
    state.upsert_pod(model_pod(WAITING.nominated("else")))
    assert where(state) == {UID: "else"}


@pytest.mark.parametrize("held", [False, True])
def test_an_older_nomination_that_is_cleared_ends_none_that_was_just_made(*, held: bool) -> None:
    state = ClusterState()
    state.upsert_pod(model_pod(WAITING.nominated("old")))
    state.expect_nomination(model_pod(WAITING), "a", 2.0, held=held)
    state.upsert_pod(model_pod(WAITING))
    assert where(state) == {UID: "a"}, "the watch is behind"
    state.upsert_pod(model_pod(WAITING.nominated("a")))
    assert where(state) == {UID: "a"}
    state.upsert_pod(model_pod(WAITING))
    assert where(state) == ({UID: "a"} if held else {})


@pytest.mark.parametrize(
    "end",
    [
        pytest.param(lambda state: state.give_up_nomination(UID), id="it was not done"),
        pytest.param(lambda state: state.expire(2.0), id="the watch never showed it"),
    ],
)
def test_it_ends_where_the_watch_shows_the_pod(end: object) -> None:
    assert callable(end)
    state = ClusterState()
    state.upsert_pod(model_pod(WAITING.nominated("old")))
    state.expect_nomination(model_pod(WAITING), "a", 2.0)
    state.expire(1.9)
    assert where(state) == {UID: "a"}
    before = state.version
    end(state)
    assert where(state) == {UID: "old"}
    assert state.version > before


def test_a_pod_that_no_watch_has_shown_may_be_nominated() -> None:
    state = ClusterState()
    state.expect_nomination(model_pod(WAITING), "a", 2.0)
    assert where(state) == {UID: "a"}
    state.upsert_pod(model_pod(WAITING.on("b")))
    assert where(state) == {}
    state.expect_nomination(model_pod(WAITING), "a", 2.0)
    assert where(state) == {}, "it has its node already"


def test_only_so_many_are_expected(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(nominated_pods, "MOST_EXPECTED", 2)
    state = ClusterState()
    for name in ("p", "q", "r"):
        state.expect_nomination(model_pod(pod(name)), "a", 2.0)
    assert set(where(state)) == {"default-q", "default-r"}


def test_they_are_expected_within_so_many_bytes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memory, "EXPECTED", 10 * memory.MIB)
    state = ClusterState()
    for name, mib in (("p", 4), ("q", 4), ("r", 4), ("huge", 11)):
        waiting = model_pod(pod(name).labels(app=name))
        waiting.pod_class.size = mib * memory.MIB
        state.expect_nomination(waiting, "a", 2.0)
    assert set(where(state)) == {"default-q", "default-r"}


@pytest.mark.parametrize(
    ("shown", "matters"),
    [
        pytest.param(WAITING.nominated("a"), False, id="nothing"),
        pytest.param(WAITING.nominated("a").labels(app="web"), True, id="its labels"),
        pytest.param(WAITING.nominated("b"), True, id="its node"),
        pytest.param(WAITING.nominated("a").priority(7), True, id="its priority"),
    ],
)
def test_what_of_a_nominated_pod_changes_answers_about_others(shown: Pod, *, matters: bool) -> None:
    state = ClusterState()
    state.upsert_pod(model_pod(WAITING.nominated("a")))
    before = state.version, state.nominations
    state.upsert_pod(model_pod(shown))
    assert ((state.version, state.nominations) != before) is matters
