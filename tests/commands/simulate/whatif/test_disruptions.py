"""Which evictions of a drain the API server admits, and which pods controllers make then."""

from __future__ import annotations

import json
from typing import Any

import pytest

from affinityctl.commands.simulate.applied import as_applied
from affinityctl.commands.simulate.whatif.nodes import drain, lose
from affinityctl.commands.simulate.whatif.outcome import After, pending
from affinityctl.commands.simulate.whatif.rolling import Version, roll
from affinityctl.commands.simulate.whatif.scheduling import Scheduler
from affinityctl.commands.simulate.whatif.successors import KnownWorkload
from affinityctl.reading.rollouts import Rollout
from extender.core.model.stepping import at_once
from extender.core.model.workload import Identity
from extender.core.wire.objects import read_budget
from tests.builders import HOST, Pod, node, pod, selector, term
from tests.commands.simulate.whatif.cases import scheduler_of

WEB = selector(app="web")
NODES = [node(name, {HOST: name}, {"pods": "5"}) for name in ("a1", "b1")]
MIN_1, MIN_2, MAX_1 = {"minAvailable": 1}, {"minAvailable": 2}, {"maxUnavailable": 1}


def web(name: str, on: str = "b1") -> Pod:
    return pod(name).labels(app="web").owned_by("ReplicaSet/web").on(on).phase("Running").ready()


def unready(name: str, on: str = "b1") -> Pod:
    return web(name, on).ready(yes=False)


def budget(spec: dict[str, Any], *, name: str = "b", of: Any = WEB, **status: Any) -> Any:
    metadata = {"namespace": "default", "name": name, "generation": 1}
    found = {"observedGeneration": 1, "disruptionsAllowed": 0, **status}
    return {"metadata": metadata, "spec": {"selector": of, **spec}, "status": found}


def counted(healthy: int, desired: int, **status: Any) -> dict[str, Any]:
    allowed = max(0, healthy - desired)
    numbers = {"currentHealthy": healthy, "desiredHealthy": desired, "expectedPods": healthy + 1}
    return {"disruptionsAllowed": allowed, **numbers, **status}


def cluster(pods: list[Pod], *budgets: Any, nodes: Any = None) -> Scheduler:
    scheduler = scheduler_of(nodes or NODES, [], pods)
    for each in budgets:
        scheduler.state.upsert_budget(read_budget(json.dumps(each).encode()))
    return scheduler


ALWAYS = {"unhealthyPodEvictionPolicy": "AlwaysAllow"}
STARTING = web("p", "a1").phase("Pending").ready(yes=False)
LEAVING = web("p", "a1").being_deleted()
READY, UNREADY = web("p", "a1"), unready("p", "a1")


