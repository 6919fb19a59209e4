"""Topology spread constraints that refuse nodes: which pods count, and where."""

from __future__ import annotations

import json
from typing import Any

import pytest

from extender.core.model.verdict import AnyReason, Reason
from extender.core.verbs.filtering import judge
from extender.core.verbs.victims import candidates
from extender.core.wire.objects import PodReader
from extender.diagnosis.verbs.explain import explanation_of
from extender.diagnosis.verbs.explanation import Question
from extender.diagnosis.verbs.node_room import NodeResourcesFit
from extender.diagnosis.verbs.topology_spread import MOST_CONSTRAINTS, PodTopologySpread
from tests.annotating import REQUIRED, annotated
from tests.builders import (
    HOST,
    ZONE,
    Json,
    Pod,
    model_pod,
    node,
    pod,
    requirement,
    selector,
    state_of,
)

ROOM = {"pods": "10", "cpu": "4"}
NODES = [
    node("a1", {HOST: "a1", ZONE: "a"}, ROOM),
    node("a2", {HOST: "a2", ZONE: "a"}, ROOM),
    node("b1", {HOST: "b1", ZONE: "b"}, ROOM),
]
BARE = node("bare", {HOST: "bare"}, ROOM)
WEB = selector(app="web")
FULL, LABEL = Reason.SPREAD, Reason.SPREAD_LABEL


def spread(key: str = ZONE, /, **fields: Any) -> dict[str, Any]:
    """Build a constraint over web pods."""
    made = {"maxSkew": 1, "topologyKey": key, "whenUnsatisfiable": "DoNotSchedule"}
    return made | {"labelSelector": WEB} | fields


def web(name: str, on: str = "") -> Pod:
    """Build a web pod."""
    made = pod(name).labels(app="web", rev="1")
    return made.on(on) if on else made


def new(*constraints: Json, **spec: Any) -> Pod:
    """Build a web pod that waits."""
    made = web("new")
    return Pod({**made, "spec": {**made["spec"], "topologySpreadConstraints": constraints, **spec}})


def refused(
    incoming: Json, *placed: Json, nodes: list[dict[str, Any]] = NODES
) -> dict[str, AnyReason]:
    """Ask about every node."""
    state = state_of(nodes, [], [*placed, incoming])
    asked = state.nodes.asked(list(state.nodes))
    verdicts = judge(state, model_pod(incoming), asked, [PodTopologySpread()])
    return {name: reason for reason, names in verdicts.refused for name in names}


IN_A = [web("w1", "a1")]
FULL_A = {"a1": FULL, "a2": FULL}


@pytest.mark.parametrize(
    ("constraint", "placed", "expected"),
    [
        pytest.param(spread(), [], {}, id="no pods yet: anywhere"),
        pytest.param(spread(), IN_A, FULL_A, id="one in zone a: only zone b"),
        pytest.param(spread(maxSkew=2), IN_A, {}, id="a larger skew lets one more in"),
        pytest.param(spread(HOST), IN_A, {"a1": FULL}, id="by hostname, only that node"),
        pytest.param(spread(), [*IN_A, web("w2", "b1")], {}, id="one in each zone: anywhere again"),
        pytest.param(spread(), [web("w1", "a1").being_deleted()], {}, id="not one that goes"),
        pytest.param(
            spread(), [pod("w1", "other").labels(app="web").on("a1")], {}, id="own namespace only"
        ),
        pytest.param(spread(labelSelector={}), IN_A, {}, id="an empty selector counts nobody"),
        pytest.param(spread(labelSelector=None), IN_A, {}, id="nor does one that is missing"),
        pytest.param(
            spread(labelSelector=selector(app="db")),
            [pod("d1").labels(app="db").on("a1"), pod("d2").labels(app="db").on("a2")],
            FULL_A,
            id="of other pods it may have as many as the skew",
        ),
        pytest.param(
            spread(matchLabelKeys=["rev"]),
            [pod("w1").labels(app="web", rev="2").on("a1")],
            {},
            id="label keys leave other revisions out",
        ),
        pytest.param(
            spread(matchLabelKeys=["rev", "absent"]),
            IN_A,
            FULL_A,
            id="a label key that the pod lacks does not count",
        ),
        pytest.param(
            spread(minDomains=3),
            [*IN_A, web("w2", "b1")],
            {**FULL_A, "b1": FULL},
            id="with too few domains, the least is 0",
        ),
        pytest.param(
            spread(minDomains=2), [*IN_A, web("w2", "b1")], {}, id="with enough, it is as counted"
        ),
        pytest.param(
            spread(whenUnsatisfiable="ScheduleAnyway"), IN_A, {}, id="a preference refuses nothing"
        ),
    ],
)
def test_which_nodes_a_constraint_refuses(
    constraint: Json, placed: list[Json], expected: dict[str, Reason]
) -> None:
    assert refused(new(constraint), *placed) == expected


