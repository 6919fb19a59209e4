"""Which placed pods sit worse than they have to, and where they would sit better."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from itertools import count
from random import Random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import extender.features.moving.rules.improving
from extender.core.cluster.counts.pod_sets import MANY_TERMS
from extender.core.cluster.state import ClusterState
from extender.core.verbs.nominating import Chooser, ExpectedPlacement
from extender.core.wire.objects import PodReader
from extender.diagnosis.verbs.sitting import BetterPlace
from extender.features.moving.rules import leaned_on
from extender.features.moving.rules.improving import (
    Improvement,
    better_places,
    improvement,
    improvements,
)
from extender.features.moving.sitting import sitting
from tests import oracle
from tests.annotating import DURING, PREFERRED
from tests.beside import AFFINITY_ANNOTATION
from tests.builders import (
    HOST,
    ZONE,
    Json,
    Pod,
    model_node,
    model_pod,
    namespace,
    node,
    node_term,
    pod,
    requirement,
    selector,
    state_of,
    term,
)
from tests.node_oracle import raw_node_scores
from tests.verbs.judging import AFFINITY

NAMES = ("a1", "a2", "b1", "b2", "c1", "bare")
ROOM = {"pods": "4", "cpu": "9"}


def at(name: str, pods: str = "4") -> dict[str, Any]:
    labels = {} if name == "bare" else {HOST: name, ZONE: name[0]}
    return node(name, labels, {"pods": pods, "cpu": "9"})


NODES = [at(name) for name in NAMES]
WEB = selector(app="web")


DB = pod("db").labels(app="db").owned_by("StatefulSet/db")


def web(name: str) -> Pod:
    return pod(name).labels(app="web").owned_by("ReplicaSet/web-5d")


def spread(name: str, on: str, weight: int = 100, key: str = ZONE) -> Pod:
    return web(name).avoids(weight, term(key, WEB)).on(on)


def found_in(state: ClusterState, margin: int = 1) -> list[Improvement]:
    chooser = Chooser(state, AFFINITY)
    return [
        each
        for placed in list(state.placed_classes)
        for each in improvements(state, chooser, placed, margin)
        if each is not None
    ]


def moves(pods: Sequence[Json], nodes: Sequence[Json] = NODES, margin: int = 1) -> dict[str, str]:
    """Return for each pod that sits worse than it has to the domain of the node that it is for."""
    found = found_in(state_of(nodes, [namespace("default")], pods), margin)
    return {each.pod.key.removeprefix("default/"): each.target[0] for each in found}


@pytest.mark.parametrize(
    ("pods", "expected"),
    [
        pytest.param([spread("1", "a1"), spread("2", "b1")], {}, id="apart already"),
        pytest.param(
            [spread("1", "a1"), spread("2", "a1"), spread("3", "b1")],
            {"2": "c"},
            id="of those that are alike on a node, one is named",
        ),
        pytest.param(
            [spread("1", "a1"), spread("2", "a1"), spread("3", "b1"), web("busy").on("c1")],
            {},
            id="no zone has fewer beside it",
        ),
        pytest.param(
            [spread("1", "a1", 1), spread("2", "a2", 1), spread("3", "b1", 1)],
            {"1": "c", "2": "c"},
            id="out of a shared zone",
        ),
        pytest.param(
            [web("1").prefers_nodes(5, node_term(requirement(ZONE, "In", "c"))).on("a1")],
            {"1": "c"},
            id="to the nodes that it prefers",
        ),
        pytest.param(
            [
                web("1").on("a1"),
                web("2").prefers_nodes(5, node_term(requirement(ZONE, "In", "c"))).on("a1"),
            ],
            {"2": "c"},
            id="of two with the same labels the one that prefers nodes",
        ),
        pytest.param(
            [
                web("1").prefers(5, term(ZONE, selector(app="db"))).on("a1"),
                DB.on("c1"),
            ],
            {"1": "c"},
            id="to those whose company it prefers",
        ),
        pytest.param(
            [web("1").on("a1"), DB.avoids(100, term(ZONE, WEB)).on("a1")],
            {"db": "b"},
            id="whose rule it is moves, not the pod that it is about",
        ),
        pytest.param(
            [web("1").on("a1"), web("2").prefers(9, term(ZONE, WEB)).on("a2")],
            {},
            id="together already",
        ),
    ],
)
def test_who_moves(pods: Sequence[Json], expected: dict[str, str]) -> None:
    assert moves(pods, [at("a1"), at("a2"), at("b1"), at("c1")]) == expected


@pytest.mark.parametrize("policy", ["Always", "OnFailure", "Never"])
@pytest.mark.parametrize(
    ("kind", "makes_another"),
    [
        ("ReplicaSet", True),
        ("StatefulSet", True),
        ("ReplicationController", True),
        ("Job", False),
        ("Workflow", False),
        ("DaemonSet", False),
        ("Node", False),
        ("", False),
    ],
)
def test_only_pods_that_run_on_and_are_replaced_move(
    kind: str, policy: str, *, makes_another: bool
) -> None:
    """Whatever else owns them: the work of a step of a workflow is lost like that of a Job's."""
    raw = pod("1").labels(app="web").avoids(100, term(ZONE, WEB)).restarts(policy).on("a1")
    state = state_of([at("a1"), at("b1")], [namespace("default")], [web("2").on("a1")])
    reader = PodReader(owners=True, requirements=True)
    made = raw.owned_by(f"{kind}/it") if kind else raw
    state.upsert_pod(reader.read(json.dumps(made).encode()))
    assert bool(found_in(state)) is (makes_another and policy == "Always")


