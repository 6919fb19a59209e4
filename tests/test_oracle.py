"""The oracle against Kubernetes' own answers, and where those are silent, against the documents."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import pytest

from tests import node_oracle, oracle
from tests.builders import HOST, ZONE, Json, namespace, node, pod, requirement, selector, term
from tests.conformance.cases import Case, Question, load_cases

NODES = (
    node("n1", {ZONE: "z1", HOST: "n1"}),
    node("n2", {ZONE: "z1", HOST: "n2"}),
    node("n3", {ZONE: "z2", HOST: "n3"}),
    node("bare", {}),
)
NAMES = ("n1", "n2", "n3", "bare")


def cluster(*pods: Json, namespaces: Sequence[Json] = ()) -> oracle.Cluster:
    return oracle.Cluster(NODES, namespaces, pods)


def sparse(scores: Mapping[str, int]) -> dict[str, int]:
    return {name: score for name, score in scores.items() if score}


def answer(
    question: Question,
    refused: Mapping[str, oracle.Refusal],
    raw: Mapping[str, int],
    names: Sequence[str],
    normalised: Callable[[Mapping[str, int]], Mapping[str, int]],
) -> Json:
    """Return what an oracle found in the form in which Kubernetes' answers are kept."""
    feasible = {name: raw[name] for name in question.feasible(names)}
    return {
        "refused": {n: {"code": r.code, "reason": r.reason} for n, r in refused.items()},
        "raw": sparse(raw),
        "score": sparse(normalised(raw)),
        "scoreFeasible": sparse(normalised(feasible)),
    }


@pytest.mark.thorough
@pytest.mark.parametrize("case", [pytest.param(case, id=case.id) for case in load_cases()])
def test_agrees_with_kubernetes(case: Case) -> None:
    picture, args = oracle.Cluster.from_json(case.cluster), oracle.Args.from_json(case.args)
    for question in case.questions:
        raw = oracle.raw_scores(picture, question.pod, case.node_names, args)
        refused = oracle.refusals(picture, question.pod, case.node_names, args)
        actual = answer(question, refused, raw, case.node_names, oracle.normalised)
        assert actual == question.expected["interPodAffinity"], question.id


@pytest.mark.parametrize("case", [pytest.param(case, id=case.id) for case in load_cases()])
def test_agrees_with_kubernetes_about_nodes(case: Case) -> None:
    picture, added = oracle.Cluster.from_json(case.cluster), case.args.get("addedAffinity")
    for question in case.questions:
        raw = node_oracle.raw_node_scores(picture, question.pod, case.node_names, added)
        refused = node_oracle.node_refusals(picture, question.pod, case.node_names, added)
        actual = answer(question, refused, raw, case.node_names, node_oracle.shares)
        assert actual == question.expected["nodeAffinity"], question.id


def test_a_node_nobody_knows_is_refused() -> None:
    assert oracle.refusals(cluster(), pod("p"), ["n1", "n9"]) == {"n9": oracle.UNKNOWN_NODE}


