"""Places that nominated pods hold: in-tree's two filter passes, node by node."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from extender.core.model.disruption import Victims
from extender.core.model.verdict import Reason
from extender.core.verbs.filtering import concerned, judge
from extender.core.verbs.inter_pod_affinity import InterPodAffinity
from extender.core.verbs.nominating import Chooser
from simulation.invariants.recount import mismatches
from tests import oracle, strategies
from tests.annotating import REQUIRED, annotated
from tests.builders import (
    HOST,
    ZONE,
    Json,
    Pod,
    model_pod,
    namespace,
    node,
    pod,
    selector,
    state_of,
    term,
)
from tests.verbs.judging import AFFINITY, actual_refusals, chosen_of

ROOM = {"pods": "10"}
NODES = [
    node("a1", {HOST: "a1", ZONE: "a"}, ROOM),
    node("a2", {HOST: "a2", ZONE: "a"}, ROOM),
    node("b1", {HOST: "b1", ZONE: "b"}, ROOM),
    node("bare", {}, ROOM),
]
NAMES = ["b1", "bare", "a2", "a1"]
WEB, DB = selector(app="web"), selector(app="db")
LOW, MIDDLE, HIGH = 10, 20, 30

NEW = pod("new").labels(app="web").priority(MIDDLE)
APART = NEW.anti_affinity(term(ZONE, DB))
TOGETHER = NEW.affinity(term(ZONE, DB))


def waiting(name: str = "held", on: str = "a1", priority: int = HIGH) -> Pod:
    """Build a database pod that is nominated to a node."""
    return pod(name).labels(app="db").priority(priority).nominated(on)


def guard(on: str = "a1", priority: int = HIGH, key: str = ZONE) -> Pod:
    """Build a nominated pod that wants no web pod near it."""
    return waiting("guard", on, priority).anti_affinity(term(key, WEB))


def refusals(pods: Sequence[Json], incoming: Json) -> dict[str, Reason]:
    """Ask about every node."""
    state = state_of(NODES, [namespace("default")], pods)
    found = {name: Reason(text) for name, text in actual_refusals(state, incoming, NAMES).items()}
    assert mismatches(state) == [], "judging must leave the counters as they were"
    return found


@pytest.mark.parametrize(
    ("pods", "incoming", "expected"),
    [
        pytest.param(
            [waiting()],
            APART,
            {"a1": Reason.ANTI_AFFINITY},
            id="a pod yields to one nominated to the node, and on that node alone",
        ),
        pytest.param(
            [guard()],
            NEW,
            {"a1": Reason.EXISTING_ANTI_AFFINITY},
            id="it yields to the rule of one nominated to the node",
        ),
        pytest.param(
            [guard(on="bare")], NEW, {}, id="a node without the key is in nobody's domain"
        ),
        pytest.param(
            [waiting(priority=MIDDLE)],
            APART,
            {"a1": Reason.ANTI_AFFINITY},
            id="it yields to one of the same priority",
        ),
        pytest.param([waiting(priority=LOW)], APART, {}, id="it takes the place of a lesser one"),
        pytest.param([waiting("x", "b1")], NEW, {}, id="one that excludes nobody holds no place"),
        pytest.param(
            [waiting().labels(app="other")], APART, {}, id="one that no rule is about matters not"
        ),
        pytest.param(
            [waiting().on("b1")],
            APART,
            {"b1": Reason.ANTI_AFFINITY},
            id="one that has got its node counts there, wherever it was nominated to",
        ),
        pytest.param(
            [waiting().phase("Failed")], APART, {}, id="one that has ended holds no place"
        ),
        pytest.param(
            [waiting()],
            TOGETHER,
            dict.fromkeys(NAMES, Reason.AFFINITY),
            id="affinity that only a nominated pod meets is not met: it may end up elsewhere",
        ),
        pytest.param(
            [waiting("x", "b1"), pod("y").labels(app="db").on("b1")],
            TOGETHER,
            {"bare": Reason.AFFINITY, "a1": Reason.AFFINITY, "a2": Reason.AFFINITY},
            id="affinity that a placed pod meets stays met",
        ),
        pytest.param(
            [waiting("x", "b1").labels(app="web")],
            NEW.affinity(term(ZONE, WEB)),
            {"bare": Reason.AFFINITY},
            id="a group may still be started where nobody of it is placed",
        ),
        pytest.param(
            [guard()],
            TOGETHER,
            {
                "a1": Reason.EXISTING_ANTI_AFFINITY,
                "a2": Reason.AFFINITY,
                "b1": Reason.AFFINITY,
                "bare": Reason.AFFINITY,
            },
            id="the first pass gives the reason where both refuse",
        ),
        pytest.param(
            [waiting("x", "a1"), guard("b1")],
            APART,
            {"a1": Reason.ANTI_AFFINITY, "b1": Reason.ANTI_AFFINITY},
            id="own rules are named before those of nominated pods",
        ),
        pytest.param(
            [waiting(), guard("a2"), waiting("y", "b1", LOW)],
            APART,
            dict.fromkeys(["a1", "a2"], Reason.ANTI_AFFINITY),
            id="each node is judged beside its own nominated pods",
        ),
        pytest.param(
            [APART.nominated("a1").labels(app="db")],
            APART.nominated("a1").labels(app="db"),
            {},
            id="a pod does not hold its place against itself",
        ),
    ],
)
def test_a_nominated_pod_holds_its_place(
    pods: Sequence[Json], incoming: Pod, expected: dict[str, Reason]
) -> None:
    assert refusals(pods, incoming) == expected
    cluster = oracle.Cluster(NODES, [namespace("default")], pods)
    plain = oracle.refusals(cluster, incoming, NAMES)
    assert {name: Reason(each.reason) for name, each in plain.items()} == expected


def test_one_that_is_being_bound_holds_its_place_there_and_nowhere_else() -> None:
    held = waiting()
    state = state_of(NODES, [], [held])
    state.reserve(model_pod(held), "b1", 1.0)
    assert set(actual_refusals(state, APART, NAMES)) == {"b1"}


def test_shadow_does_not_look_at_nominated_pods() -> None:
    state = state_of(NODES, [], [waiting()])
    verdicts = judge(state, model_pod(APART), state.nodes.asked(NAMES), AFFINITY, nominated=False)
    assert not verdicts.refused


@pytest.mark.parametrize(
    ("priority", "helps"),
    [
        pytest.param(HIGH, False, id="a more important one"),
        pytest.param(MIDDLE, False, id="an equal one: it does not evict for the same node"),
        pytest.param(LOW, True, id="a lesser one"),
    ],
)
def test_nobody_is_evicted_where_another_pod_is_nominated(priority: int, *, helps: bool) -> None:
    victim = pod("victim").labels(app="db").priority(0).on("a1")
    state = state_of(NODES, [], [victim, waiting(priority=priority)])
    proposed = {"a1": Victims(["default-victim"], 0)}
    chosen = chosen_of(state, model_pod(APART), proposed, AFFINITY, may_be_empty=False)
    assert (chosen == proposed) is helps


def test_no_hint_points_to_a_node_that_is_held() -> None:
    held = [waiting(name, on=name) for name in ("a1", "a2", "bare")]
    state = state_of(NODES, [], held)
    incoming = model_pod(NEW.anti_affinity(term(HOST, DB)))
    found = {
        Chooser(state, AFFINITY).choose(incoming, avoid=(), placements=(), chance=chance / 8)
        for chance in range(8)
    }
    assert found == {"b1", "bare"}


@pytest.mark.thorough
@given(data=st.data())
def test_one_node_is_judged_as_it_is_among_others(data: st.DataObject) -> None:
    cluster = data.draw(strategies.clusters(), label="cluster")
    incoming = data.draw(strategies.incoming_pods(cluster), label="pod")
    names = [oracle.name_of(each) for each in cluster.nodes]
    state = state_of(cluster.nodes, cluster.namespaces, cluster.pods)
    together = actual_refusals(state, incoming, names)
    for name in names:
        alone = actual_refusals(state, incoming, [name])
        assert alone == {each: why for each, why in together.items() if each == name}


def test_a_rule_in_the_annotation_of_a_nominated_pod_concerns_whom_it_is_about() -> None:
    rule = {"podAntiAffinity": {REQUIRED: [term(HOST, selector(app="web"))]}}
    held = annotated(pod("held").priority(5).nominated("a1"), rule)
    asks = model_pod(pod("asks").labels(app="web"))
    plugins = (InterPodAffinity(of_annotations=True),)
    assert not concerned(state_of(NODES, [], []), asks, plugins)
    state = state_of(NODES, [], [held])
    assert concerned(state, asks, plugins), "else filter lets it go where bind does not"
    verdicts = judge(state, asks, state.nodes.asked(NAMES), plugins)
    assert [names for _, names in verdicts.refused] == [["a1"]]