def test_a_gain_below_the_margin_moves_nobody() -> None:
    pods = [spread("1", "a1"), spread("2", "a1")]
    assert moves(pods, margin=100) != {}
    assert moves(pods, margin=101) == {}


def test_a_full_node_is_no_better_place() -> None:
    pods = [spread("1", "a1"), spread("2", "a1"), web("x").on("b1")]
    assert moves(pods, [at("a1"), at("b1", pods="1")]) == {}
    assert moves([*pods[:2]], [at("a1"), at("b1", pods="1")]) != {}


def test_pods_of_other_namespaces_move_nobody() -> None:
    """Whoever may create pods there has no say in which pods run here."""
    anywhere = term(HOST, WEB, namespaces=["default", "other"])
    mine = pod("mine").owned_by("ReplicaSet/mine").avoids(100, anywhere).on("a1")
    theirs = pod("theirs", "other").labels(app="web").on("a1")
    about_mine = term(HOST, selector(), namespaces=["default"])
    hostile = pod("hostile", "other").owned_by("ReplicaSet/h").avoids(100, about_mine)
    state = state_of(NODES, [], [mine, theirs, hostile.on("a1")])
    assert [each.pod.key for each in found_in(state)] == []


@pytest.mark.parametrize(("number", "moves_it"), [(MANY_TERMS, True), (MANY_TERMS + 1, False)])
def test_a_pod_with_very_many_terms_stays(number: int, moves_it: bool) -> None:
    """Each is looked up for each pod, with everybody else waiting."""
    raw = web("1").avoids(1, *(term(HOST, selector(app=f"a{each}")) for each in range(number)))
    state = state_of([at("a1"), at("b1")], [], [raw.on("a1"), pod("0").labels(app="a0").on("a1")])
    assert bool(found_in(state)) is moves_it


def test_what_others_prefer_counts_against_a_place() -> None:
    shy = pod("shy", "other").avoids(100, term(HOST, WEB, namespaces=["default"])).on("b1")
    pods = [spread("1", "a1", 10, HOST), spread("2", "a1", 10, HOST)]
    nodes = [at("a1"), at("b1")]
    assert found_in(state_of(nodes, [], pods))
    assert not found_in(state_of(nodes, [], [*pods, shy]))


NEAR_WEB = pod("near").labels(app="near").affinity(term(ZONE, WEB))
LEADS_TO_B = web("p1").prefers_nodes(20, node_term(requirement(HOST, "In", "b1", "a2")))


