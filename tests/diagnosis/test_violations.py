"""Placements that break required rules are found, and no others."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import pytest
from hypothesis import given

from extender.core.cluster.counts.existing_term import Role
from extender.core.cluster.state import ClusterState
from extender.core.model.stepping import at_once
from extender.diagnosis.verbs import violations
from extender.diagnosis.verbs.violations import Violation, Watch, Witnesses, patrol, witnesses
from tests import strategies
from tests.builders import (
    Json,
    Pod,
    model_node,
    model_pod,
    namespace,
    node,
    pod,
    selector,
    state_of,
)
from tests.builders import term as pod_term
from tests.oracle import (
    IN_TREE_DEFAULTS,
    REQUIRED,
    Cluster,
    Term,
    field,
    identity,
    is_counted,
    key_of,
)

HOST, ZONE = "kubernetes.io/hostname", "zone"
WEB, DB = selector(app="web"), selector(app="db")
NODES = [
    node("a1", {HOST: "a1", ZONE: "a"}),
    node("a2", {HOST: "a2", ZONE: "a"}),
    node("b1", {HOST: "b1", ZONE: "b"}),
    node("bare"),
]
SOLO = pod("solo").labels(app="web").anti_affinity(pod_term(ZONE, WEB))
SOLO_2 = pod("solo-2").labels(app="web").anti_affinity(pod_term(ZONE, WEB))
GUARD = pod("guard").anti_affinity(pod_term(ZONE, WEB))
PLAIN = pod("plain").labels(app="web")
NEAR_DB = pod("api").affinity(pod_term(ZONE, DB))
GROUP = pod("group").labels(app="web").affinity(pod_term(ZONE, WEB))
DATABASE = pod("db").labels(app="db")


def found_in(state: ClusterState, entries: int = 1000) -> set[Violation]:
    """Make one round."""
    return set().union(*patrol(state, entries))


def shown(state: ClusterState) -> list[tuple[str, str, str | None, str, str | None]]:
    """Return role, topology key and domain of each violation, and the pods that show it."""
    found = []
    for violation in found_in(state):
        seen = witnesses(state, violation)
        assert seen is not None
        key = violation.term.topology_key
        found.append((violation.role.value, key, violation.domain, seen.owner, seen.other))
    return sorted(found, key=str)


@pytest.mark.parametrize(
    ("pods", "expected"),
    [
        pytest.param([SOLO.on("a1")], [], id="a pod does not violate against itself"),
        pytest.param([SOLO.on("a1"), SOLO_2.on("b1")], [], id="in two zones"),
        pytest.param(
            [GUARD.on("a1"), PLAIN.on("a2")],
            [("requiredAnti", ZONE, "a", "default/guard", "default/plain")],
            id="a pod that another one repels",
        ),
        pytest.param([GUARD.on("a1"), PLAIN.on("bare")], [], id="a node that is in no zone"),
        pytest.param([GUARD.on("bare"), PLAIN.on("bare")], [], id="both in no zone"),
        pytest.param([GUARD.on("lost"), PLAIN.on("lost")], [], id="on a node that nobody knows"),
        pytest.param(
            [GUARD.on("a1"), PLAIN.on("a2").phase("Succeeded")], [], id="a pod that has ended"
        ),
        pytest.param(
            [GUARD.on("a1"), PLAIN.on("a2").being_deleted()],
            [("requiredAnti", ZONE, "a", "default/guard", "default/plain")],
            id="a pod counts until it is gone",
        ),
        pytest.param([NEAR_DB.on("a1"), DATABASE.on("a2")], [], id="company in the zone"),
        pytest.param(
            [NEAR_DB.on("a1"), DATABASE.on("b1")],
            [("required", ZONE, "a", "default/api", None)],
            id="company in another zone",
        ),
        pytest.param(
            [NEAR_DB.on("bare"), DATABASE.on("a1")],
            [("required", ZONE, None, "default/api", None)],
            id="required affinity on a node that is in no zone",
        ),
        pytest.param([NEAR_DB.on("lost")], [], id="what is there on an unknown node, who knows"),
        pytest.param([GROUP.on("a1")], [], id="the first pod of a group"),
        pytest.param(
            [GROUP.on("a1"), PLAIN.on("b1")], [], id="a first pod, and one that came later"
        ),
        pytest.param(
            [GROUP.on("bare")],
            [("required", ZONE, None, "default/group", None)],
            id="no group starts where there is no zone",
        ),
        pytest.param(
            [
                pod("api").affinity(pod_term(ZONE, DB), pod_term(ZONE, WEB)).on("a1"),
                DATABASE.on("a1"),
                PLAIN.on("a1"),
            ],
            [("required", ZONE, "a", "default/api", None)] * 2,
            id="two terms are met by one pod or not at all",
        ),
        pytest.param(
            [
                SOLO.on("a1"),
                pod("far", "red")
                .labels(app="web")
                .anti_affinity(pod_term(HOST, WEB, namespaceSelector={}))
                .on("a1"),
            ],
            [("requiredAnti", HOST, "a1", "red/far", "default/solo")],
            id="a term that looks into other namespaces",
        ),
    ],
)
def test_a_placement_is_judged(pods: list[Json], expected: list[Any]) -> None:
    assert shown(state_of(NODES, [namespace("red")], pods)) == expected


def test_two_of_a_kind_are_in_each_others_way() -> None:
    state = state_of(NODES, [], [SOLO.on("a1"), SOLO_2.on("a2")])
    (violation,) = found_in(state)
    seen = witnesses(state, violation)
    assert seen is not None
    assert {seen.owner, seen.other} == {"default/solo", "default/solo-2"}


def test_a_reserved_place_counts() -> None:
    state = state_of(NODES, [], [GUARD.on("a1")])
    state.reserve(model_pod(PLAIN), "a2", deadline=1.0)
    assert shown(state) == [("requiredAnti", ZONE, "a", "default/guard", "default/plain")]


def test_a_pod_that_may_be_in_either_of_two_places_is_one_pod() -> None:
    state = state_of(NODES, [], [])
    for name in ("a1", "a2"):
        state.reserve(model_pod(SOLO), name, deadline=1.0)
    assert list(Watch(state).take(found_in(state))) == [None]


def test_a_round_goes_on_while_the_state_changes() -> None:
    state = state_of(NODES, [], [GUARD.on("a1"), PLAIN.on("a2"), DATABASE.on("b1")])
    steps = patrol(state, entries=1)
    next(steps)
    state.remove_pod("default/plain", "default-plain")
    state.remove_node("a1")
    assert set().union(*steps) == set()


def test_callbacks_have_the_first_claim_on_counted_sets() -> None:
    state = ClusterState(most_matching_sets=3)
    for raw in NODES:
        state.upsert_node(model_node(raw))
    for raw in (NEAR_DB.on("a1"), pod("other").affinity(pod_term(ZONE, WEB)).on("a1")):
        state.upsert_pod(model_pod(raw))
    assert len(found_in(state)) == 1
    assert len(state.matching_sets) == 1


def test_a_violation_is_news_once_and_again_after_its_end() -> None:
    state = state_of(NODES, [], [GUARD.on("a1"), PLAIN.on("a2")])
    watch = Watch(state)
    ((violation, seen),) = filter(None, watch.take(found_in(state)))
    assert seen == Witnesses("default/guard", "default/plain")
    assert list(watch.take(found_in(state))) == []
    assert (watch.count(Role.REQUIRED_ANTI), watch.count(Role.REQUIRED)) == (1, 0)

    assert list(watch.drop_ended(found_in(state))) == []
    assert list(watch.drop_ended(set())) == [None], "missed by a round, but still there"
    state.remove_pod("default/plain", "default-plain")
    assert list(watch.drop_ended(found_in(state))) == [(violation, seen)]
    assert watch.count(Role.REQUIRED_ANTI) == 0

    state.upsert_pod(model_pod(PLAIN.on("a1")))
    assert list(filter(None, watch.take(found_in(state)))) == [(violation, seen)]


@pytest.mark.parametrize(
    ("gone", "happens"),
    [
        pytest.param(
            "solo", lambda state: state.remove_pod("default/solo", "default-solo"), id="one goes"
        ),
        pytest.param(
            "solo-2",
            lambda state: state.remove_pod("default/solo-2", "default-solo-2"),
            id="the other goes",
        ),
        pytest.param(
            "solo-2",
            lambda state: state.upsert_node(model_node(node("a2", {ZONE: "c"}))),
            id="its node comes to another domain",
        ),
        pytest.param("solo-2", lambda state: state.remove_node("a2"), id="its node goes"),
    ],
)
def test_while_a_rule_stays_broken_it_is_shown_by_pods_that_are_there(
    gone: str, happens: Callable[[ClusterState], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(violations, "MOST_KNOWN", 1)  # What is known may be renewed all the same.
    solo_3 = pod("solo-3").labels(app="web").anti_affinity(pod_term(ZONE, WEB))
    state = state_of(NODES, [], [SOLO.on("a1"), SOLO_2.on("a2")])
    watch = Watch(state)
    ((violation, _),) = filter(None, watch.take(found_in(state)))
    state.upsert_pod(model_pod(solo_3.on("a1")))
    happens(state)
    assert list(watch.take(found_in(state))) == [None], "it is no news"
    seen = watch.known[violation]
    left = {"default/solo", "default/solo-2", "default/solo-3"} - {f"default/{gone}"}
    assert {seen.owner, seen.other} == left
    assert list(watch.take(found_in(state))) == []


MANY = {f"label-{number}": "x" for number in range(20)}
LONELY = [pod("crowd", "crowd").affinity(*(pod_term(ZONE, selector(**{key: "x"})) for key in MANY))]
TOO_CLOSE = [
    pod("many", "crowd").labels(**MANY),
    pod("crowd", "crowd").anti_affinity(*(pod_term(ZONE, selector(**{key: "x"})) for key in MANY)),
]


@pytest.mark.parametrize(
    "pods", [pytest.param(LONELY, id="affinity"), pytest.param(TOO_CLOSE, id="anti-affinity")]
)
def test_one_namespace_does_not_take_all_room_for_what_is_known(
    pods: Sequence[Pod], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(violations, "MOST_KNOWN", 10)
    state = state_of(NODES, [], [each.on("a1") for each in pods])
    watch = Watch(state)
    assert len(list(watch.take(found_in(state)))) == 5, "half of all room"
    for name in ("web", "api"):
        state.upsert_pod(model_pod(pod(name, name).affinity(pod_term(ZONE, DB)).on("a1")))
    assert len(list(watch.take(found_in(state)))) == 2
    assert {each.owner for each in watch.known.values()} == {"crowd/crowd", "web/web", "api/api"}
    for each in pods:
        state.remove_pod(f"crowd/{each['metadata']['name']}", f"crowd-{each['metadata']['name']}")
    assert len(list(watch.drop_ended(found_in(state)))) == 5
    for each in pods:
        state.upsert_pod(model_pod(each.on("a1")))
    list(watch.take(found_in(state)))
    assert len(watch.known) == 6, "as many again as are left free"


@pytest.mark.parametrize(
    ("happens", "shown"),
    [
        pytest.param(lambda _: None, True, id="nothing"),
        pytest.param(lambda state: state.expire(2.0), False, id="its place is given up"),
        pytest.param(
            lambda state: state.upsert_pod(model_pod(SOLO.on("a1"))), True, id="it is bound there"
        ),
        pytest.param(
            lambda state: state.upsert_pod(model_pod(SOLO.on("b1"))),
            True,
            id="it is bound elsewhere",
        ),
        pytest.param(
            lambda state: state.upsert_pod(model_pod(SOLO.phase("Failed"))), False, id="it ends"
        ),
    ],
)
def test_a_pod_that_a_step_has_found_is_looked_for_again_in_the_next(
    happens: Callable[[ClusterState], object], monkeypatch: pytest.MonkeyPatch, *, shown: bool
) -> None:
    monkeypatch.setattr(violations, "STEP_PODS", 1)
    state = state_of(NODES, [], [SOLO_2.on("a2")])
    state.reserve(model_pod(SOLO), "a1", deadline=1.0)
    (violation,) = found_in(state)
    seeking = violations._seeking(state, violation)
    next(seeking)
    happens(state)
    assert (at_once(seeking) is not None) is shown


def test_a_step_looks_at_no_more_pairs_than_it_may() -> None:
    nodes = [node(f"n{number}", {HOST: f"n{number}"}) for number in range(10)]
    apart = [pod_term(HOST, selector(app=f"x{number}")) for number in range(5)]
    pods = [
        pod(f"p{kind}-{each}").labels(app=f"x{kind}").anti_affinity(term).on(f"n{each}")
        for kind, term in enumerate(apart)
        for each in range(10)
    ]
    state = state_of(nodes, [], pods)
    assert len(list(patrol(state, entries=5))) > len(list(patrol(state, entries=50))) > 1


def test_a_pod_that_lacks_a_match_is_looked_for_where_it_was_seen(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(violations, "STEP_PODS", 1)
    nodes = [node(f"n{each}", {ZONE: "z"}) for each in range(50)]
    others = [pod(f"p{each}").on(f"n{each}") for each in range(49)]
    state = state_of(nodes, [], [*others, NEAR_DB.on("n49")])
    (first, *_) = Watch(state).take(found_in(state))
    assert first is not None, "no other node's pods come before"
    assert first[1] == Witnesses("default/api")


def test_a_changed_label_of_a_node_can_end_one() -> None:
    state = state_of(NODES, [], [GUARD.on("a1"), PLAIN.on("a2")])
    watch = Watch(state)
    assert len(list(watch.take(found_in(state)))) == 1
    state.upsert_node(model_node(node("a2", {ZONE: "c"})))
    assert len(list(watch.drop_ended(found_in(state)))) == 1


Pair = tuple[str, str | None]


def naive(cluster: Cluster) -> Iterator[tuple[Violation, Pair]]:
    """Compare every pod with every other, on the objects as they are."""
    placed = [raw for raw in cluster.pods if is_counted(cluster, raw)]
    for owner in placed:
        others = [raw for raw in placed if identity(raw) != identity(owner)]
        affinity = model_pod(owner).pod_class.affinity
        terms = list(_terms(cluster, owner, "podAntiAffinity"))
        for term, model in zip(terms, affinity.required_anti, strict=True):
            domain = _domain(cluster, owner, term.key)
            for other in filter(term.matches, others):
                if domain is not None and domain == _domain(cluster, other, term.key):
                    yield Violation(Role.REQUIRED_ANTI, model, domain), _pair(owner, other)
        terms = list(_terms(cluster, owner, "podAffinity"))
        company = [raw for raw in others if all(term.matches(raw) for term in terms)]
        first = all(term.matches(owner) for term in terms)
        for term, model in zip(terms, affinity.required, strict=True):
            domain = _domain(cluster, owner, term.key)
            near = any(domain == _domain(cluster, raw, term.key) for raw in company)
            if domain is None or not (first or near):
                yield Violation(Role.REQUIRED, model, domain), _pair(owner, None)


def _terms(cluster: Cluster, owner: Json, side: str) -> Iterator[Term]:
    rules = field(field(owner["spec"], "affinity", {}), side, {})
    for raw in field(rules, REQUIRED, ()):
        yield Term(cluster, owner, raw, IN_TREE_DEFAULTS)


def _domain(cluster: Cluster, placed: Json, key: str) -> str | None:
    labels = cluster.node_labels(placed["spec"]["nodeName"])
    assert labels is not None
    return labels.get(key)


def _pair(owner: Json, other: Json | None) -> Pair:
    return key_of(owner), None if other is None else key_of(other)


@pytest.mark.thorough
@given(cluster=strategies.clusters(most_pods=14))
def test_every_violation_is_found_and_nothing_else(cluster: Cluster) -> None:
    state = state_of(cluster.nodes, cluster.namespaces, cluster.pods)
    expected: dict[Violation, set[Pair]] = {}
    for violation, pair in naive(cluster):
        expected.setdefault(violation, set()).add(pair)
    assert found_in(state, entries=2) == expected.keys()
    for violation, pairs in expected.items():
        seen = witnesses(state, violation)
        assert seen is not None
        assert (seen.owner, seen.other) in pairs
