"""Nodes that come and go, workloads that grow and shrink: what becomes of their pods."""

from __future__ import annotations

import json
from typing import Any, TypeVar

import pytest

from affinityctl.commands.simulate.applied import SimulationReader, as_applied, read_applied
from affinityctl.commands.simulate.whatif.nodes import add_nodes, domains, drain, lose
from affinityctl.commands.simulate.whatif.outcome import After
from affinityctl.commands.simulate.whatif.placing import daemons, fill, place
from affinityctl.commands.simulate.whatif.rolling import scale
from affinityctl.commands.simulate.whatif.scheduling import Scheduler
from affinityctl.commands.simulate.whatif.successors import KnownWorkload
from affinityctl.reading.deletion_cost import COST_ANNOTATION
from affinityctl.reading.rollouts import Rollout
from extender.core.model.keys import Key
from extender.core.model.node_resources import CORDONED
from extender.core.model.objects import Pod as ModelPod
from extender.core.model.stepping import at_once
from extender.core.model.workload import MARKS, Identity
from extender.core.wire.objects import read_budget
from tests.builders import HOST, ZONE, Pod, budget, node, pod, selector, term, workload
from tests.commands.simulate.whatif.cases import ROOM, TAINT, read, scheduler_of

T = TypeVar("T")

WEB = selector(app="web")
NODES = [node(name, {HOST: name, ZONE: name[0]}, ROOM) for name in ("a1", "a2", "b1")]


def web(name: str, owner: str = "ReplicaSet/web-5d") -> Pod:
    return pod(name).labels({"app": "web", "pod-template-hash": "5d"}).owned_by(owner)


def apart(made: Pod) -> Pod:
    return made.anti_affinity(term(HOST, WEB))


def where(scheduler: Scheduler) -> dict[str, str | None]:
    return {key.partition("/")[2]: each.node for key, each in scheduler.state.pods.items()}


def test_evicted_pods_are_placed_elsewhere_and_say_from_where() -> None:
    scheduler = scheduler_of(NODES, [], [apart(web("w")).on("a1")])
    step = at_once(drain(scheduler, ["a1", "a2"]))
    assert [(each.pod, each.node, each.before) for each in step.placed] == [
        ("default/w", "b1", "a1")
    ]
    assert step.change == "drain 2 nodes"


def test_a_successor_leaves_the_zone_that_the_old_pod_was_labelled_with() -> None:
    scheduler = scheduler_of(NODES, [], [apart(web("w").labels({ZONE: "a"})).on("a1")])
    at_once(drain(scheduler, ["a1", "a2"]))
    placed = scheduler.state.pods[Key("default/w")]
    assert placed.node == "b1"
    assert placed.pod_class.labels.keys() - MARKS == {"app", "pod-template-hash"}


def test_a_drained_pod_without_another_node_waits() -> None:
    pods = [
        apart(web(f"w{each['metadata']['name']}")).on(each["metadata"]["name"]) for each in NODES
    ]
    scheduler = scheduler_of(NODES, [], pods)
    step = at_once(drain(scheduler, ["b1"]))
    assert step.waiting == ["default/wb1"]


def test_pods_of_daemon_sets_stay_on_a_drained_node_and_bare_ones_are_lost() -> None:
    there = [pod("agent").owned_by("DaemonSet/agent").on("a1"), pod("bare").on("a1")]
    static = pod("static").owned_by("Node/a1").on("a1")
    scheduler = scheduler_of(NODES, [], [*there, static])
    step = at_once(drain(scheduler, ["a1"]))
    assert where(scheduler) == {"agent": "a1", "static": "a1"}
    assert scheduler.state.node_resources.allocatable("a1").taints == (CORDONED,)
    assert [(each.pod, each.after) for each in step.removed] == [("default/bare", After.GONE)]


def test_a_budget_lets_the_next_pod_go_when_the_one_before_has_a_node() -> None:
    scheduler = scheduler_of(NODES, [], [web(f"w{number}").on("a1") for number in range(3)])
    scheduler.state.upsert_budget(read_budget(json.dumps(budget("b", WEB, 1)).encode()))
    step = at_once(drain(scheduler, ["a1"]))
    assert (len(step.placed), step.blocked) == (3, [])