@pytest.mark.parametrize(
    ("term_fields", "matched"),
    [
        pytest.param({}, False, id="no selector matches nothing"),
        pytest.param({"labelSelector": {}}, True, id="an empty selector matches everything"),
        pytest.param(
            {"labelSelector": selector(requirement("absent", "NotIn", "x"))},
            True,
            id="NotIn matches a missing key",
        ),
        pytest.param(
            {"labelSelector": {}, "namespaces": ["elsewhere"]},
            False,
            id="a list of namespaces leaves the owner's own out",
        ),
        pytest.param(
            {"labelSelector": {}, "namespaceSelector": {}},
            True,
            id="an empty namespace selector takes in namespaces nobody knows",
        ),
        pytest.param(
            {
                "labelSelector": {},
                "namespaceSelector": selector(requirement("team", "DoesNotExist")),
            },
            True,
            id="a namespace nobody knows has no labels",
        ),
        pytest.param(
            {"labelSelector": {}, "namespaces": ["x"], "namespaceSelector": selector(team="red")},
            False,
            id="neither the list nor the selector of namespaces takes the pod in",
        ),
        pytest.param(
            {"matchLabelKeys": ["app"]}, False, id="label keys without a selector add nothing"
        ),
        pytest.param(
            {"labelSelector": {}, "matchLabelKeys": ["app"]},
            False,
            id="a label key asks for the owner's value",
        ),
        pytest.param(
            {"labelSelector": {}, "mismatchLabelKeys": ["app"]},
            True,
            id="a mismatch key asks for any other value",
        ),
        pytest.param(
            {"labelSelector": {}, "matchLabelKeys": ["absent"]},
            True,
            id="a label key that the owner lacks is skipped",
        ),
        pytest.param(
            {"labelSelector": selector(requirement("app", "In", "db")), "matchLabelKeys": ["app"]},
            True,
            id="a key already merged is not merged again after the owner's label changed",
        ),
    ],
)
def test_a_term_matches_a_pod(term_fields: dict[str, Any], *, matched: bool) -> None:
    existing = pod("db").labels(app="db").on("n1")
    incoming = pod("web").labels(app="web").anti_affinity({"topologyKey": HOST, **term_fields})
    refused = oracle.refusals(cluster(existing), incoming, ["n1"])
    assert refused == ({"n1": oracle.ANTI_AFFINITY} if matched else {})


def test_label_keys_are_ignored_when_their_gate_is_off() -> None:
    existing = pod("db").labels(app="db").on("n1")
    rule = term(HOST, selector(), matchLabelKeys=["app"])
    incoming = pod("web").labels(app="web").anti_affinity(rule)
    args = oracle.Args(match_label_keys=False)
    assert oracle.refusals(cluster(existing), incoming, ["n1"], args) == {
        "n1": oracle.ANTI_AFFINITY
    }


def test_a_namespace_selector_is_ignored_when_its_gate_is_off() -> None:
    there = [pod("db", namespace).labels(app="db").on("n1") for namespace in ("red", "default")]
    rule = term(HOST, selector(app="db"), namespaceSelector={})
    args = oracle.Args(namespace_selector=False)
    incoming = pod("web").anti_affinity(rule)
    assert oracle.refusals(cluster(there[0]), incoming, ["n1"], args) == {}
    assert oracle.refusals(cluster(there[1]), incoming, ["n1"], args) == {
        "n1": oracle.ANTI_AFFINITY
    }


@pytest.mark.parametrize(
    ("existing", "counts"),
    [
        pytest.param(pod("x").labels(app="a").on("n1"), True, id="running"),
        pytest.param(pod("x").labels(app="a").on("n1").being_deleted(), True, id="being deleted"),
        pytest.param(pod("x").labels(app="a").on("n1").phase("Pending"), True, id="starting"),
        pytest.param(pod("x").labels(app="a").on("n1").phase("Succeeded"), False, id="succeeded"),
        pytest.param(pod("x").labels(app="a").on("n1").phase("Failed"), False, id="failed"),
        pytest.param(pod("x").labels(app="a"), False, id="not bound"),
        pytest.param(pod("x").labels(app="a").on("gone"), False, id="on a node nobody knows"),
        pytest.param(pod("new").labels(app="a").on("n1"), False, id="the pod itself"),
        pytest.param(
            pod("new").uid("older").labels(app="a").on("n1"), True, id="an older pod of its name"
        ),
    ],
)
def test_a_pod_counts(existing: Json, *, counts: bool) -> None:
    incoming = pod("new").labels(app="a").anti_affinity(term(HOST, selector(app="a")))
    assert bool(oracle.refusals(cluster(existing), incoming, ["n1"])) == counts


def test_the_first_cause_in_the_schedulers_order_wins() -> None:
    repelling = pod("x").labels(app="a").on("n1").anti_affinity(term(HOST, selector(app="b")))
    incoming = pod("new").labels(app="b").anti_affinity(term(HOST, selector(app="a")))
    lonely = incoming.affinity(term(HOST, selector(app="none")))
    picture = cluster(repelling)
    assert oracle.refusals(picture, lonely, ["n1"]) == {"n1": oracle.AFFINITY}
    assert oracle.refusals(picture, incoming, ["n1"]) == {"n1": oracle.ANTI_AFFINITY}
    assert oracle.refusals(picture, pod("new").labels(app="b"), ["n1"]) == {
        "n1": oracle.EXISTING_ANTI_AFFINITY
    }


