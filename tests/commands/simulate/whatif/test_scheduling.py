"""What a simulation places obeys every rule, and what it calls pending is refused everywhere."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from affinityctl.commands.simulate.whatif.outcome import (
    After,
    Removal,
    Simulation,
    Step,
    explain,
    pending,
)
from affinityctl.commands.simulate.whatif.scheduling import Placement, Scheduler
from extender.core.cluster.state import ClusterState
from extender.core.model.keys import Key
from extender.core.model.verdict import Verdict
from extender.diagnosis.verbs.waiting import Bottleneck, bottleneck
from tests import oracle, strategies
from tests.annotating import REQUIRED, annotated, stored
from tests.builders import HOST, ZONE, Pod, node, pod, selector, term
from tests.commands.simulate.whatif.cases import ROOM, TAINT, Json, asking, scheduler_of, with_room
from tests.node_oracle import node_refusals

AMOUNTS = {"100m": 100, "600m": 600, "1500m": 1500, "2": 2000, "1Gi": 1}


class Naive:
    """The same cluster as JSON, where each placement is judged the slow and obvious way."""

    def __init__(self, nodes: Sequence[Json], spaces: Sequence[Json], pods: Sequence[Json]) -> None:
        self.nodes = nodes
        self.spaces = spaces
        self.pods = {_key(each): each for each in pods}

    def why_not(self, key: str, name: str) -> list[str]:
        """Say what keeps a pod from a node."""
        raw = self.pods[key]
        others = [each for other, each in self.pods.items() if other != key]
        cluster = oracle.Cluster(self.nodes, self.spaces, others)
        refused = [
            each.reason
            for found in (
                oracle.refusals(cluster, raw, [name]),
                node_refusals(cluster, raw, [name]),
            )
            for each in found.values()
        ]
        there = [
            each
            for each in others
            if _is_on(each, name)
            or (oracle.is_nominated(each, name) and oracle.priority(each) >= oracle.priority(raw))
        ]
        return [*refused, *self._room(raw, name, there)]

    def _room(self, raw: Json, name: str, there: Sequence[Json]) -> list[str]:
        found = next(each for each in self.nodes if each["metadata"]["name"] == name)
        if found["spec"]["taints"] and not raw["spec"].get("tolerations"):
            return ["taint"]
        if _ports(raw) and any(_ports(each) for each in there):
            return ["port"]
        if len(there) >= int(found["status"]["allocatable"]["pods"]):
            return ["pods"]
        every = [raw, *there]
        return [
            name
            for name, most in (("cpu", 2000), ("memory", 4))
            if _asked(raw, name) and sum(_asked(each, name) for each in every) > most
        ]

    def bind(self, key: str, name: str) -> None:
        self.pods[key] = Pod(self.pods[key]).on(name)


def _key(raw: Json) -> str:
    return f"{raw['metadata'].get('namespace', 'default')}/{raw['metadata']['name']}"


def _is_on(raw: Json, name: str) -> bool:
    ended = raw.get("status", {}).get("phase") in {"Succeeded", "Failed"}
    return raw["spec"].get("nodeName") == name and not ended


def _containers(raw: Json) -> list[Mapping[str, Any]]:
    return list(raw["spec"].get("containers", ()))


def _ports(raw: Json) -> bool:
    return any(each.get("ports") for each in _containers(raw))


def _asked(raw: Json, resource: str) -> int:
    said = (each.get("resources", {}).get("requests", {}) for each in _containers(raw))
    return sum(AMOUNTS[each[resource]] for each in said if resource in each)


@st.composite
def cases(draw: st.DrawFn) -> tuple[list[Json], list[Json], list[Json]]:
    """Draw nodes with room, namespaces, and pods of which some wait."""
    cluster = draw(strategies.clusters())
    nodes = [draw(with_room(each)) for each in cluster.nodes]
    every = list(cluster.pods)
    for number in range(draw(st.integers(1, 6))):
        template = draw(strategies.templates())
        if draw(strategies.rarely(3)):
            template = draw(strategies.with_node_affinity(template))
        space = draw(strategies.namespace_names())
        every.append(strategies.named(template, f"new-{number}", space))
    return nodes, list(cluster.namespaces), [draw(asking(each)) for each in every]


@pytest.mark.thorough
@settings(max_examples=40)
@given(case=cases(), seed=st.integers(0, 3))
def test_each_placement_obeys_every_rule_and_what_waits_is_refused_everywhere(
    case: tuple[list[Json], list[Json], list[Json]], seed: int
) -> None:
    scheduler, naive = scheduler_of(*case, seed), Naive(*case)
    seen = evicted = 0
    for _ in scheduler.settle():
        for each in scheduler.preemptions[evicted:]:
            del naive.pods[each.pod]
        evicted = len(scheduler.preemptions)
        for placement in scheduler.placements[seen:]:
            assert naive.why_not(placement.pod, placement.node) == []
            naive.bind(placement.pod, placement.node)
        seen = len(scheduler.placements)
    state = scheduler.state
    for waiting in scheduler.waiting:
        found = explain(state, waiting)
        assert list(found.fits) == []
        limit = bottleneck(found)
        assert (limit is None) is (len(state.nodes) == 0)
        for name in state.nodes:
            assert naive.why_not(waiting.key, name)
    named = [key for each in pending(state, scheduler.waiting) for key in each.pods]
    assert sorted(named) == sorted(pod.key for pod in scheduler.waiting)


@settings(max_examples=10)
@given(case=cases(), seed=st.integers(0, 3))
def test_two_runs_with_one_seed_are_equal(
    case: tuple[list[Json], list[Json], list[Json]], seed: int
) -> None:
    assert _placements(scheduler_of(*case, seed)) == _placements(scheduler_of(*case, seed))


def _placements(scheduler: Scheduler) -> list[Placement]:
    for _ in scheduler.settle():
        pass
    return scheduler.placements


def test_another_seed_takes_another_of_equal_nodes() -> None:
    nodes = [node(f"n{number}", {HOST: f"n{number}"}, ROOM) for number in range(4)]
    found = {_placements(scheduler_of(nodes, [], [pod("p")], seed))[0].node for seed in range(60)}
    assert found == {"n0", "n1", "n2", "n3"}


def test_the_emptier_node_is_taken() -> None:
    nodes = [node(name, {HOST: name}, ROOM) for name in ("full", "empty")]
    there = pod("there").requests(cpu="500m").on("full")
    (placed,) = _placements(scheduler_of(nodes, [], [there, pod("p").requests(cpu="1")]))
    assert placed.node == "empty"


def _taken(nodes: Sequence[Json], there: Sequence[Json], new: Json) -> set[str | None]:
    """Return the nodes that a pod takes, whatever the seed."""
    seeds = range(12)
    return {_placements(scheduler_of(nodes, [], [*there, new], seed))[0].node for seed in seeds}


def test_a_pod_that_requests_nothing_takes_some_room_all_the_same() -> None:
    large = node("large", {HOST: "large"}, ROOM | {"cpu": "9"})
    small = node("small", {HOST: "small"}, ROOM)
    assert _taken([large, small], [], pod("p")) == {"large"}
    there = pod("there").requests(cpu="0", memory="0").on("large")
    empty = node("empty", {HOST: "empty"}, ROOM | {"cpu": "9"})
    assert _taken([large, empty], [there], pod("p")) == {"empty"}


def test_a_pod_goes_where_it_evens_out_cpu_and_memory() -> None:
    nodes = [node(name, {HOST: name}, ROOM) for name in ("of-cpu", "of-memory")]
    there = [
        pod("a").requests(cpu="1", memory="1").on("of-cpu"),
        pod("b").requests(cpu="1m", memory="2Gi").on("of-memory"),
    ]
    assert _taken(nodes, there, pod("p").requests(cpu="100m", memory="2Gi")) == {"of-cpu"}


def test_a_node_of_which_nothing_is_known_has_each_port_once() -> None:
    there = pod("there").host_port(80).on("n")
    nodes = [node("n", {HOST: "n"})]
    assert _placements(scheduler_of(nodes, [], [there, pod("p").host_port(80)])) == []
    assert _placements(scheduler_of(nodes, [], [there, pod("p").host_port(81)])) != []


def test_a_nominated_pod_that_waits_for_company_keeps_its_room() -> None:
    held = pod("held").priority(5).requests(cpu="2").nominated("n")
    near = held.affinity(term(HOST, selector(app="db")))
    lesser = pod("p").requests(cpu="1")
    assert _placements(scheduler_of([node("n", {HOST: "n"}, ROOM)], [], [near, lesser])) == []


def test_a_pod_that_goes_before_it_has_a_node_gets_none() -> None:
    nodes = [node("n", {HOST: "n"}, ROOM)]
    assert _placements(scheduler_of(nodes, [], [pod("p").being_deleted()])) == []


def test_a_preference_for_company_outweighs_room() -> None:
    nodes = [node(name, {HOST: name}, ROOM) for name in ("full", "empty")]
    there = pod("there").labels(app="web").requests(cpu="500m").on("full")
    near = pod("p").prefers(100, term(HOST, selector(app="web")))
    (placed,) = _placements(scheduler_of(nodes, [], [there, near]))
    assert placed.node == "full"


def test_a_pod_that_waits_for_company_is_placed_once_it_is_there() -> None:
    nodes = [node("n", {HOST: "n"}, ROOM)]
    first = pod("first").affinity(term(HOST, selector(app="web"))).priority(7)
    placed = _placements(scheduler_of(nodes, [], [first, pod("web").labels(app="web")]))
    assert [each.pod for each in placed] == ["default/web", "default/first"]


def _spread(name: str, on: str = "") -> Pod:
    made = pod(name).labels(app="web").priority(7)
    made["spec"]["topologySpreadConstraints"] = [
        {
            "maxSkew": 1,
            "topologyKey": HOST,
            "whenUnsatisfiable": "DoNotSchedule",
            "labelSelector": selector(app="web"),
        }
    ]
    return made.on(on) if on else made


def test_pods_are_spread_as_they_ask() -> None:
    nodes = [node(name, {HOST: name}, ROOM) for name in ("m", "n")]
    scheduler = scheduler_of(nodes, [], [_spread(f"w{number}") for number in range(6)])
    assert Counter(each.node for each in _placements(scheduler)) == {"m": 3, "n": 3}


def test_a_pod_waits_until_others_are_where_there_are_too_few() -> None:
    nodes = [node(name, {HOST: name}, ROOM) for name in ("m", "n")]
    there = [
        pod("a").labels(app="web").priority(9).on("m"),
        _spread("only-m").selects(**{HOST: "m"}),
    ]
    there[1]["spec"]["topologySpreadConstraints"][0]["nodeAffinityPolicy"] = "Ignore"
    later = pod("later").labels(app="web").selects(**{HOST: "n"})
    placed = _placements(scheduler_of(nodes, [], [*there, later]))
    assert [each.pod for each in placed] == ["default/later", "default/only-m"]


def test_a_pod_that_is_kept_off_for_spread_evicts_as_many_as_it_has_to() -> None:
    nodes = [node("m", {HOST: "m"}, ROOM), node("n", {HOST: "n"}, {**ROOM, "pods": "0"})]
    there = [pod(f"w{number}").labels(app="web").on("m") for number in range(3)]
    scheduler = scheduler_of(nodes, [], [*there, _spread("new")])
    assert [each.pod for each in _placements(scheduler)] == ["default/new"]
    assert len(scheduler.preemptions) == 3


def test_what_keeps_a_pod_that_is_to_be_spread_from_its_nodes_is_told() -> None:
    nodes = [node("m", {HOST: "m"}, ROOM), node("n", {HOST: "n"}, {**ROOM, "pods": "0"})]
    scheduler = scheduler_of(nodes, [], [_spread("old", "m"), _spread("new")])
    assert _placements(scheduler) == []
    [found] = pending(scheduler.state, scheduler.waiting)
    assert found.explanation is not None
    full, spread = sorted(group.cause for group in found.explanation.groups)
    assert full == "too many pods even when empty"
    assert spread == (
        "your topology spread on hostname: m has 1 of these pods, n has 0, and at most 1 more is "
        "allowed"
    )


def test_a_pod_of_a_dump_is_placed_by_its_annotation_whatever_is_on_record() -> None:
    away = {"podAntiAffinity": {REQUIRED: [term(HOST, selector(app="batch"))]}}
    guard = stored(annotated(pod("guard").priority(7), away))
    batch = stored(pod("batch").labels(app="batch"))
    scheduler = scheduler_of([node("n", {HOST: "n"}, ROOM)], [], [guard, batch])
    assert [each.pod for each in _placements(scheduler)] == ["default/guard"]


def test_where_annotations_do_not_count_pods_are_placed_by_their_specs() -> None:
    ssd = {"nodeSelectorTerms": [{"matchExpressions": [{"key": "ssd", "operator": "Exists"}]}]}
    nodes = [node("n", {HOST: "n"}, ROOM)]
    for raw in (
        annotated(pod("p"), {"nodeAffinity": {REQUIRED: ssd}}),
        annotated(pod("p"), {"podAffinity": 7}),
        annotated(pod("p"), {"podAffinity": {REQUIRED: [term(HOST, selector(app="db"))]}}),
    ):
        assert _placements(scheduler_of(nodes, [], [raw])) == []
        (placed,) = _placements(scheduler_of(nodes, [], [raw], annotations=None))
        assert placed.pod == "default/p"


def test_a_more_important_pod_evicts_others_which_wait_then() -> None:
    nodes = [node("n", {HOST: "n"}, ROOM | {"pods": "1"})]
    lesser = pod("lesser").owned_by("ReplicaSet/r").on("n")
    scheduler = scheduler_of(nodes, [], [lesser, pod("p").priority(5)])
    placed = _placements(scheduler)
    assert [(each.pod, each.node) for each in placed] == [("default/p", "n")]
    assert [(each.pod, each.preemptor) for each in scheduler.preemptions] == [
        ("default/lesser", "default/p")
    ]
    assert [each.key for each in scheduler.waiting] == ["default/lesser"]


def test_a_pod_that_differs_in_what_it_tolerates_alone_is_looked_at_for_itself() -> None:
    nodes = [node("n", {HOST: "n"}, ROOM, [TAINT])]
    tolerating = pod("q")
    tolerating["spec"]["tolerations"] = [{"key": TAINT["key"], "operator": "Exists"}]
    placed = _placements(scheduler_of(nodes, [], [pod("p"), tolerating]))
    assert [each.pod for each in placed] == ["default/q"]


def test_room_that_victims_leave_is_for_pods_that_were_looked_at_before() -> None:
    nodes = [node("n", {HOST: "n"}, ROOM)]
    modest = pod("modest").priority(9).never_preempts().requests(cpu="1")
    there = [pod("lesser").requests(cpu="2").on("n"), modest]
    scheduler = scheduler_of(nodes, [], [*there, pod("p").priority(5).requests(cpu="1")])
    assert [each.pod for each in _placements(scheduler)] == ["default/p", "default/modest"]


def test_those_of_most_pods_are_told_first() -> None:
    large = [pod(name).requests(cpu="9") for name in ("b", "c")]
    scheduler = scheduler_of(
        [node("n", {HOST: "n"}, ROOM)], [], [pod("a").requests(cpu="8"), *large]
    )
    found = pending(scheduler.state, scheduler.waiting)
    assert [each.pods for each in found] == [["default/b", "default/c"], ["default/a"]]


def test_a_taint_is_no_replica_that_could_be_gone() -> None:
    nodes = [node("n", {HOST: "n"}, ROOM, [TAINT])]
    scheduler = scheduler_of(nodes, [], [pod("p").owned_by("ReplicaSet/web")])
    [found] = pending(scheduler.state, scheduler.waiting)
    assert (len(found.nearest), found.is_full_of_replicas) == (1, False)


def test_what_was_so_before_the_changes_does_not_count_against_them() -> None:
    lost = Removal(Key("default/p"), "n", After.GONE)
    steps = [Step("before", removed=[lost]), Step("change")]
    verdicts = [Simulation(ClusterState(), 0, steps, (), begun).verdict for begun in (0, 1)]
    assert verdicts == [Verdict.REFUSED, Verdict.FITS]


@pytest.mark.parametrize("going", [True, False], ids=["under way", "not under way"])
def test_while_a_victim_goes_no_other_pod_is_evicted(*, going: bool) -> None:
    victim = pod("victim").requests(cpu="1").on("a")
    waits = pod("waits").priority(9).requests(cpu="1").nominated("a")
    other = pod("other").requests(cpu="1").on("b")
    room = {"cpu": "1", "pods": "9"}
    nodes = [node(name, {HOST: name}, room) for name in "ab"]
    victim = victim.preempted() if going else victim
    scheduler = scheduler_of(nodes, [], [victim, waits, other])
    _placements(scheduler)
    assert bool(scheduler.preemptions) is not going


def test_a_pod_waits_for_a_victim_that_is_being_deleted_for_another_reason() -> None:
    """The scheduler evicts none in its place, and nominates the pod to that node."""
    small = pod("small").priority(1).requests(cpu="1").uid("s").on("n1")
    small["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z"
    large = pod("large").priority(9).requests(cpu="2")
    scheduler = scheduler_of([node("n1", {HOST: "n1"}, ROOM)], [], [small, large])
    for _ in scheduler.settle():
        pass
    assert (_placements(scheduler), scheduler.preemptions) == ([], [])
    assert [pod.status.nominated for pod in scheduler.waiting] == ["n1"]


def test_a_pod_that_never_preempts_waits() -> None:
    nodes = [node("n", {HOST: "n"}, ROOM | {"pods": "1"})]
    modest = pod("p").priority(5)
    modest["spec"]["preemptionPolicy"] = "Never"
    assert _placements(scheduler_of(nodes, [], [pod("lesser").on("n"), modest])) == []


def test_a_pod_whose_annotation_cannot_be_read_evicts_nobody() -> None:
    nodes = [node("n", {HOST: "n"}, ROOM | {"pods": "1"})]
    broken = annotated(pod("p").priority(5), {"podAffinity": 7})
    scheduler = scheduler_of(nodes, [], [pod("lesser").on("n"), broken])
    assert (_placements(scheduler), scheduler.preemptions) == ([], [])


def test_the_rule_that_alone_refuses_most_nodes_is_the_bottleneck() -> None:
    nodes = [
        *(node(f"a{number}", {HOST: f"a{number}", ZONE: "a"}, ROOM) for number in range(3)),
        node("b", {HOST: "b", ZONE: "b"}, {}),
    ]
    nodes[-1]["status"] = {"allocatable": {"cpu": "50m", "pods": "9", "memory": "1Gi"}}
    apart = term(ZONE, selector(app="web"))
    there = pod("there").labels(app="web").on("a0")
    new = pod("new").labels(app="web").anti_affinity(apart).requests(cpu="100m")
    scheduler = scheduler_of(nodes, [], [there, new])
    assert _placements(scheduler) == []
    (found,) = pending(scheduler.state, scheduler.waiting)
    assert found.bottleneck is not None
    assert found.bottleneck.what == "your anti-affinity on zone"
    assert (found.bottleneck.refused, found.bottleneck.alone) == (3, 3)


def test_a_rule_that_refuses_no_node_alone_is_named_with_what_refuses_them_besides() -> None:
    full = {"cpu": "50m", "pods": "9", "memory": "1Gi"}
    nodes = [node(name, {HOST: name}) | {"status": {"allocatable": full}} for name in ("a", "b")]
    there = [pod(f"on-{name}").labels(app="web").on(name) for name in ("a", "b")]
    apart = term(HOST, selector(app="web"))
    new = pod("new").labels(app="web").anti_affinity(apart).requests(cpu="100m")
    scheduler = scheduler_of(nodes, [], [*there, new])
    assert _placements(scheduler) == []
    (found,) = pending(scheduler.state, scheduler.waiting)
    assert found.bottleneck == Bottleneck(
        "too little cpu even when empty (asks for 100m, the largest of them has 50m)",
        2,
        0,
        "your anti-affinity on hostname",
    )


def test_cordoned_nodes_are_no_bottleneck() -> None:
    cordoned = [node(name, {HOST: name}) | {"spec": {"unschedulable": True}} for name in ("a", "b")]
    new = pod("new").anti_affinity(term(HOST, selector(app="web")))
    scheduler = scheduler_of(
        [*cordoned, node("c", {HOST: "c"})], [], [pod("web").labels(app="web").on("c"), new]
    )
    assert _placements(scheduler) == []
    (found,) = pending(scheduler.state, scheduler.waiting)
    assert found.bottleneck == Bottleneck("your anti-affinity on hostname", 1, 1)