def test_a_budget_blocks_a_drain_while_an_evicted_pod_waits() -> None:
    pods = [web("w0").on("a1"), web("w1").on("a1"), web("w2").on("a1")]
    small = [node(name, {HOST: name}, ROOM | {"pods": "3"}) for name in ("a1", "b1")]
    full = [pod(f"f{number}").on("b1") for number in range(3)]
    scheduler = scheduler_of(small, [], [*pods, *full])
    scheduler.state.upsert_budget(read_budget(json.dumps(budget("b", WEB, 1)).encode()))
    step = at_once(drain(scheduler, ["a1"]))
    assert step.waiting == ["default/w0"]
    assert [(each.pod, each.budgets) for each in step.blocked] == [
        ("default/w1", ("default/b",)),
        ("default/w2", ("default/b",)),
    ]


@pytest.mark.parametrize(
    ("before", "removed", "blocked"),
    [
        pytest.param(
            web("w0").on("a1").being_deleted(), ["w0", "w1"], [], id="a pod on its way out"
        ),
        pytest.param(web("w0").on("a1").phase("Failed"), ["w1"], [], id="an ended pod"),
        pytest.param(web("w0", "DaemonSet/w").on("a1"), ["w1"], [], id="a pod that stays"),
        pytest.param(web("w0").on("a1"), ["w0", "w1"], [], id="none whose successor has a node"),
        pytest.param(
            pod("w0").labels(app="web").on("a1"), ["w0"], ["w1"], id="but one that is gone for good"
        ),
    ],
)
def test_what_uses_up_the_budget_of_a_drain(
    before: Pod, removed: list[str], blocked: list[str]
) -> None:
    scheduler = scheduler_of(NODES, [], [before, web("w1").on("a1")])
    scheduler.state.upsert_budget(read_budget(json.dumps(budget("b", WEB, 1)).encode()))
    step = at_once(drain(scheduler, ["a1"]))
    assert [each.pod for each in step.removed] == [f"default/{name}" for name in removed]
    assert [each.pod for each in step.blocked] == [f"default/{name}" for name in blocked]


def test_a_lost_zone_takes_its_nodes_and_their_daemons_along() -> None:
    there = [pod("agent").owned_by("DaemonSet/agent").on("a1"), web("w").on("a2")]
    scheduler = scheduler_of(NODES, [], there)
    names = domains(scheduler.state, "zone")["a"]
    step = at_once(lose(scheduler, names, "zone=a"))
    assert names == ["a1", "a2"]
    assert (where(scheduler), [*scheduler.state.nodes]) == ({"w": "b1"}, ["b1"])
    assert [each.after for each in step.removed] == [After.WITH_NODE, After.MADE_ANEW]


def test_new_nodes_are_like_the_old_one_with_its_daemons() -> None:
    agent = pod("agent").owned_by("DaemonSet/agent").requests(cpu="1500m").on("b1")
    big = pod("big").requests(cpu="1")
    others = [pod(f"o{name}").requests(cpu="1500m").on(name) for name in ("a1", "a2")]
    scheduler = scheduler_of(NODES, [], [agent, *others, big])
    step = at_once(add_nodes(scheduler, 2, "b1"))
    state = scheduler.state
    assert state.nodes.labels("b1-1") == {HOST: "b1-1", ZONE: "b"}
    assert [each.node for each in step.placed] == ["b1-1", "b1-2"]
    assert [each.key for each in scheduler.waiting] == ["default/big"], "a daemon takes the room"
    assert step.waiting == []


def test_new_nodes_have_names_that_no_node_has() -> None:
    scheduler = scheduler_of([*NODES, node("b1-1", {}, ROOM)], [], [])
    at_once(add_nodes(scheduler, 2, "b1"))
    assert scheduler.state.nodes.keys() == {"a1", "a2", "b1", "b1-1", "b1-2", "b1-3"}
    assert not scheduler.state.nodes.labels("b1-1")