@pytest.mark.parametrize(
    ("existing", "fits"),
    [
        pytest.param((), ["n1", "n2", "n3"], id="the first of its group, where the key exists"),
        pytest.param(
            (pod("a").labels(app="a").on("bare"),),
            ["n1", "n2", "n3"],
            id="a match on a node without the keys is no match anywhere",
        ),
        pytest.param(
            (pod("a").labels(app="a").on("n1"),), ["n1", "n2"], id="with its group, in its zone"
        ),
    ],
)
def test_a_pod_that_wants_its_own_kind(existing: tuple[Json, ...], fits: list[str]) -> None:
    incoming = pod("new").labels(app="a").affinity(term(ZONE, selector(app="a")))
    refused = oracle.refusals(cluster(*existing), incoming, NAMES)
    assert [name for name in NAMES if name not in refused] == fits


def test_one_pod_must_match_all_affinity_terms() -> None:
    halves = (pod("x").labels(app="a").on("n1"), pod("y").labels(tier="t").on("n1"))
    whole = pod("z").labels(app="a", tier="t").on("n3")
    incoming = pod("new").affinity(term(HOST, selector(app="a")), term(HOST, selector(tier="t")))
    assert set(oracle.refusals(cluster(*halves), incoming, NAMES)) == set(NAMES)
    assert "n3" not in oracle.refusals(cluster(*halves, whole), incoming, NAMES)


def test_scores_add_up_both_ways() -> None:
    attracted = pod("x").on("n1").prefers(7, term(ZONE, selector(app="a")))
    bound_to = pod("y").on("n3").affinity(term(HOST, selector(app="a")))
    disliked = pod("z").labels(app="z").on("n2")
    incoming = pod("new").labels(app="a").avoids(3, term(HOST, selector(app="z")))
    args = oracle.Args(hard_pod_affinity_weight=5)
    picture = cluster(attracted, bound_to, disliked)
    raw = oracle.raw_scores(picture, incoming, NAMES, args)
    assert raw == {"n1": 7, "n2": 4, "n3": 5, "bare": 0}
    assert oracle.normalised(raw) == {"n1": 100, "n2": 57, "n3": 71, "bare": 0}


def test_preferences_of_existing_pods_can_be_ignored_by_pods_without_any() -> None:
    attracted = pod("x").on("n1").prefers(7, term(ZONE, selector(app="a")))
    args = oracle.Args(ignore_preferred_terms_of_existing_pods=True)
    plain = pod("new").labels(app="a")
    choosy = plain.avoids(1, term(ZONE, selector(app="none")))
    assert sparse(oracle.raw_scores(cluster(attracted), plain, NAMES, args)) == {}
    assert sparse(oracle.raw_scores(cluster(attracted), choosy, NAMES, args)) == {"n1": 7, "n2": 7}


def test_equal_scores_are_flat() -> None:
    assert oracle.normalised({"n1": -4, "n2": -4}) == {"n1": 0, "n2": 0}
    assert oracle.normalised({}) == {}


def test_a_namespace_selector_reads_the_namespace_of_the_pod_it_judges() -> None:
    teams = (namespace("red", {"team": "red"}), namespace("blue", {"team": "blue"}))
    existing = pod("x", "blue").on("n1")
    towards_red = term(HOST, selector(), namespaceSelector=selector(team="red"))
    towards_blue = term(HOST, selector(), namespaceSelector=selector(team="blue"))
    picture = cluster(existing, namespaces=teams)
    assert oracle.refusals(picture, pod("new", "red").anti_affinity(towards_red), ["n1"]) == {}
    assert oracle.refusals(picture, pod("new", "red").anti_affinity(towards_blue), ["n1"]) == {
        "n1": oracle.ANTI_AFFINITY
    }