@pytest.mark.parametrize(
    ("empty_selects_all", "labels", "expected"),
    [
        pytest.param(False, {}, {}, id="up to 1.37 nobody"),
        pytest.param(True, {}, FULL_A, id="from 1.38 on every pod of the namespace"),
        pytest.param(True, None, {}, id="one that is missing, nobody still"),
    ],
)
def test_whom_an_empty_selector_counts(
    labels: Json | None, expected: dict[str, Reason], *, empty_selects_all: bool
) -> None:
    incoming = new(spread(labelSelector=labels))
    placed = [pod("bare").on("a1"), pod("there", "other").on("b1")]
    going = pod("going").on("b1").being_deleted()
    pods = [*placed, going, incoming]
    state = state_of(NODES, [], pods, empty_selects_all=empty_selects_all)
    asked = state.nodes.asked(list(state.nodes))
    verdicts = judge(state, model_pod(incoming), asked, [PodTopologySpread()])
    found = {name: reason for reason, names in verdicts.refused for name in names}
    assert found == expected


def test_a_node_without_the_label_is_refused_for_that() -> None:
    assert refused(new(spread()), nodes=[*NODES, BARE]) == {"bare": LABEL}


def test_a_node_without_one_of_the_labels_counts_for_none() -> None:
    # Else hostname bare would be the one with the fewest.
    both = new(spread(HOST), spread())
    placed = [web("w1", "a1"), web("w2", "a2"), web("w3", "b1")]
    assert refused(both, *placed, nodes=[*NODES, BARE]) == {"a1": FULL, "a2": FULL, "bare": LABEL}


def elsewhere(name: str, on: str) -> Pod:
    """Build a web pod of another namespace."""
    return pod(name, "other").labels(app="web").on(on)


DB = pod("db").labels(app="db").on("a1")


@pytest.mark.parametrize(
    ("placed", "gone", "expected"),
    [
        pytest.param(IN_A, IN_A, {}, id="one that is gone counts once less"),
        pytest.param(
            [*IN_A, elsewhere("o", "a1")],
            [elsewhere("o", "a1")],
            FULL_A,
            id="gone from another namespace: none less",
        ),
        pytest.param(
            [elsewhere("o", "a1")], [elsewhere("o", "a1")], {}, id="nor is it added before"
        ),
        pytest.param([*IN_A, DB], [DB], FULL_A, id="gone that does not match: none less"),
        pytest.param([DB], [DB], {}, id="nor is that added before"),
        pytest.param(
            [*IN_A, elsewhere("o", "a1").being_deleted()],
            [],
            FULL_A,
            id="on its way out in another namespace: none less",
        ),
        pytest.param(
            [*IN_A, DB.being_deleted()], [], FULL_A, id="on its way out, not matching: none less"
        ),
    ],
)
def test_pods_that_go_are_taken_off_where_they_were_counted(
    placed: list[Pod], gone: list[Pod], expected: dict[str, Reason]
) -> None:
    incoming = new(spread())
    state = state_of(NODES, [], [*placed, incoming])
    named = [state.pods[model_pod(each).key] for each in gone]
    asked = state.nodes.asked(list(state.nodes))
    verdicts = judge(state, model_pod(incoming), asked, [PodTopologySpread()], gone=named)
    assert {name: reason for reason, names in verdicts.refused for name in names} == expected


@pytest.mark.parametrize(
    ("held", "expected"),
    [
        pytest.param(elsewhere("held", "a1"), {}, id="of another namespace"),
        pytest.param(pod("held").labels(app="db"), {}, id="that does not match"),
        pytest.param(web("held"), {"b1": FULL}, id="that counts"),
    ],
)
def test_which_nominated_pods_count_on_their_node(held: Pod, expected: dict[str, Reason]) -> None:
    waiting = Pod({**held, "spec": {**held["spec"], "nodeName": ""}}).priority(1).nominated("b1")
    assert refused(new(spread()), waiting) == expected


def test_a_domain_that_a_nominated_pod_adds_to_has_not_fewer_any_more() -> None:
    held = web("held").priority(1).nominated("b1")
    assert refused(new(spread()), *IN_A, held) == FULL_A


@pytest.mark.parametrize(("number", "expected"), [(MOST_CONSTRAINTS, FULL_A), (17, {})])
def test_more_constraints_than_are_looked_at_refuse_nothing(
    number: int, expected: dict[str, Reason]
) -> None:
    assert refused(new(*[spread()] * number), *IN_A) == expected


TAINTED = node(
    "c1", {HOST: "c1", ZONE: "c"}, ROOM, [{"key": "k", "value": "v", "effect": "NoSchedule"}]
)