def test_new_nodes_like_a_cordoned_one_take_pods() -> None:
    cordoned = node("c1", {HOST: "c1"}, ROOM, [{"key": CORDONED.key, "effect": CORDONED.effect}])
    cordoned["spec"]["unschedulable"] = True
    scheduler = scheduler_of([cordoned], [], [web("w")])
    at_once(add_nodes(scheduler, 1, "c1"))
    assert where(scheduler) == {"w": "c1-1"}


@pytest.mark.parametrize(
    "key",
    [
        "node.kubernetes.io/disk-pressure",
        "node.kubernetes.io/unreachable",
        "ToBeDeletedByClusterAutoscaler",
    ],
)
def test_new_nodes_have_no_taint_of_what_is_wrong_with_their_model(key: str) -> None:
    taints = [{"key": key, "effect": "NoSchedule"}, TAINT]
    scheduler = scheduler_of([node("c1", {HOST: "c1"}, ROOM, taints)], [], [])
    at_once(add_nodes(scheduler, 1, "c1"))
    (kept,) = scheduler.state.node_resources.allocatable("c1-1").taints
    assert kept.key == TAINT["key"]


def test_new_nodes_have_their_own_names_in_all_labels() -> None:
    given = {HOST: "c1", "topology.example.com/node": "c1", "nodename": "c1.internal"}
    scheduler = scheduler_of([node("c1.internal", {**given, "pool": "c1"}, ROOM)], [], [])
    at_once(add_nodes(scheduler, 1, "c1.internal"))
    name = "c1.internal-1"
    assert scheduler.state.nodes.labels(name) == {
        **dict.fromkeys(given, name),
        "pool": "c1",
    }


def applied(kind: str, template: Pod, **spec: Any) -> Any:
    raw = json.dumps(workload(kind, "new", template, **spec)).encode()
    return read_applied(kind, raw, SimulationReader(), len(NODES), "r1")


def test_a_daemon_set_has_a_pod_on_each_node_that_its_template_may_go_to() -> None:
    tainted = node("c1", {HOST: "c1"}, ROOM, [TAINT])
    cordoned = node("d1", {HOST: "d1"}, ROOM)
    cordoned["spec"]["unschedulable"] = True
    scheduler = scheduler_of([*NODES, tainted, cordoned], [], [])
    made = applied("DaemonSet", pod("t"))
    step = at_once(place(scheduler, "it", daemons(scheduler, made.pod)))
    assert sorted(each.node for each in step.placed) == ["a1", "a2", "b1", "d1"]


def test_pods_are_placed_until_one_finds_no_node() -> None:
    scheduler = scheduler_of(NODES, [], [])
    make = applied("Deployment", apart(pod("t").labels(app="web"))).make
    step = at_once(fill(scheduler, "it", make))
    assert len(step.placed) == 3
    assert step.full is not None
    assert step.full.pods == ["default/new-new-4"]
    assert [*scheduler.waiting] == []
    assert len(scheduler.state.pods) == 3


def test_there_is_an_end_to_until_full() -> None:
    scheduler = scheduler_of(NODES, [], [])
    step = at_once(fill(scheduler, "it", applied("Deployment", pod("t")).make, most=2))
    assert (len(step.placed), step.notes) == (2, ["stopped after 2 pods: more would fit"])


def test_what_is_left_of_pods_without_rules_is_told_by_zone() -> None:
    scheduler = scheduler_of(NODES, [], [web("w0").on("a1"), web("w1").on("b1")])
    old = members(scheduler)
    step = at_once(scale(scheduler, "it", old, 1, as_applied(_identity(), old[0], 2).make))
    assert step.scaled is not None
    assert step.scaled.left == {ZONE: {"a": 0, "b": 1}}


def members(scheduler: Scheduler) -> list[ModelPod]:
    return [*scheduler.state.pods.values()]