@pytest.mark.parametrize(
    ("others", "targets"),
    [
        pytest.param([], {"b1", "a2"}, id="nobody"),
        pytest.param([NEAR_WEB.on("a2")], {"a2"}, id="one in its zone"),
        pytest.param([NEAR_WEB.on("c1")], {"b1", "a2"}, id="one in another zone"),
        pytest.param(
            [NEAR_WEB.on("a2"), web("p2").on("a2")], {"b1", "a2"}, id="one, and another is left"
        ),
        pytest.param(
            [NEAR_WEB.on("a2"), web("p2").on("c1")], {"a2"}, id="one, and another is elsewhere"
        ),
        pytest.param(
            [NEAR_WEB.on("a2"), web("p2").on("a2").being_deleted()],
            {"a2"},
            id="one, and another is about to go",
        ),
        pytest.param(
            [NEAR_WEB.on("a2"), web("p2").on("a2"), web("p3").on("a2").being_deleted()],
            {"b1", "a2"},
            id="one, and of two others one is about to go",
        ),
        pytest.param(
            [NEAR_WEB.on("a2"), web("p2").on("a2"), web("p3").on("c1").being_deleted()],
            {"b1", "a2"},
            id="one, and another goes elsewhere",
        ),
        pytest.param(
            [pod("near").affinity(term(HOST, WEB)).on("a1")], set(), id="one on its very node"
        ),
        pytest.param(
            [pod("near").affinity(term(ZONE, selector(app="db"))).on("a2")],
            {"b1", "a2"},
            id="one that has to be near others",
        ),
        pytest.param(
            [pod("near", "other").affinity(term(ZONE, WEB, namespaces=["default"])).on("a2")],
            {"a2"},
            id="one of another namespace",
        ),
        pytest.param(
            [web("p2").affinity(term(ZONE, WEB)).on("a2")], {"b1", "a2"}, id="one near itself"
        ),
    ],
)
def test_no_preference_takes_a_pod_away_from_one_that_has_to_be_near_it(
    others: list[Pod], targets: set[str]
) -> None:
    places = [namespace("default"), namespace("other")]
    state = state_of(NODES, places, [LEADS_TO_B.on("a1"), *others])
    known = state.pods["default/p1"]
    assert set(better_places(state, known, state.nodes.asked(NAMES), 1)) == targets
    found = improvement(state, Chooser(state, AFFINITY), known, 1)
    assert (found is None) is (not targets)
    assert found is None or found.target in targets


TIER = selector(tier="x")
BOTH = LEADS_TO_B.labels(tier="x")


@pytest.mark.parametrize(
    ("others", "targets"),
    [
        pytest.param(
            [web("p2").on("a2"), pod("p3").labels(tier="x").on("a2")],
            {"a2"},
            id="two of which each matches one",
        ),
        pytest.param(
            [web("p2").labels(tier="x").on("a2")], {"b1", "a2"}, id="another that matches both"
        ),
    ],
)
def test_company_for_a_pod_with_several_terms_matches_all_of_them(
    others: list[Pod], targets: set[str]
) -> None:
    near = pod("near").affinity(term(ZONE, WEB), term(ZONE, TIER)).on("a2")
    state = state_of(NODES, [], [BOTH.on("a1"), near, *others])
    known = state.pods["default/p1"]
    assert set(better_places(state, known, state.nodes.asked(NAMES), 1)) == targets


@pytest.mark.parametrize(
    ("place", "targets"),
    [
        pytest.param("a1", set(), id="on its very node"),
        pytest.param("a2", {"a2"}, id="on another node of its zone"),
        pytest.param("b1", {"a2", "b1"}, id="in another zone"),
    ],
)
def test_each_key_of_a_pod_with_several_terms_needs_company_that_matches_all(
    place: str, targets: set[str]
) -> None:
    near = pod("near").affinity(term(HOST, WEB), term(ZONE, TIER)).on(place)
    half = [web("p2").on("a1"), pod("p3").labels(tier="x").on("a2")]
    state = state_of(NODES, [], [BOTH.on("a1"), near, *half])
    known = state.pods["default/p1"]
    assert set(better_places(state, known, state.nodes.asked(NAMES), 1)) == targets


def test_a_pod_that_matches_one_of_several_terms_is_no_company_and_may_go() -> None:
    near = pod("near").affinity(term(ZONE, WEB), term(ZONE, TIER)).on("a2")
    state = state_of(NODES, [], [LEADS_TO_B.on("a1"), near])
    known = state.pods["default/p1"]
    assert set(better_places(state, known, state.nodes.asked(NAMES), 1)) == {"b1", "a2"}


def test_what_is_about_to_be_evicted_is_no_company() -> None:
    """No watch has shown it yet."""
    state = state_of(NODES, [], [LEADS_TO_B.on("a1"), NEAR_WEB.on("a2"), web("p2").on("a2")])
    known, other = state.pods["default/p1"], state.pods["default/p2"]
    chooser = Chooser(state, AFFINITY)

    def found() -> str | None:
        move = improvement(state, chooser, known, 1, [ExpectedPlacement(other, "c1")])
        return None if move is None else move.target

    assert found() == "a2"
    state.upsert_pod(other.with_status(deleting=True))
    assert found() == "a2", "it goes once"
    state.upsert_pod(model_pod(web("p3").on("a1")))
    assert found() in {"a2", "b1"}
    state.remove_pod(other.key, other.uid)
    assert found() in {"a2", "b1"}, "it has gone, and takes no other along"


