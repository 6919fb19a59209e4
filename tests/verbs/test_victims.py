"""Whom the extender would evict for its own rules: as the scheduler's dry run would."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from affinityctl.scheduler.profiles import best_of
from extender.core.cluster.state import ClusterState
from extender.core.model.node_resources import HostPort
from extender.core.model.objects import Pod as ModelPod
from extender.core.verbs import victims
from extender.core.verbs.plugins import Plugins
from extender.core.verbs.preempting import importance
from extender.core.verbs.victims import (
    Candidate,
    candidates,
    ineligible,
    on_node,
)
from extender.core.wire.objects import read_budget
from simulation.invariants.recount import mismatches
from tests import oracle, preemption_oracle, strategies
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
from tests.verbs.judging import AFFINITY

ROOM = {"pods": "10", "cpu": "4"}
NODES = [
    node("a1", {HOST: "a1", ZONE: "a"}, ROOM),
    node("a2", {HOST: "a2", ZONE: "a"}, ROOM),
    node("b1", {HOST: "b1", ZONE: "b"}, ROOM),
]
EARLY, LATE = "2026-01-01T00:00:00Z", "2026-01-02T00:00:00Z"
LOW, MIDDLE, HIGH = 10, 20, 30
WEB, DB = selector(app="web"), selector(app="db")
NEW = pod("new").labels(app="web").priority(HIGH)
APART = NEW.anti_affinity(term(HOST, DB))
ZONED = NEW.anti_affinity(term(ZONE, DB))

Expected = dict[str, list[str]]


def db(name: str, on: str = "a1", priority: int = LOW, started: str = EARLY) -> Pod:
    """Build a pod that APART avoids."""
    return pod(name).labels(app="db").priority(priority).started(started).on(on)


def plain(name: str, on: str = "a1", priority: int = LOW, cpu: str = "0") -> Pod:
    """Build a pod that concerns nobody, but for what it requests."""
    return pod(name).priority(priority).requests(cpu=cpu).started(EARLY).on(on)


def everywhere(*but: str) -> list[Pod]:
    """Build pods in the way on the other nodes that nobody may evict."""
    return [db(f"firm-{name}", name, HIGH) for name in ("a1", "a2", "b1") if name not in but]


@pytest.mark.parametrize(
    ("ports", "looked_at"),
    [
        pytest.param(99, 100, id="at all nodes"),
        pytest.param(999, 10, id="at as many as there is time for"),
    ],
)
def test_of_a_pod_with_very_many_host_ports_not_all_nodes_are_looked_at(
    ports: int, looked_at: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(victims, "MOST_CONDITIONS", 10_000)
    state = state_of([node(f"n{number}", {}, ROOM) for number in range(100)], [], [])
    wanted = tuple(HostPort("", "TCP", number) for number in range(ports))
    asked = model_pod(APART).with_spec(ports=wanted)
    assert sum(1 for _ in candidates(state, asked, AFFINITY, chance=0.0)) == looked_at


def look(state: ClusterState, raw: Json, plugins: Plugins = AFFINITY) -> dict[str, Candidate]:
    """Look at every node; return the candidates by node."""
    asked = model_pod(raw)
    every = candidates(state, asked, plugins, chance=0.0)
    found = [each for each in every if each is not None and each.victims]
    assert mismatches(state) == [], "looking must leave the counters as they were"
    for each in found:
        assert on_node(state, asked, plugins, each.node) == each
    return {each.node: each for each in found}


def named(found: dict[str, Candidate]) -> Expected:
    """Return the names of the victims by node."""
    return {
        name: [victim.key.partition("/")[2] for victim in each.victims]
        for name, each in found.items()
    }


@pytest.mark.parametrize(
    ("pods", "incoming", "expected"),
    [
        pytest.param([], APART, {}, id="nobody is there to be evicted"),
        pytest.param([db("x")], NEW, {}, id="the pod fits everywhere, so nobody goes"),
        pytest.param(
            [db("x"), plain("y"), *everywhere("a1")],
            APART,
            {"a1": ["x"]},
            id="room everywhere: the one in the way goes, the other is spared",
        ),
        pytest.param(
            [db("x"), db("y", "a2"), db("z", "b1")],
            APART,
            {"a1": ["x"], "a2": ["y"], "b1": ["z"]},
            id="each node where a less important pod is in the way is a candidate",
        ),
        pytest.param(
            [db("x", priority=HIGH), *everywhere("a1")],
            APART,
            {},
            id="a pod of the same priority is not evicted",
        ),
        pytest.param(
            [db("x"), db("firm", priority=HIGH), *everywhere("a1")],
            APART,
            {},
            id="nobody goes where a more important one stays in the way",
        ),
        pytest.param(
            [db("x"), db("y", "a2"), db("firm", "b1", HIGH)],
            ZONED,
            {},
            id="nobody goes where a pod on another node of the zone is in the way",
        ),
        pytest.param(
            [db("x"), db("y"), db("firm", "b1", HIGH)],
            ZONED,
            {"a1": ["x", "y"]},
            id="several victims by zone, all on the node",
        ),
        pytest.param(
            [plain("x").anti_affinity(term(HOST, WEB)), *everywhere("a1")],
            APART,
            {"a1": ["x"]},
            id="a pod goes whose own rule is in the way",
        ),
        pytest.param(
            [db("x"), plain("y", cpu="3"), plain("z", priority=MIDDLE, cpu="1"), *everywhere("a1")],
            APART.requests(cpu="2"),
            {"a1": ["x", "y"]},
            id="room and rule together: the more important one of those that use room is spared",
        ),
        pytest.param(
            [db("x", priority=MIDDLE).requests(cpu="4"), plain("y"), *everywhere("a1")],
            APART.requests(cpu="4"),
            {"a1": ["x"]},
            id="the blocker alone goes when that makes the room as well",
        ),
        pytest.param(
            [plain("x", cpu="4"), *everywhere("a1")],
            APART.requests(cpu="1"),
            {"a1": ["x"]},
            id="room alone may be what is missing",
        ),
        pytest.param(
            [db("x")],
            APART.requests(cpu="5"),
            {},
            id="nobody goes where the node is too small even when empty",
        ),
        pytest.param(
            [db("x"), *everywhere("a1")],
            NEW.affinity(term(HOST, DB)),
            {},
            id="nobody goes for affinity that is not met",
        ),
        pytest.param(
            [db("x").requests(cpu="4")],
            NEW.affinity(term(HOST, DB)).requests(cpu="1"),
            {},
            id="the pod that ours must be near is not evicted to make room",
        ),
        pytest.param(
            [
                db("x"),
                pod("held").labels(app="db").priority(HIGH).nominated("a1"),
                *everywhere("a1"),
            ],
            APART,
            {},
            id="nobody goes where an equal pod in the way is nominated",
        ),
        pytest.param(
            [db("x"), plain("y").host_port(80), plain("z").host_port(81), *everywhere("a1")],
            APART.host_port(80),
            {"a1": ["x", "y"]},
            id="who has the pod's host port goes, who has another is spared",
        ),
        pytest.param(
            [db("x"), plain("y", priority=HIGH).host_port(80), *everywhere("a1")],
            APART.host_port(80),
            {},
            id="nobody goes where a more important pod has the host port",
        ),
        pytest.param(
            [plain("x").host_port(80), *everywhere("a1")],
            APART.host_port(80, "10.0.0.1"),
            {"a1": ["x"]},
            id="a host port alone may be what is missing: one on all addresses is in the way",
        ),
        pytest.param(
            [
                db("x"),
                pod("held").priority(HIGH).host_port(80).nominated("a1"),
                *everywhere("a1"),
            ],
            APART.host_port(80),
            {},
            id="a host port that a nominated pod waits for is not there",
        ),
        pytest.param(
            [
                db("x"),
                pod("held").priority(HIGH).requests(cpu="4").nominated("a1"),
                *everywhere("a1"),
            ],
            APART.requests(cpu="1"),
            {},
            id="room that is held for a nominated pod is not there",
        ),
    ],
)
def test_victims_of_each_node(pods: Sequence[Json], incoming: Pod, expected: Expected) -> None:
    state = state_of(NODES, [namespace("default")], pods)
    assert named(look(state, incoming)) == expected
    cluster = oracle.Cluster(NODES, [namespace("default")], pods)
    slow = preemption_oracle.candidates(cluster, [], incoming)
    assert {name: list(each.victims) for name, each in slow.items()} == {
        name: [f"default-{victim}" for victim in victims] for name, victims in expected.items()
    }


TAINT = {"key": "only", "value": "others", "effect": "NoSchedule"}
PICKY = {**APART, "spec": {**APART["spec"], "nodeSelector": {ZONE: "b"}}}


@pytest.mark.parametrize(
    ("incoming", "expected"),
    [
        pytest.param(PICKY, {"b1": ["y"]}, id="a node that the pod does not select"),
        pytest.param(APART, {"a1": ["x"], "b1": ["y"]}, id="a taint that it does not tolerate"),
    ],
)
def test_nobody_goes_from_a_node_that_would_not_do(incoming: Json, expected: Expected) -> None:
    nodes = [NODES[0], node("a2", {HOST: "a2", ZONE: "a"}, ROOM, [TAINT]), NODES[2]]
    state = state_of(nodes, [], [db("x"), db("y", "b1"), db("z", "a2")])
    assert named(look(state, incoming)) == expected


def test_protected_pods_are_spared_first_and_counted() -> None:
    pods = [plain(name, cpu="2").labels(app="kept") for name in ("x", "y")]
    pods += [plain("z", priority=MIDDLE, cpu="2"), *everywhere("a1")]
    big = node("a1", {HOST: "a1", ZONE: "a"}, {"pods": "10", "cpu": "6"})
    state = state_of([big, *NODES[1:]], [], pods)
    assert named(look(state, APART.requests(cpu="2"))) == {"a1": ["y"]}
    state.upsert_budget(read_budget(json.dumps(budget("b", selector(app="kept"), 0)).encode()))
    found = look(state, APART.requests(cpu="2"))
    assert (named(found), found["a1"].violations) == ({"a1": ["z"]}, 0)
    found = look(state, APART.requests(cpu="6"))
    assert (named(found), found["a1"].violations) == ({"a1": ["z", "x", "y"]}, 2)


@pytest.mark.parametrize(
    ("labels", "expected"),
    [
        pytest.param({}, 0, id="a pod without labels is in no budget"),
        pytest.param({"tier": "1"}, 1, id="one that lacks the label is in it"),
    ],
)
def test_a_budget_for_pods_that_lack_a_label(labels: dict[str, str], expected: int) -> None:
    owner = plain("x").labels(labels).anti_affinity(term(HOST, WEB))
    state = state_of(NODES, [], [owner, *everywhere("a1")])
    lacking = budget("b", selector(requirement("app", "NotIn", "web")), 0)
    state.upsert_budget(read_budget(json.dumps(lacking).encode()))
    found = look(state, APART)
    assert (named(found), found["a1"].violations) == ({"a1": ["x"]}, expected)


@pytest.mark.parametrize(
    ("pods", "taken"),
    [
        pytest.param(
            [db("x", priority=MIDDLE), db("y", "a2"), db("z", "b1", MIDDLE)],
            "a2",
            id="the lowest highest priority",
        ),
        pytest.param(
            [db("x"), db("x2"), db("y", "a2"), db("z", "b1"), db("z2", "b1")],
            "a2",
            id="the fewest",
        ),
        pytest.param(
            [db("x"), db("y", "a2"), db("z", "b1", started=LATE)],
            "b1",
            id="the latest start",
        ),
        pytest.param([db("x"), db("y", "a2"), db("z", "b1")], "a1", id="the first of equal ones"),
    ],
)
def test_the_node_is_chosen_as_the_scheduler_would(pods: Sequence[Json], taken: str) -> None:
    state = state_of(NODES, [], pods)
    chosen = best_of(candidates(state, model_pod(APART), AFFINITY, chance=0.0))
    assert chosen is not None
    assert chosen.node == taken


def test_chance_says_which_of_equal_nodes_is_taken() -> None:
    state = state_of(NODES, [], [db("x"), db("y", "a2"), db("z", "b1")])
    asked = model_pod(APART)
    found = [best_of(candidates(state, asked, AFFINITY, chance=third / 3)) for third in range(3)]
    assert [each.node for each in found if each is not None] == ["a1", "a2", "b1"]


@pytest.mark.parametrize(
    ("evicting", "for_room", "expected"),
    [
        pytest.param(True, True, {"a1": ["x"], "a2": ["y"], "b1": []}, id="all"),
        pytest.param(True, False, {"a2": ["y"], "b1": []}, id="nobody goes for room"),
        pytest.param(False, True, {"b1": []}, id="nobody goes"),
        pytest.param(False, False, {"b1": []}, id="nobody goes, nor for room"),
    ],
)
def test_for_what_pods_may_go(*, evicting: bool, for_room: bool, expected: Expected) -> None:
    state = state_of(NODES, [], [plain("x", cpu="4"), db("y", "a2")])
    asked = model_pod(APART.requests(cpu="1"))
    every = candidates(state, asked, AFFINITY, chance=0.0, evicting=evicting, for_room=for_room)
    found = {each.node: each for each in every if each is not None}
    assert named(found) == expected


def test_the_state_may_change_between_two_nodes() -> None:
    state = state_of(NODES, [], [db("x"), db("y", "a2"), db("z", "b1")])
    steps = candidates(state, model_pod(APART), AFFINITY, chance=0.0)
    assert next(steps) is not None
    state.remove_pod("default/y", "default-y")
    state.remove_node("b1")
    assert list(steps) == [None, None]


def test_a_pod_that_is_known_to_be_bound_may_go_before_the_watch_shows_it() -> None:
    state = state_of(NODES, [], [db("x"), *everywhere("a1")])
    new = model_pod(db("y", priority=MIDDLE) | {"spec": {"priority": MIDDLE}})
    claim = state.reserve(new, "a1", 10.0)
    assert look(state, APART) == {}, "its bind is under way: it may turn out to be elsewhere"
    state.hold(claim, 10.0)
    state.settle(new, "a1", 10.0)
    assert named(look(state, APART)) == {"a1": ["y", "x"]}


@pytest.mark.parametrize(
    ("asked", "says"),
    [
        pytest.param(model_pod(APART), None, id="one that may"),
        pytest.param(model_pod(APART.never_preempts()), "Never", id="one that never preempts"),
        pytest.param(
            model_pod(APART.nominated("a1")), "on their way out of a1", id="one that waits"
        ),
        pytest.param(model_pod(APART.nominated("b1")), None, id="nobody leaves its node"),
        pytest.param(
            model_pod(APART.nominated("a2")), None, id="who leaves it was not preempted there"
        ),
        pytest.param(
            model_pod(APART.priority(LOW).nominated("a1")),
            None,
            id="who leaves it is as important as the pod",
        ),
        pytest.param(model_pod(APART.nominated("gone")), None, id="its node is gone"),
        pytest.param(
            model_pod(Pod(PICKY).nominated("a1")), None, id="its node is not what it selects"
        ),
        pytest.param(
            model_pod(APART.requests(cpu="2").nominated("small")),
            None,
            id="its node is too small, whoever leaves it",
        ),
        pytest.param(
            model_pod(APART.requests(cpu="5").host_port(80).nominated("a1")),
            None,
            id="its node is too small, though it has the host port",
        ),
        pytest.param(
            model_pod(NEW.nominated("a1")), "on their way out of a1", id="one that fits already"
        ),
        pytest.param(
            model_pod(NEW.affinity(term(HOST, selector(app="none"))).nominated("a1")),
            None,
            id="one that cannot go to its node any more",
        ),
    ],
)
def test_who_may_preempt(asked: ModelPod, says: str | None) -> None:
    state = state_of(
        [*NODES, node("small", {HOST: "small"}, {"pods": "10", "cpu": "1"})],
        [],
        [db("x").preempted(), db("y", "a2").being_deleted(), db("z", "small").preempted()],
    )
    found = ineligible(state, asked, AFFINITY)
    assert (found is None) if says is None else (says in str(found))


@st.composite
def crowded(draw: st.DrawFn) -> tuple[oracle.Cluster, list[Json], Json]:
    """Draw a cluster with little room, budgets, and an important pod."""
    cluster = draw(strategies.clusters(most_pods=12))

    def sized(raw: Any) -> Pod:
        made = Pod({**raw, "spec": {**raw["spec"], "containers": []}})
        made = made.requests(cpu=draw(st.sampled_from(["0", "1", "2"])))
        made = made.priority(draw(st.sampled_from([0, 0, 1, 2])))
        started = draw(st.sampled_from([EARLY, LATE, None]))
        return made if started is None else made.started(started)

    nodes = [
        {**each, "status": {"allocatable": {"pods": pods, "cpu": cpu}}}
        for each, pods, cpu in (
            (each, draw(st.sampled_from(["9", "3"])), draw(st.sampled_from(["9", "3", "2"])))
            for each in cluster.nodes
        )
    ]
    incoming = sized(draw(strategies.incoming_pods(cluster, placed=False)))
    incoming["spec"].pop("nodeName", None)
    incoming["status"] = {}
    pods = [sized(each) for each in cluster.pods]
    budgets: list[Json] = []
    for number, each in enumerate(pods[: draw(st.sampled_from([0, 1, 2]))]):
        made = budget(f"b{number}", selector(**each["metadata"].get("labels", {})), number % 2)
        made["metadata"]["namespace"] = each["metadata"]["namespace"]
        budgets.append(made)
    return oracle.Cluster(nodes, cluster.namespaces, pods), budgets, incoming.priority(2)


@pytest.mark.thorough
@given(drawn=crowded())
def test_victims_are_those_of_the_schedulers_dry_run(
    drawn: tuple[oracle.Cluster, list[Json], Json],
) -> None:
    cluster, budgets, incoming = drawn
    state = state_of(cluster.nodes, cluster.namespaces, cluster.pods)
    for each in budgets:
        state.upsert_budget(read_budget(json.dumps(each).encode()))
    expected = preemption_oracle.candidates(cluster, budgets, incoming)
    found = look(state, incoming)
    assert {name: [victim.uid for victim in each.victims] for name, each in found.items()} == {
        name: list(each.victims) for name, each in expected.items()
    }
    assert {name: (each.violations, each.rank) for name, each in found.items()} == {
        name: (each.violations, each.rank) for name, each in expected.items()
    }
    chosen = best_of(found.values())
    best = min((each.rank for each in expected.values()), default=None)
    assert (None if chosen is None else chosen.rank) == best
    for one in found.values():
        assert list(one.victims) == sorted(one.victims, key=importance)