@pytest.mark.parametrize(
    ("asked", "budgets", "why"),
    [
        pytest.param(READY, [], "", id="no budget"),
        pytest.param(READY, [budget(MAX_1, disruptionsAllowed=1)], "", id="it allows one"),
        pytest.param(READY, [budget(MIN_1, **counted(1, 1))], "no more", id="it allows none"),
        pytest.param(READY, [budget(MIN_1, of={}, **counted(1, 1))], "no more", id="of all pods"),
        pytest.param(READY, [budget(MIN_1, of=None, **counted(1, 1))], "", id="of no pod"),
        pytest.param(
            READY,
            [budget(MIN_2, **counted(2, 2))],
            "b allows no more evictions: 2 of 3 pods are healthy, and it wants 2",
            id="as many are healthy as it wants",
        ),
        pytest.param(
            READY,
            [budget(MIN_2, **counted(1, 2))],
            "b allows no more evictions, however many pods are healthy: it wants 2 of 2",
            id="it wants all of them",
        ),
        pytest.param(
            READY,
            [budget(MAX_1, disruptionsAllowed=1), budget(MIN_1, name="c", disruptionsAllowed=1)],
            "evicts no pod that is in two budgets: default/b, default/c",
            id="two budgets, whatever they allow",
        ),
        pytest.param(STARTING, [budget(MIN_1, **counted(1, 1))], "", id="a starting pod"),
        pytest.param(LEAVING, [budget(MIN_1, **counted(1, 1))], "", id="a terminating pod"),
        pytest.param(
            STARTING, [budget(MIN_1), budget(MIN_1, name="c")], "", id="a starting pod in two"
        ),
        pytest.param(UNREADY, [budget(MIN_2, **counted(1, 2))], "no more", id="too few are ready"),
        pytest.param(UNREADY, [budget(MIN_1, **counted(1, 1))], "", id="as many as are wanted are"),
        pytest.param(
            UNREADY,
            [budget({"minAvailable": 0}, **counted(0, 0))],
            "no more",
            id="where none is wanted, an unready one counts as the others",
        ),
        pytest.param(
            UNREADY, [budget(MIN_2 | ALWAYS, **counted(1, 2))], "", id="AlwaysAllow, unready"
        ),
        pytest.param(
            READY, [budget(MIN_1 | ALWAYS, **counted(1, 1))], "no more", id="AlwaysAllow, ready"
        ),
        pytest.param(
            READY,
            [
                budget(
                    MAX_1, disruptionsAllowed=1, disruptedPods=dict.fromkeys(map(str, range(2001)))
                )
            ],
            "too many disruptedPods",
            id="thousands were granted",
        ),
        pytest.param(
            READY,
            [budget(MAX_1, **counted(2, 1, observedGeneration=0))],
            "",
            id="a status of another spec: counted from the pods, two of which are ready",
        ),
        pytest.param(
            READY,
            [budget(MIN_2, **counted(3, 2, observedGeneration=0))],
            "no more",
            id="counted from the pods, of which no more than these are ready",
        ),
        pytest.param(
            UNREADY, [budget(MIN_1)], "", id="a status that does not say how many are wanted"
        ),
        pytest.param(
            READY,
            [
                budget(
                    MAX_1,
                    **counted(2, 1, disruptionsAllowed=0),
                    conditions=[{"type": "DisruptionAllowed", "reason": "SyncFailed"}],
                )
            ],
            "no more",
            id="pods that cannot be counted",
        ),
    ],
)
def test_an_eviction_is_admitted_as_the_api_server_does(
    asked: Pod, budgets: list[Any], why: str
) -> None:
    scheduler = cluster([asked, web("other")], *budgets)
    (found,) = scheduler.state.pods_on("a1")
    refusal = scheduler.disruptions.refusal(found)
    assert (refusal is None, why in (refusal.why if refusal else "")) == (not why, True)


def test_a_manifest_without_a_status_is_counted_from_the_pods() -> None:
    for spec, gone in ((MIN_1, 1), (MAX_1, 1), ({"minAvailable": "100%"}, 0), ({}, 0)):
        manifest = {"metadata": {"name": "b"}, "spec": {"selector": WEB, **spec}}
        step = at_once(drain(cluster([READY, web("other")], manifest), ["a1"]))
        assert len(step.removed) == gone, spec


def test_an_unready_pod_does_not_use_up_a_budget() -> None:
    tight = [node("a1", {HOST: "a1"}, {"pods": "5"}), node("b1", {HOST: "b1"}, {"pods": "1"})]
    pods = [unready("p0", "a1"), web("p1", "a1"), web("full")]
    scheduler = cluster(pods, budget(MAX_1 | ALWAYS, disruptionsAllowed=1), nodes=tight)
    step = at_once(drain(scheduler, ["a1"]))
    assert [each.pod for each in step.removed] == ["default/p0", "default/p1"]
    assert step.blocked == []


def test_what_comes_in_the_place_of_an_unready_pod_is_ready_and_counts() -> None:
    pods = [unready("p0", "a1"), web("p1", "a1"), web("p2", "a1")]
    step = at_once(drain(cluster(pods, budget(MIN_2, **counted(2, 2))), ["a1"]))
    assert ([each.pod for each in step.removed], step.blocked) == (
        ["default/p0", "default/p1", "default/p2"],
        [],
    )


def set_pod(number: int, on: str | None) -> Pod:
    made = pod(f"db-{number}").labels(app="db").owned_by("StatefulSet/db")
    made = made.anti_affinity(term(HOST, selector(app="db")))
    return made if on is None else made.on(on).phase("Running").ready()


DB = Identity("default", "StatefulSet", "db")
THREE = [node(name, {HOST: name}, {"pods": "5"}) for name in ("a1", "b1", "c1")]


def test_what_comes_in_the_place_of_a_pod_whose_eviction_was_granted_counts_until_it_goes() -> None:
    granted = budget(MIN_1, **counted(3, 1, disruptionsAllowed=1, disruptedPods={"x": "now"}))
    nodes = [*NODES, node("c1", {HOST: "c1"}, {"pods": "1"})]
    scheduler = cluster([web("x", "a1"), web("p"), web("q")], granted, nodes=nodes)
    at_once(lose(scheduler, ["a1"], "a1"))
    step = at_once(drain(scheduler, ["c1", "b1"]))
    assert len(step.blocked) == 1