def test_what_is_marked_to_be_preempted_is_no_company() -> None:
    state = state_of(NODES, [], [LEADS_TO_B.on("a1"), NEAR_WEB.on("a2"), web("p2").on("a2")])
    known, other = state.pods["default/p1"], state.pods["default/p2"]
    asked = state.nodes.asked(NAMES)
    assert set(better_places(state, known, asked, 1)) == {"b1", "a2"}
    state.upsert_pod(other.with_status(victim_of="preemptor"))
    assert set(better_places(state, known, asked, 1)) == {"a2"}
    state.upsert_pod(other.with_status(victim_of="preemptor", deleting=True))
    state.upsert_pod(model_pod(web("p3").on("a1")))
    assert set(better_places(state, known, asked, 1)) == {"b1", "a2"}


@pytest.mark.parametrize("space", ["default", "other"])
def test_a_rule_that_was_edited_after_its_owner_was_placed_keeps_company(space: str) -> None:
    """For other purposes it is nothing to others; it holds for its owner as it runs."""
    near = pod("near", space).labels(app="near").on("a2")
    rule = {"podAffinity": {DURING: [term(ZONE, WEB, namespaces=["default"])]}}
    edited = near.annotated(AFFINITY_ANNOTATION, json.dumps(rule))
    state = state_of(NODES, [], [LEADS_TO_B.on("a1"), near])
    known, asked = state.pods["default/p1"], state.nodes.asked(NAMES)
    assert set(better_places(state, known, asked, 1)) == {"b1", "a2"}
    state.upsert_pod(model_pod(edited))
    assert set(better_places(state, known, asked, 1)) == {"a2"}