@pytest.mark.parametrize(
    ("there", "gone"),
    [
        pytest.param(
            [web("w0").on("a1"), web("w1").on("a2"), web("w2").on("a2")],
            {"w1"},
            id="from the node with most of them",
        ),
        pytest.param(
            [web("w0").on("a1"), web("w1"), web("w2").on("a2")], {"w1"}, id="one that waits first"
        ),
        pytest.param(
            [
                web("w0").on("a1").created("2026-01-01T00:00:00Z"),
                web("w1").on("a2").created("2026-01-03T00:00:00Z"),
                web("w2").on("b1").created("2026-01-02T00:00:00Z"),
            ],
            {"w1"},
            id="else the youngest",
        ),
        pytest.param(
            [web("w0").on("a1").ready(), web("w1").on("a2").ready(yes=False), web("w2").on("b1")],
            {"w1"},
            id="one that is not ready, before all the others that have a node",
        ),
        pytest.param(
            [
                web("w0").on("a1").created("2026-01-04T23:00:00Z").uid("2"),
                web("w1").on("a2").created("2026-01-04T22:50:00Z").uid("1"),
                web("w2").on("b1").created("2026-01-01T00:00:00Z").uid("0"),
            ],
            {"w1"},
            id="of two that are about as old, the lower uid",
        ),
        pytest.param(
            [
                web("w0").on("a1").annotated(COST_ANNOTATION, "3"),
                web("w1").on("a2").annotated(COST_ANNOTATION, "-3"),
                web("w2").on("a1"),
            ],
            {"w1"},
            id="the lowest cost before all that",
        ),
        pytest.param(
            [web(f"w-{number}", "StatefulSet/w").on("a1") for number in (0, 10, 1)],
            {"w-10"},
            id="of a StatefulSet the highest ordinal",
        ),
    ],
)
def test_fewer_pods(there: list[Pod], gone: set[str]) -> None:
    scheduler = scheduler_of(NODES, [], there)
    before = {*where(scheduler)}
    old = members(scheduler)
    at_once(scale(scheduler, "it", old, 2, as_applied(_identity(), old[0], 3).make))
    assert before - {*where(scheduler)} == gone


@pytest.mark.parametrize(
    ("policy", "made"),
    [
        pytest.param("OrderedReady", ["w-1"], id="no second pod before the first runs"),
        pytest.param("Parallel", ["w-1", "w-2", "w-3"], id="all at once"),
    ],
)
def test_more_pods_of_a_stateful_set(policy: str, made: list[str]) -> None:
    big = web("w-0", "StatefulSet/w").requests(cpu="2")
    scheduler = scheduler_of(NODES[:1], [], [big.on("a1")])
    old = members(scheduler)
    by = Rollout(in_order=policy == "OrderedReady")
    what = as_applied(Identity("default", "StatefulSet", "w"), old[0], 1)
    scheduler.workloads[what.identity] = KnownWorkload(in_order=by.in_order)
    step = at_once(scale(scheduler, "it", old, 4, what.make, rollout=by))
    assert [key.partition("/")[2] for key in step.waiting] == made
    assert (
        step.notes
        == ["stopped there: the StatefulSet controller waits for default/w-1, which has no node"][
            : len(made) == 1
        ]
    )


def test_a_pod_that_its_stateful_set_has_made_is_there_though_one_before_it_goes() -> None:
    """OrderedReady is about pods that are to be made."""
    pods = [
        web(f"w-{number}", "StatefulSet/w").requests(cpu="2").on(name)
        for number, name in enumerate(("a1", "a2"))
    ]
    scheduler = scheduler_of(NODES[:2], [], pods)
    step = at_once(drain(scheduler, ["a2", "a1"]))
    assert (sorted(step.waiting), step.held) == (["default/w-0", "default/w-1"], [])


def _identity() -> Any:
    return applied("Deployment", pod("t")).identity


def test_more_pods_are_like_those_that_there_are() -> None:
    scheduler = scheduler_of(NODES, [], [apart(web("w0")).on("a1")])
    old = members(scheduler)
    step = at_once(scale(scheduler, "it", old, 4, as_applied(_identity(), old[0], 1).make))
    assert sorted(each.node for each in step.placed) == ["a2", "b1"]
    assert len(step.waiting) == 1
    assert read(apart(web("w0"))).pod_class == scheduler.waiting[0].pod_class
