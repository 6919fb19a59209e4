"""Which pods go from a node for an important one: the blocking ones, and nobody else."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from itertools import combinations
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from extender.core.cluster.state import ClusterState
from extender.core.model.disruption import Victims
from extender.core.verbs.preempting import only_waits
from extender.core.wire.objects import read_budget
from simulation.invariants.recount import mismatches
from tests import oracle, strategies
from tests.annotating import REQUIRED, annotated
from tests.builders import (
    HOST,
    ZONE,
    Json,
    Pod,
    budget,
    model_pod,
    namespace,
    node,
    pod,
    requirement,
    selector,
    state_of,
    term,
)
from tests.verbs.judging import AFFINITY, chosen_of

NODES = [
    node("a1", {HOST: "a1", ZONE: "a"}),
    node("a2", {HOST: "a2", ZONE: "a"}),
    node("b1", {HOST: "b1", ZONE: "b"}),
]
NAMESPACES = [namespace("default")]
WEB, DB, APP = selector(app="web"), selector(app="db"), selector(requirement("app", "Exists"))
LOW, MIDDLE, HIGH = 10, 20, 30

INCOMING = pod("new").labels(app="web").priority(HIGH)
APART = INCOMING.anti_affinity(term(HOST, DB))
TOGETHER = INCOMING.affinity(term(ZONE, DB))


def db(name: str, on: str = "a1", priority: int = LOW) -> Pod:
    """Build a pod that APART avoids and TOGETHER needs."""
    return pod(name).labels(app="db").priority(priority).on(on)


def guard(name: str, on: str = "a1", priority: int = LOW, key: str = HOST) -> Pod:
    """Build a pod that wants no web pod near it."""
    return pod(name).labels(app="guard").priority(priority).on(on).anti_affinity(term(key, WEB))


def plain(name: str, on: str = "a1", priority: int = LOW) -> Pod:
    """Build a pod that concerns nobody."""
    return pod(name).priority(priority).on(on)


def uids(*names: str) -> list[str]:
    """Return the uids of pods by their names."""
    return [f"default-{name}" for name in names]


def choose(
    state: ClusterState,
    incoming: Json,
    candidates: Mapping[str, Sequence[str]],
    *,
    violations: int = 0,
    may_be_empty: bool = False,
) -> dict[str, tuple[list[str], int]]:
    """Ask with victims by name; return them by name, and the violations."""
    proposed = {on: Victims(uids(*names), violations) for on, names in candidates.items()}
    chosen = chosen_of(state, model_pod(incoming), proposed, AFFINITY, may_be_empty=may_be_empty)
    assert mismatches(state) == [], "judging must leave the counters as they were"
    return {
        on: ([uid.removeprefix("default-") for uid in victims.uids], victims.violations)
        for on, victims in chosen.items()
    }


@pytest.mark.parametrize(
    ("pods", "incoming", "proposed", "expected"),
    [
        pytest.param([plain("x")], INCOMING, ["x"], ["x"], id="a pod without rules: as it came"),
        pytest.param([db("x")], APART, ["x"], ["x"], id="the victim was the only one in the way"),
        pytest.param(
            [plain("x"), db("y"), plain("z")],
            APART,
            ["x"],
            ["x", "y"],
            id="the one in the way joins, the third is spared",
        ),
        pytest.param(
            [plain("x"), guard("y"), guard("z", key="rack")],
            INCOMING,
            ["x"],
            ["x", "y"],
            id="a pod joins whose own rule repels ours, unless the node lacks the key",
        ),
        pytest.param(
            [plain("x"), db("y", priority=MIDDLE), guard("z"), db("w")],
            APART,
            ["x"],
            ["y", "x", "w", "z"],
            id="everybody in the way joins, the most important in front",
        ),
        pytest.param(
            [plain("x"), db("y", priority=HIGH)],
            APART,
            ["x"],
            None,
            id="a pod of the same priority is not evicted",
        ),
        pytest.param(
            [plain("x"), db("y"), db("z", priority=HIGH)],
            APART,
            ["x"],
            None,
            id="nobody is evicted when it would not be enough",
        ),
        pytest.param(
            [plain("x"), pod("y").labels(app="db").on("a1")],
            APART,
            ["x"],
            ["x", "y"],
            id="a pod without a priority has 0",
        ),
        pytest.param(
            [plain("x"), db("y", priority=-5)],
            pod("new").anti_affinity(term(HOST, DB)),
            ["x"],
            ["x", "y"],
            id="so has the incoming one, and less than 0 is less",
        ),
        pytest.param(
            [plain("x"), guard("y", on="a2", key=ZONE)],
            INCOMING,
            ["x"],
            None,
            id="never a pod of another node",
        ),
        pytest.param(
            [plain("x"), db("y").being_deleted()],
            APART,
            ["x"],
            ["x", "y"],
            id="a pod that is being deleted is in the way until it is gone",
        ),
        pytest.param(
            [db("x")], TOGETHER, ["x"], None, id="the victim was the company that ours needs"
        ),
        pytest.param(
            [db("x"), db("y", on="a2")],
            TOGETHER,
            ["x"],
            ["x"],
            id="there is other company in the zone",
        ),
        pytest.param(
            [plain("x"), db("y")],
            TOGETHER,
            ["x"],
            None,
            id="its only company is less important, and in-tree takes that away first",
        ),
        pytest.param(
            [plain("x"), db("y", priority=HIGH)], TOGETHER, ["x"], ["x"], id="its company may stay"
        ),
        pytest.param(
            [plain("x"), db("y")],
            TOGETHER.anti_affinity(term(HOST, DB)),
            ["x"],
            None,
            id="the one in the way is the company that ours needs",
        ),
        pytest.param(
            [plain("x"), db("y", on="b1")],
            TOGETHER,
            ["x"],
            None,
            id="the company is elsewhere, and no eviction brings it here",
        ),
        pytest.param(
            [plain("x").labels(app="web")],
            INCOMING.affinity(term(ZONE, WEB)),
            ["x"],
            ["x"],
            id="with the last of its group gone ours may start it anew",
        ),
        pytest.param(
            [plain("x")], APART, ["x", "stranger"], ["x", "stranger"], id="an unknown victim stays"
        ),
        pytest.param(
            [plain("x"), db("y", priority=MIDDLE)],
            APART,
            ["stranger", "x"],
            ["stranger", "y", "x"],
            id="an unknown victim stays in front",
        ),
        pytest.param(
            [plain("x"), db("y").in_group("gang")],
            APART,
            ["x"],
            None,
            id="a pod of a group never joins, for the rest of it may have to go as well",
        ),
        pytest.param(
            [plain("x"), db("y").in_group("gang").being_deleted()],
            APART,
            ["x"],
            ["x", "y"],
            id="unless it is on its way out",
        ),
        pytest.param(
            [plain("x").in_group("gang"), db("y").in_group("gang"), plain("z")],
            APART,
            ["x", "y"],
            ["x", "y"],
            id="a group that the scheduler named goes as a whole",
        ),
        pytest.param(
            [plain("x").in_group("gang"), plain("y", on="a2").in_group("gang")],
            INCOMING,
            ["x", "y"],
            None,
            id="a group on several nodes, at which the scheduler would give up altogether",
        ),
        pytest.param(
            [plain("x"), db("y"), APART.on("a1")],
            APART.anti_affinity(term(HOST, WEB)),
            ["x"],
            ["x", "y"],
            id="the incoming pod is not in its own way",
        ),
    ],
)
def test_victims_on_a_node(
    pods: Sequence[Json], incoming: Json, proposed: list[str], expected: list[str] | None
) -> None:
    chosen = choose(state_of(NODES, NAMESPACES, pods), incoming, {"a1": proposed})
    assert chosen == ({} if expected is None else {"a1": (expected, 0)})


def test_each_node_is_judged_by_itself() -> None:
    pods = [db("x"), plain("y", on="a2"), guard("z", on="a2"), plain("w", on="b1")]
    state = state_of(NODES, NAMESPACES, [*pods, db("v", on="b1", priority=HIGH)])
    chosen = choose(state, APART, {"a1": ["x"], "a2": ["y"], "b1": ["w"], "gone": ["u"]})
    assert chosen == {"a1": (["x"], 0), "a2": (["y", "z"], 0)}


@pytest.mark.parametrize(
    ("pods", "may_be_empty", "expected"),
    [
        pytest.param([db("x")], False, {"a1": (["x"], 0)}, id="one of ours makes it a list"),
        pytest.param([db("x")], True, {"a1": (["x"], 0)}, id="and so with a new scheduler"),
        pytest.param([plain("x")], False, {}, id="an old scheduler takes no empty list"),
        pytest.param([plain("x")], True, {"a1": ([], 0)}, id="a new one does"),
    ],
)
def test_a_candidate_that_came_without_victims(
    pods: list[Json], expected: Any, *, may_be_empty: bool
) -> None:
    state = state_of(NODES, NAMESPACES, pods)
    assert choose(state, APART, {"a1": []}, may_be_empty=may_be_empty) == expected


@pytest.mark.parametrize(
    ("budgets", "expected"),
    [
        pytest.param([], 1, id="without budgets the scheduler's number stays"),
        pytest.param([budget("some", DB, 1)], 2, id="the second of two is beyond the budget"),
        pytest.param([budget("none", DB, 0)], 3, id="neither is allowed"),
        pytest.param([budget("over", DB, -3)], 3, id="a budget may be overdrawn already"),
        pytest.param([budget("two", DB, 2)], 1, id="both are allowed"),
        pytest.param(
            [budget("all", APP, 2)], 2, id="the scheduler's own victim is charged before them"
        ),
        pytest.param(
            [budget("none", DB, 0), budget("all", APP, 0)],
            3,
            id="a pod beyond two budgets is one violation",
        ),
        pytest.param(
            [budget("none", selector(app="db", which="y"), 0), budget("one", DB, 1)],
            2,
            id="a budget behind one that is overdrawn is not charged",
        ),
        pytest.param(
            [budget("none", DB, 0, disrupted=["y"])],
            2,
            id="a pod whose eviction was granted before is charged no more",
        ),
        pytest.param([budget("other", WEB, 0)], 1, id="a budget for other pods"),
        pytest.param([budget("nil", None, 0)], 1, id="no selector, no pod"),
        pytest.param([budget("empty", {}, 0)], 1, id="an empty selector: none in the scheduler"),
        pytest.param(
            [{**budget("b", DB, 0), "metadata": {"name": "b", "namespace": "red"}}],
            1,
            id="a budget of another namespace",
        ),
    ],
)
def test_budgets_are_charged_for_the_pods_that_join(budgets: list[Json], expected: int) -> None:
    pods = [plain("x").labels(app="x"), db("y").labels(which="y"), db("z")]
    state = state_of(NODES, NAMESPACES, pods)
    for each in budgets:
        state.upsert_budget(read_budget(json.dumps(each).encode()))
    chosen = choose(state, APART, {"a1": ["x"]}, violations=1)
    assert chosen == {"a1": (["x", "y", "z"], expected)}


def test_the_most_important_of_the_pods_that_join_is_charged_first() -> None:
    pods = [plain("x"), db("y", priority=MIDDLE).labels(which="y"), db("z")]
    state = state_of(NODES, NAMESPACES, pods)
    for each in (budget("all", DB, 1), budget("none", selector(which="y"), 0)):
        state.upsert_budget(read_budget(json.dumps(each).encode()))
    # Charged for first, z would be within its budget, and y beyond one of its own.
    assert choose(state, APART, {"a1": ["x"]}) == {"a1": (["y", "x", "z"], 2)}


def test_a_budget_is_of_no_account_where_nobody_joins() -> None:
    state = state_of(NODES, NAMESPACES, [db("x")])
    state.upsert_budget(read_budget(json.dumps(budget("none", DB, 0)).encode()))
    assert choose(state, APART, {"a1": ["x"]}, violations=1) == {"a1": (["x"], 1)}


@pytest.mark.parametrize(
    ("labels", "expected"),
    [
        pytest.param({}, 0, id="a pod without labels is in no budget"),
        pytest.param({"tier": "1"}, 1, id="one that lacks the label is in it"),
    ],
)
def test_a_budget_for_pods_that_lack_a_label(labels: dict[str, str], expected: int) -> None:
    owner = plain("y").labels(labels).anti_affinity(term(HOST, WEB))
    state = state_of(NODES, NAMESPACES, [plain("x"), owner])
    lacking = budget("b", selector(requirement("app", "NotIn", "web")), 0)
    state.upsert_budget(read_budget(json.dumps(lacking).encode()))
    assert choose(state, INCOMING, {"a1": ["x"]}) == {"a1": (["x", "y"], expected)}


def test_a_pod_that_is_being_bound_is_in_the_way_and_not_added() -> None:
    state = state_of(NODES, NAMESPACES, [plain("x")])
    state.reserve(model_pod(db("y")), "a1", 1.0)
    assert choose(state, APART, {"a1": ["x"]}) == {}


def test_a_pod_that_is_being_bound_may_be_the_schedulers_victim() -> None:
    state = state_of(NODES, NAMESPACES, [])
    state.reserve(model_pod(db("y")), "a1", 1.0)
    assert choose(state, APART, {"a1": ["y"]}) == {"a1": (["y"], 0)}


@pytest.mark.parametrize(
    ("pods", "waits"),
    [
        pytest.param([db("x").being_deleted()], True, id="the one in the way is being deleted"),
        pytest.param([db("told")], True, id="it is about to be, though no watch tells"),
        pytest.param([db("x")], False, id="it stays"),
        pytest.param(
            [db("x").being_deleted(), db("y")], False, id="another one is in the way and stays"
        ),
        pytest.param(
            [db("x", priority=HIGH).being_deleted()], False, id="it was not evicted for this pod"
        ),
        pytest.param([db("x", on="b1").being_deleted()], False, id="it goes from another node"),
        pytest.param([], False, id="nobody is in the way"),
    ],
)
def test_a_pod_waits_for_its_victims(pods: list[Json], *, waits: bool) -> None:
    state = state_of(NODES, NAMESPACES, pods)
    held = model_pod({**APART, "status": {"nominatedNodeName": "a1"}})
    assert only_waits(state, held, uids("told"), AFFINITY) is waits
    assert not only_waits(state, model_pod(APART), uids("told"), AFFINITY), "no node is held for it"
    assert mismatches(state) == []


def test_a_deleted_budget_is_forgotten_unless_another_took_its_name() -> None:
    state = ClusterState()
    for raw in (budget("one", DB, 0), budget("two", DB, 0)):
        state.upsert_budget(read_budget(json.dumps(raw).encode()))
    state.remove_budget("default/one", "an older one")
    state.remove_budget("default/two", "budget-two")
    state.remove_budget("elsewhere/two", "budget-two")
    assert list(state.budgets) == ["default/one"]
    assert len(state.budgets) == 1


@pytest.mark.thorough
@given(data=st.data())
def test_no_other_choice_would_have_done_or_would_have_spared_anybody(data: st.DataObject) -> None:
    """Against the oracle, over every set of pods that could be evicted beside the victims."""
    cluster = data.draw(strategies.clusters(), label="cluster")
    priorities = st.sampled_from([LOW, LOW, LOW, HIGH])
    pods = [Pod(each).priority(data.draw(priorities)) for each in cluster.pods]
    cluster = oracle.Cluster(cluster.nodes, cluster.namespaces, pods)
    incoming = Pod(data.draw(strategies.incoming_pods(cluster), label="pod")).priority(HIGH)
    where = data.draw(st.sampled_from(strategies.NODE_NAMES), label="node")

    def uid(each: Json) -> str:
        return str(each["metadata"]["uid"])

    def fits_without(gone: set[str]) -> bool:
        left = [each for each in pods if uid(each) not in gone]
        rest = oracle.Cluster(cluster.nodes, cluster.namespaces, left)
        return not oracle.refusals(rest, incoming, [where])

    evictable = [
        uid(each)
        for each in pods
        if each["spec"].get("nodeName") == where
        and each["spec"]["priority"] < HIGH
        and not oracle.is_finished(each)
        and uid(each) != uid(incoming)
    ]
    proposed = data.draw(st.sets(st.sampled_from(evictable))) if evictable else set()
    state = state_of(cluster.nodes, cluster.namespaces, pods)

    chosen = chosen_of(
        state,
        model_pod(incoming),
        {where: Victims(sorted(proposed), 0)},
        AFFINITY,
        may_be_empty=True,
    )

    others = [each for each in evictable if each not in proposed]
    cures = [
        set(some)
        for number in range(len(others) + 1)
        for some in combinations(others, number)
        if fits_without(proposed | set(some))
    ]
    smallest = min(cures, key=len, default=None)
    assert {on: set(victims.uids) for on, victims in chosen.items()} == (
        {} if smallest is None else {where: proposed | smallest}
    )
    assert all(smallest is not None and smallest <= cure for cure in cures)
    assert mismatches(state) == []


def test_label_keys_of_an_annotation_stay_merged_as_they_were() -> None:
    away = {"podAntiAffinity": {REQUIRED: [term(HOST, DB, matchLabelKeys=["v"])]}}
    first, victim = annotated(INCOMING.labels(v="1"), away), db("victim").labels(v="1")
    state = state_of(NODES, NAMESPACES, [first, victim])
    edited = model_pod(annotated(INCOMING.labels(v="2"), away))
    state.upsert_pod(edited)
    chosen = chosen_of(state, edited, {"a1": Victims([], 0)}, AFFINITY, may_be_empty=False)
    assert chosen == {"a1": Victims(uids("victim"), 0)}