@pytest.mark.parametrize("most", ["MOST_TERMS", "MOST_CLASSES", "MOST_OWNERS", "MOST_LOOKED_UP"])
def test_a_pod_that_very_many_have_to_be_near_stays_in_its_domain(
    most: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(leaned_on, most, 1)
    near = [
        pod(f"near{each}").affinity(term(ZONE, selector(app="web", **more))).on("a2")
        for each, more in enumerate(({}, {"tier": "x"}))
    ]
    there = LEADS_TO_B.labels(tier="x").on("a1")
    state = state_of(NODES, [], [there, web("p2").labels(tier="x").on("a2"), *near])
    known = state.pods["default/p1"]
    assert set(better_places(state, known, state.nodes.asked(NAMES), 1)) == {"a2"}


# Against the oracle

KEYS = st.sampled_from([HOST, ZONE])
SPACES = ("default", "other")


@st.composite
def placed_pods(draw: st.DrawFn) -> list[Json]:
    pods: list[Json] = []
    for index in range(draw(st.integers(2, 9))):
        app, space = draw(st.sampled_from(["web", "db"])), draw(st.sampled_from(SPACES))
        made = pod(str(index), space).labels(app=app).owned_by("ReplicaSet/x")
        made = made.on(draw(st.sampled_from(NAMES)))
        for _ in range(draw(st.integers(0, 2))):
            about = selector(app=draw(st.sampled_from(["web", "db"])))
            more: dict[str, Any] = draw(
                st.sampled_from([{}, {}, {"namespaces": [*SPACES]}, {"namespaceSelector": {}}])
            )
            one, weight = term(draw(KEYS), about, **more), draw(st.sampled_from([1, 10, 100]))
            made = draw(st.sampled_from([made.avoids, made.avoids, made.prefers]))(weight, one)
        if draw(st.booleans()):
            made = made.anti_affinity(term(HOST, selector(app=app)))
        if draw(st.integers(0, 3)) == 0:
            made = made.prefers_nodes(
                20, node_term(requirement(ZONE, "In", draw(st.sampled_from("abc"))))
            )
        pods.append(made)
    return pods


def without_terms(raw: Json, *, of_others: bool) -> Json:
    """Leave out all preferred terms, or those that look into other namespaces."""
    kept: dict[str, Any] = {}
    for side, strengths in raw["spec"].get("affinity", {}).items():
        weighted = [
            each
            for each in strengths.get(PREFERRED, ())
            if side == "nodeAffinity"
            or (
                of_others
                and not {"namespaces", "namespaceSelector"} & each["podAffinityTerm"].keys()
            )
        ]
        kept[side] = {**strengths, PREFERRED: weighted}
    return {**raw, "spec": {**raw["spec"], "affinity": kept}}


def reference(pods: Sequence[Json], margin: int) -> Iterator[tuple[str, dict[str, int]]]:
    """Yield each pod with the nodes that would take it and gain it the margin, and how much."""
    args = oracle.Args(hard_pod_affinity_weight=0)
    for raw in pods:
        others = [each for each in pods if each is not raw]
        here = raw["spec"]["nodeName"]
        cluster = oracle.Cluster(NODES, [], others)
        bare = oracle.Cluster(NODES, [], [without_terms(each, of_others=False) for each in others])
        total = oracle.raw_scores(cluster, raw, NAMES, args)
        own = oracle.raw_scores(bare, without_terms(raw, of_others=True), NAMES, args)
        wished = raw_node_scores(cluster, raw, NAMES)
        refused = oracle.refusals(cluster, raw, NAMES, args)
        gains = {
            name: total[name] + wished[name] - total[here] - wished[here]
            for name in NAMES
            if own[name] + wished[name] - own[here] - wished[here] >= margin
            and name not in refused
            and sum(each["spec"]["nodeName"] == name for each in others) < int(ROOM["pods"])
        }
        yield oracle.key_of(raw), {name: gain for name, gain in gains.items() if gain >= margin}


@settings(max_examples=300, deadline=None)
@given(placed_pods(), st.sampled_from([1, 10, 60]))
def test_as_by_the_oracle(pods: list[Json], margin: int) -> None:
    state = state_of(NODES, [], pods)
    chooser = Chooser(state, AFFINITY)
    named = {(id(each.pod.pod_class), each.pod.node) for each in found_in(state, margin)}
    expected = set()
    for key, gains in reference(pods, margin):
        known = state.pods[key]
        found = improvement(state, chooser, known, margin)
        assert (found is None) is (not gains)
        if margin == 1:
            sits = sitting(state, known, [*chooser.takers(known)])
            better = None if found is None else BetterPlace(found.target, found.own, found.total)
            assert better == (None if sits is None else sits.better)
        if found is not None:
            assert found.total == gains[found.target] == max(gains.values())
            expected.add((id(known.pod_class), known.node))
    assert named == expected


@settings(max_examples=100, deadline=None)
@given(placed_pods())
def test_moves_come_to_an_end(pods: list[Json]) -> None:
    """Each move gains, so that no pod goes to and fro."""
    state, raws = state_of(NODES, [], pods), {oracle.key_of(raw): raw for raw in pods}
    for _ in range(200):
        found = found_in(state)
        if not found:
            return
        raw = raws[found[0].pod.key]
        moved = {**raw, "spec": {**raw["spec"], "nodeName": found[0].target}}
        state.upsert_pod(model_pod(moved))
    pytest.fail("still moving")


@pytest.mark.parametrize("seed", range(100))
def test_whatever_joins_leaves_or_moves_between_two_steps_the_search_goes_on(
    seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A KeyError would end the whole round, and with every step that has such luck the next one."""
    monkeypatch.setattr(extender.features.moving.rules.improving, "TAKERS_AT_ONCE", 1)
    monkeypatch.setattr(extender.features.moving.rules.improving, "NODES_AT_ONCE", 1)
    chance = Random(seed)
    placed = [spread(f"p{number}", chance.choice(NAMES)) for number in range(6)]
    state = state_of(NODES, [namespace("default")], placed)
    chooser, made = Chooser(state, AFFINITY), count()

    def happens() -> None:
        name, lot = chance.choice(NAMES), chance.randrange(6)
        if lot == 0:
            state.remove_node(name)
        elif lot == 1:
            state.upsert_node(model_node(at(name)))
        elif lot == 2:
            state.upsert_pod(model_pod(spread(f"p{next(made)}", name)))
        elif lot > 3:
            state.upsert_node(model_node(at(f"{chance.choice('abc')}{next(made)}")))
        elif state.pods:
            gone = state.pods[chance.choice(sorted(state.pods))]
            state.remove_pod(gone.key, gone.uid)

    for each in list(state.placed_classes):
        for found in improvements(state, chooser, each, 1):
            if found is None and chance.random() < 0.6:
                happens()