@pytest.mark.parametrize("change", [drain, lose])
def test_a_stateful_set_makes_a_pod_anew_once_the_one_that_is_being_deleted_is_gone(
    change: Any,
) -> None:
    pods = [set_pod(0, "a1"), set_pod(1, "b1"), set_pod(2, "c1").being_deleted()]
    step = at_once(change(cluster(pods, nodes=THREE), ["c1"], "c1"))
    assert [each.after for each in step.removed] == [After.MADE_ANEW]
    assert step.waiting == ["default/db-2"]
    more = [*THREE, node("d1", {HOST: "d1"}, {"pods": "5"})]
    step = at_once(change(cluster(pods, nodes=more), ["c1"], "c1"))
    assert [each.node for each in step.placed] == ["d1"]


def test_a_stateful_set_that_wants_fewer_makes_none_anew() -> None:
    pods = [set_pod(0, "a1"), set_pod(1, "b1"), set_pod(2, "c1").being_deleted()]
    scheduler = cluster(pods, nodes=THREE)
    scheduler.workloads[DB] = KnownWorkload(replicas=2)
    step = at_once(lose(scheduler, ["c1"], "c1"))
    assert ([each.after for each in step.removed], step.waiting) == ([After.DELETED], [])


def test_other_controllers_have_made_another_pod_already() -> None:
    step = at_once(lose(cluster([LEAVING]), ["a1"], "a1"))
    assert ([each.after for each in step.removed], step.waiting) == ([After.DELETED], [])


IN_ORDER, AT_ONCE = KnownWorkload(), KnownWorkload(in_order=False)


@pytest.mark.parametrize(
    ("known", "waiting", "held"),
    [
        pytest.param(IN_ORDER, ["default/db-0"], ["default/db-1"], id="OrderedReady"),
        pytest.param(AT_ONCE, ["default/db-0", "default/db-1"], [], id="Parallel"),
    ],
)
def test_a_stateful_set_makes_its_pods_in_order(
    known: KnownWorkload, waiting: list[str], held: list[str]
) -> None:
    pods = [set_pod(0, "a1"), set_pod(1, "b1"), set_pod(2, "c1")]
    scheduler = cluster(pods, nodes=THREE)
    scheduler.workloads[DB] = known
    step = at_once(lose(scheduler, ["a1", "b1"], "some"))
    assert (step.waiting, step.held) == (waiting, held)
    found = pending(scheduler.state, scheduler.waiting, held=scheduler.held)
    assert [(each.pods, each.until) for each in found if each.until] == [
        ([each], "default/db-0") for each in held
    ]


def test_the_next_pod_of_a_stateful_set_is_made_when_the_one_before_has_a_node() -> None:
    pods = [set_pod(0, "a1"), set_pod(1, "b1")]
    more = [*THREE, node("d1", {HOST: "d1"}, {"pods": "5"})]
    step = at_once(lose(cluster(pods, nodes=more), ["b1", "a1"], "some"))
    assert [each.pod for each in step.placed] == ["default/db-0", "default/db-1"]
    assert step.held == []


def test_a_pod_of_lower_ordinal_that_is_not_ready_holds_those_after_it() -> None:
    pods = [set_pod(0, "a1").ready(yes=False), set_pod(1, "b1")]
    step = at_once(lose(cluster(pods, nodes=THREE), ["b1"], "b1"))
    assert (step.waiting, step.held) == ([], ["default/db-1"])


def test_an_update_of_a_stateful_set_stops_at_a_pod_that_is_not_ready() -> None:
    scheduler = cluster([set_pod(0, "a1").ready(yes=False), set_pod(1, "b1")], nodes=THREE)
    old = sorted(scheduler.state.pods.values(), key=lambda each: each.key)
    made = as_applied(DB, old[0], 2)
    version = Version("it", "StatefulSet", made.make, Rollout(2, rolling=True))
    step = at_once(roll(scheduler, version, old))
    assert step.update is not None
    assert step.update.stuck == (
        "after 0 steps: the StatefulSet controller waits for default/db-0, which is not ready; "
        "delete that pod"
    )


def test_a_pod_that_waits_already_is_not_held() -> None:
    scheduler = cluster([set_pod(0, None).selects(disk="ssd"), set_pod(1, None)], nodes=THREE)
    for _ in scheduler.settle():
        pass
    assert ([each.key for each in scheduler.waiting], scheduler.held) == (["default/db-0"], {})