@pytest.mark.parametrize(
    ("fields", "spec", "expected"),
    [
        pytest.param({}, {}, {**FULL_A, "b1": FULL}, id="taints are ignored unless told"),
        pytest.param({"nodeTaintsPolicy": "Honor"}, {}, {}, id="a tainted node is no part of it"),
        pytest.param(
            {"nodeTaintsPolicy": "Honor"},
            {"tolerations": [{"operator": "Exists"}]},
            {**FULL_A, "b1": FULL},
            id="unless its taint is tolerated",
        ),
        pytest.param({}, {"nodeSelector": {ZONE: "a"}}, {}, id="nodes it asks for count alone"),
        pytest.param(
            {"nodeAffinityPolicy": "Ignore"},
            {"nodeSelector": {ZONE: "a"}},
            {**FULL_A, "b1": FULL},
            id="unless told",
        ),
    ],
)
def test_which_nodes_are_part_of_domains(
    fields: dict[str, Any], spec: dict[str, Any], expected: dict[str, Reason]
) -> None:
    incoming = new(spread(**fields), **spec)
    placed = [web("w1", "a1"), web("w2", "b1")]
    assert refused(incoming, *placed, nodes=[*NODES, TAINTED]) == expected


def test_nodes_count_by_the_affinity_of_the_spec_alone() -> None:
    terms = {"nodeSelectorTerms": [{"matchExpressions": [requirement(ZONE, "In", "a")]}]}
    asking = annotated(new(spread()), {"nodeAffinity": {REQUIRED: terms}})
    assert refused(asking, *IN_A) == FULL_A


def test_a_nominated_pod_counts_on_its_node() -> None:
    held = web("held").priority(1).nominated("a1")
    assert refused(new(spread()), held) == {"a1": FULL}


def test_a_nominated_pod_has_its_room() -> None:
    held = web("held").priority(1).nominated("a1").requests(cpu="3")
    incoming = web("new").requests(cpu="2")
    state = state_of(NODES, [], [held, incoming])
    asked = state.nodes.asked(["a1", "a2"])
    verdicts = judge(state, model_pod(incoming), asked, [NodeResourcesFit()])
    assert verdicts.refused == [(Reason.RESOURCES, ["a1"])]


def test_what_is_said_of_a_domain_with_too_many() -> None:
    incoming = new(spread())
    placed = [web("w1", "a1"), web("w2", "a1"), web("w3", "a2"), web("w4", "b1")]
    state = state_of(NODES, [], [*placed, incoming])
    question = Question(model_pod(incoming), ["a1", "a2"], [PodTopologySpread()])
    found = explanation_of(state, question)
    [group] = found.groups
    assert group.cause == (
        "your topology spread on zone: a has 3 of these pods, b has 1, and at most 1 more is "
        "allowed"
    )
    [miss] = found.near_misses
    assert str(miss) == "2 nodes in zone a with 2 fewer of these pods in a"


def test_a_placed_pod_on_its_way_out_is_not_taken_off_twice_for_its_own_constraint() -> None:
    going = Pod(new(spread())).on("a1").being_deleted()
    asked = PodReader(requirements=True).read(json.dumps(going).encode())
    question = Question(asked, ["a1", "a2", "b1"], [PodTopologySpread()])
    assert explanation_of(state_of(NODES, [], [going]), question).groups == []


def test_as_few_pods_as_possible_are_evicted_for_even_spread() -> None:
    placed = [web(f"w{n}", "a1") for n in range(3)] + [web("w3", "b1")]
    incoming = Pod(new(spread())).priority(5)
    full = [node("b1", {HOST: "b1", ZONE: "b"}, {"pods": "1"}), NODES[0]]
    state = state_of(full, [], [*placed, incoming])
    found = candidates(state, model_pod(incoming), [PodTopologySpread()], chance=0.0)
    evicted = {each.node: len(each.victims) for each in found if each is not None}
    assert evicted == {"a1": 2, "b1": 1}


def test_without_domains_nodes_have_not_too_many() -> None:
    """A manifest may ask for none, which no API server stores and a scheduler's file may say."""
    assert refused(new(spread(minDomains=0), nodeSelector={"no": "node"}), *IN_A) == {}


def test_the_more_conditions_a_constraint_has_the_fewer_classes_are_a_step() -> None:
    others = [pod(f"p{number}").labels(app=f"a{number}").on("a1") for number in range(50)]
    state = state_of([node("a1", {ZONE: "a"})], [], others)

    def steps(conditions: int) -> int:
        lacking = [requirement(f"k{number}", "DoesNotExist") for number in range(conditions)]
        constraint = spread(labelSelector={"matchExpressions": lacking})
        return len(list(PodTopologySpread().counting(state, model_pod(new(constraint)))))

    assert steps(3000) >= steps(1) + len(others) // 2
