"""Nodes that go one after the other, or one at a time; what is said before; labels of a bind."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from affinityctl.commands.simulate.whatif.nodes import add_nodes, domains, drain, lose
from affinityctl.commands.simulate.whatif.outcome import After, Step
from affinityctl.commands.simulate.whatif.preflight import Preflight
from affinityctl.commands.simulate.whatif.scheduling import Scheduler
from affinityctl.commands.simulate.whatif.successors import KnownWorkload
from affinityctl.commands.simulate.whatif.trials import CarryOut, try_each
from extender.core.model.objects import Pod as ModelPod
from extender.core.model.stepping import at_once
from extender.core.wire.objects import read_budget
from tests.builders import HOST, ZONE, Pod, budget, node, pod, selector, term
from tests.commands.simulate.whatif.cases import scheduler_of
from tests.commands.simulate.whatif.test_changes import WEB, apart, web, where
from tests.commands.simulate.whatif.test_scheduling import cases

ROOM = {"cpu": "4", "memory": "8Gi", "pods": "3"}
NODES = [
    node(name, {HOST: name, ZONE: zone}, ROOM)
    for name, zone in (("a1", "a"), ("a2", "a"), ("b1", "b"))
]


def limited(scheduler: Scheduler, allowed: int) -> Scheduler:
    scheduler.state.upsert_budget(read_budget(json.dumps(budget("b", WEB, allowed)).encode()))
    return scheduler


def spread() -> list[Pod]:
    return [apart(web(f"w-{name}")).on(name) for name in ("a1", "a2", "b1")]


def test_the_next_drain_knows_what_is_away_since_the_one_before() -> None:
    scheduler = limited(scheduler_of(NODES, [], spread()), 1)
    first = at_once(drain(scheduler, ["a1"], "a1"))
    second = at_once(drain(scheduler, ["a2"], "node/a2"))
    assert (first.waiting, first.blocked) == (["default/w-a1"], [])
    assert [each.pod for each in second.blocked] == ["default/w-a2"]
    assert (first.change, second.change) == ("drain a1", "drain node/a2 (1 node)")


def test_pods_that_were_lost_count_against_a_budget() -> None:
    scheduler = limited(scheduler_of(NODES, [], spread()), 1)
    at_once(lose(scheduler, ["a1"], "a1"))
    assert at_once(drain(scheduler, ["a2"], "a2")).blocked


def test_each_is_tried_as_if_the_others_had_not_been() -> None:
    there = [*spread(), pod("bare").on("b1"), pod("waits").selects(disk="ssd")]
    scheduler = scheduler_of(NODES, [], there)
    before, labels = where(scheduler), {n: scheduler.state.nodes.labels(n) for n in ("a1", "b1")}
    waiting, found = scheduler.waiting, domains(scheduler.state, "zone")
    step = Step("lose each zone alone")
    again = at_once(try_each(scheduler, step, found, lose)).trials
    assert again is not None
    assert [(each.name, each.nodes, [*each.waiting], [*each.gone]) for each in again] == [
        ("a", 2, ["default/w-a1", "default/w-a2"], []),
        ("b", 1, ["default/w-b1"], ["default/bare"]),
    ]
    assert again[0].why == "your anti-affinity on hostname"
    assert where(scheduler) == before
    assert {n: scheduler.state.nodes.labels(n) for n in ("a1", "b1")} == labels
    assert (scheduler.waiting, scheduler.placements) == (waiting, [])
    # Room counts as before as well: the same once more, and then for good.
    repeated = at_once(try_each(scheduler, step, found, lose)).trials
    assert repeated == again
    assert at_once(lose(scheduler, found["b"], "b")).waiting == again[1].waiting


def test_a_budget_that_one_trial_uses_up_is_whole_in_the_next() -> None:
    there = [pod("bare").labels(app="web").on("a1"), web("w").on("b1")]
    scheduler = limited(scheduler_of(NODES, [], there), 1)
    found = {"a1": ["a1"], "b1": ["b1"]}
    step = at_once(try_each(scheduler, Step("each"), found, drain))
    trials = [([*each.gone], [*each.blocked]) for each in step.trials or ()]
    assert trials == [(["default/bare"], []), ([], [])]


def test_a_victim_that_finds_another_node_has_not_moved_with_the_node_that_goes() -> None:
    one = ROOM | {"pods": "1"}
    small = [node(name, {HOST: name, "disk": "ssd"}, one) for name in ("a1", "b1")]
    important = web("vip").priority(9).selects(disk="ssd").on("a1")
    there = [important, web("low").on("b1")]
    scheduler = scheduler_of([*small, node("c1", {HOST: "c1"}, one)], [], there)
    step = at_once(try_each(scheduler, Step("each"), {"a1": ["a1"]}, lose))
    assert [(each.moved, [*each.waiting]) for each in step.trials or ()] == [(1, [])]


def test_a_pod_that_is_being_deleted_is_nobodys_loss() -> None:
    leaving = [web("w0").on("a1"), pod("bare").on("a1")]
    for each in leaving:
        each["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z"
    scheduler = limited(scheduler_of(NODES, [], [*leaving, web("w1").on("a1")]), 0)
    step = at_once(drain(scheduler, ["a1"], "a1"))
    assert [(each.pod, each.after) for each in step.removed] == [
        ("default/bare", After.DELETED),
        ("default/w0", After.DELETED),
    ]
    assert ([each.pod for each in step.blocked], step.gone) == (["default/w1"], [])


def test_a_pod_that_gets_the_room_of_another_has_not_moved() -> None:
    bare = pod("bare").labels(app="bare").on("a1")
    waits = pod("waits").selects(**{ZONE: "a"}).anti_affinity(term(ZONE, selector(app="bare")))
    scheduler = scheduler_of(NODES, [], [bare, web("w").on("a1"), waits])
    step = at_once(try_each(scheduler, Step("each"), {"a1": ["a1"]}, lose))
    assert step.trials is not None
    (trial,) = step.trials
    assert (trial.moved, [*trial.waiting], [*trial.gone]) == (1, [], ["default/bare"])


def test_a_trial_takes_back_cordons_and_victims() -> None:
    small = [node(name, {HOST: name}, ROOM | {"pods": "1"}) for name in ("a1", "b1")]
    important = web("vip").priority(9).on("a1")
    scheduler = scheduler_of(small, [], [important, web("low").on("b1")])
    before = where(scheduler)
    found = {"a1": ["a1"]}
    step = at_once(try_each(scheduler, Step("each"), found, drain))
    assert step.trials is not None
    assert [*step.trials[0].waiting] == ["default/low"]
    assert (where(scheduler), scheduler.preemptions) == (before, [])
    assert not scheduler.state.node_resources.allocatable("a1").taints


def test_what_kubectl_drain_stops_at_and_what_it_does_not_see() -> None:
    there = [
        pod("agent").owned_by("DaemonSet/agent").on("a1"),
        pod("bare").on("a1"),
        web("w0").on("a1"),
        web("w1").on("a1"),
        pod("single").owned_by("ReplicaSet/single").on("a1"),
        pod("batch").owned_by("Job/batch").on("a1"),
        pod("guarded").labels(app="db").owned_by("ReplicaSet/guarded").on("a1"),
    ]
    scheduler = scheduler_of(NODES, [], there)
    guarding = budget("db", selector(app="db"), 1)
    scheduler.state.upsert_budget(read_budget(json.dumps(guarding).encode()))
    preflight = Preflight(scheduler.state, {"default/w0", "default/elsewhere"})
    assert at_once(drain(scheduler, ["a1"], "a1", preflight=preflight)).notes == [
        "kubectl drain needs --ignore-daemonsets: default/agent stays, of a DaemonSet",
        "kubectl drain needs --delete-emptydir-data: default/w0 loses its emptyDir",
        "kubectl drain needs --force: default/bare has no controller",
        "default/single is the only replica and in no budget: none runs until the next one does",
    ]


def test_a_successor_does_not_have_the_zone_that_a_bind_wrote() -> None:
    away = term(ZONE, selector(**{ZONE: "a"}))
    keeper = pod("keeper").anti_affinity(away).on("a2")
    scheduler = scheduler_of(NODES[:2], [], [web("w").labels({ZONE: "a"}).on("a1"), keeper])
    at_once(lose(scheduler, ["a1"], "a1"))
    assert ZONE not in scheduler.state.pods["default/w"].pod_class.labels
    assert where(scheduler)["w"] == "a2", "the pod that is there keeps those of zone a away"


def test_a_successor_has_what_its_template_says() -> None:
    scheduler = scheduler_of(NODES, [], [web("w").labels({ZONE: "a"}).on("a1")])
    workload = scheduler.state.pods["default/w"].workload
    assert workload is not None
    scheduler.workloads[workload] = KnownWorkload({"app", ZONE})
    at_once(lose(scheduler, ["a1"], "a1"))
    assert scheduler.state.pods["default/w"].pod_class.labels[ZONE] == "a"


@settings(max_examples=30)
@given(case=cases(), change=st.sampled_from([drain, lose]))
def test_room_is_what_a_fresh_look_finds(case: Any, change: CarryOut) -> None:
    scheduler = scheduler_of(*case)
    waiting, names = scheduler.waiting, [*scheduler.state.nodes]
    found = {name: [name] for name in names}
    for pod_that_waits in waiting:
        scheduler.feasible(pod_that_waits)
    at_once(try_each(scheduler, Step("each"), found, change))
    _assert_room(scheduler, waiting)
    at_once(change(scheduler, names[:1], ""))
    at_once(add_nodes(scheduler, 1, names[-1]))
    _assert_room(scheduler, waiting)


def _assert_room(scheduler: Scheduler, pods: Iterable[ModelPod]) -> None:
    fresh = Scheduler(scheduler.state, lambda: 0.0)
    for each in pods:
        (fits, scores), (expected, others) = scheduler.feasible(each), fresh.feasible(each)
        assert (fits.names, [*scores]) == (expected.names, [*others])
