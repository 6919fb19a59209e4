"""Which nodes are refused, and with which words."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
import pytest

from extender.core.model.verdict import Reason
from extender.core.verbs.filtering import concerned
from extender.core.verbs.inter_pod_affinity import InterPodAffinity
from extender.core.wire.objects import NodeReader
from tests.builders import (
    HOST,
    ZONE,
    Json,
    model_pod,
    namespace,
    node,
    pod,
    requirement,
    selector,
    state_of,
    term,
)
from tests.verbs.judging import AFFINITY, actual_refusals

NODES = [
    node("a1", {HOST: "a1", ZONE: "a"}),
    node("a2", {HOST: "a2", ZONE: "a"}),
    node("b1", {HOST: "b1", ZONE: "b"}),
    node("bare"),
]
NAMES = ["b1", "bare", "a2", "a1"]
NAMESPACES = [namespace("default"), namespace("red", {"team": "red"})]

WEB, DB = selector(app="web"), selector(app="db")
INCOMING = pod("new").labels(app="web")


def refusals(pods: Sequence[Json], incoming: Json) -> dict[str, Reason]:
    """Ask about every node."""
    state = state_of(NODES, NAMESPACES, pods)
    return {name: Reason(text) for name, text in actual_refusals(state, incoming, NAMES).items()}


@pytest.mark.parametrize(
    ("pods", "incoming", "expected"),
    [
        pytest.param(
            [pod("db").labels(app="db").on("a1")], INCOMING, {}, id="no rules, no refusal"
        ),
        pytest.param(
            [pod("db").labels(app="db").on("a1")],
            INCOMING.affinity(term(ZONE, DB)),
            {"b1": Reason.AFFINITY, "bare": Reason.AFFINITY},
            id="required affinity wants the zone, and a node that has one",
        ),
        pytest.param(
            [],
            INCOMING.affinity(term(ZONE, WEB)),
            {"bare": Reason.AFFINITY},
            id="the first of a group may start it on any node with the key",
        ),
        pytest.param(
            [],
            INCOMING.affinity(term(ZONE, DB)),
            dict.fromkeys(NAMES, Reason.AFFINITY),
            id="a pod that does not match itself cannot start a group",
        ),
        pytest.param(
            [pod("web").labels(app="web").on("bare")],
            INCOMING.affinity(term(ZONE, WEB)),
            {"bare": Reason.AFFINITY},
            id="a match outside all domains leaves the group unstarted",
        ),
        pytest.param(
            [pod("x").labels(app="db").on("a1"), pod("y").labels(app="web").on("b1")],
            INCOMING.affinity(term(ZONE, DB), term(ZONE, WEB)),
            dict.fromkeys(NAMES, Reason.AFFINITY),
            id="one pod has to match all required terms",
        ),
        pytest.param(
            [pod("db").labels(app="db").on("a1")],
            INCOMING.anti_affinity(term(HOST, DB)),
            {"a1": Reason.ANTI_AFFINITY},
            id="own anti-affinity refuses the domain, not nodes without the key",
        ),
        pytest.param(
            [pod("db").anti_affinity(term(ZONE, WEB)).on("a1")],
            INCOMING,
            dict.fromkeys(["a1", "a2"], Reason.EXISTING_ANTI_AFFINITY),
            id="an existing pod's anti-affinity refuses its domain",
        ),
        pytest.param(
            [pod("db", "red").anti_affinity(term(ZONE, WEB)).on("a1")],
            INCOMING,
            {},
            id="a term speaks of its owner's namespace alone",
        ),
        pytest.param(
            [pod("db").anti_affinity(term(ZONE, WEB, namespaceSelector={})).on("a1")],
            pod("new", "red").labels(app="web"),
            dict.fromkeys(["a1", "a2"], Reason.EXISTING_ANTI_AFFINITY),
            id="an empty namespace selector speaks of all namespaces",
        ),
        pytest.param(
            [pod("db").labels(app="db").anti_affinity(term(ZONE, WEB)).on("a1")],
            INCOMING.affinity(term(ZONE, WEB)).anti_affinity(term(HOST, DB)),
            {
                "bare": Reason.AFFINITY,
                "a1": Reason.ANTI_AFFINITY,
                "a2": Reason.EXISTING_ANTI_AFFINITY,
            },
            id="the first reason in the scheduler's order wins",
        ),
        pytest.param(
            [INCOMING.anti_affinity(term(ZONE, WEB)).on("a1")],
            INCOMING.anti_affinity(term(ZONE, WEB)),
            {},
            id="a pod that is placed already is not its own neighbour",
        ),
        pytest.param(
            [
                pod("one").anti_affinity(term(HOST, WEB)).on("a1"),
                pod("two").anti_affinity(term(HOST, selector())).on("b1"),
            ],
            INCOMING,
            dict.fromkeys(["a1", "b1"], Reason.EXISTING_ANTI_AFFINITY),
            id="several existing terms over one key are united",
        ),
    ],
)
def test_refusals(pods: list[Json], incoming: Json, expected: dict[str, Reason]) -> None:
    assert refusals(pods, incoming) == expected


AWAY = pod("db").labels(app="db").anti_affinity(term(HOST, WEB))


@pytest.mark.parametrize(
    ("pods", "incoming", "expected"),
    [
        pytest.param([pod("web").labels(app="web").on("a1")], INCOMING, False, id="no rules"),
        pytest.param([], INCOMING.prefers(1, term(ZONE, WEB)), False, id="preferences alone"),
        pytest.param([AWAY.on("a1")], pod("new"), False, id="rules about others"),
        pytest.param([AWAY.on("a1")], INCOMING, True, id="a rule of a placed pod"),
        pytest.param([], INCOMING.anti_affinity(term(ZONE, WEB)), True, id="a rule of its own"),
        pytest.param([AWAY.nominated("a1")], INCOMING, True, id="a nominated pod has the rule"),
    ],
)
def test_nodes_are_looked_up_where_a_rule_may_refuse_any(
    pods: list[Json], incoming: Json, expected: bool
) -> None:
    state = state_of(NODES, NAMESPACES, pods)
    assert concerned(state, model_pod(incoming), AFFINITY) is expected


def test_a_node_that_nobody_knows_is_refused_as_such() -> None:
    state = state_of(NODES, NAMESPACES, [])
    refused = actual_refusals(state, INCOMING, ["stranger", "a1", "other"])
    assert refused == dict.fromkeys(["stranger", "other"], Reason.UNKNOWN_NODE.value)


def test_no_nodes_no_verdicts() -> None:
    assert actual_refusals(state_of(NODES, [], []), INCOMING.affinity(term(ZONE, DB)), []) == {}


RACK = "rack"
RACKS = [
    node("racked", {ZONE: "a", RACK: "r1"}),
    node("other", {ZONE: "a", RACK: "r2"}),
    node("half", {ZONE: "a"}),
    node("none"),
]


@pytest.mark.parametrize(
    ("on", "expected"),
    [
        pytest.param(
            "half",
            ["half", "none", "other", "racked"],
            id="who is near by one of two keys has started the group: no rack is the first one",
        ),
        pytest.param(
            "racked", ["half", "none", "other"], id="who is near by both is the one to be with"
        ),
        pytest.param("none", ["half", "none"], id="who is near by neither has not started it"),
    ],
)
def test_the_first_of_a_group_by_two_keys(on: str, expected: list[str]) -> None:
    state = state_of(RACKS, NAMESPACES, [pod("web").labels(app="web").on(on)])
    incoming = INCOMING.affinity(term(ZONE, WEB), term(RACK, WEB))
    names = [each["metadata"]["name"] for each in RACKS]
    refused = actual_refusals(state, incoming, names)
    assert refused == dict.fromkeys(expected, Reason.AFFINITY.value)


def test_a_hostname_is_another_than_the_name_of_the_node() -> None:
    nodes = [node("n1", {HOST: "n1"}), node("n2", {HOST: "two.example"}), node("n3", {HOST: "n3"})]
    state = state_of(nodes, NAMESPACES, [pod("db").labels(app="db").on("n2")])
    incoming, names = INCOMING.anti_affinity(term(HOST, DB)), ["n1", "n2", "n3"]
    assert actual_refusals(state, incoming, names) == {"n2": Reason.ANTI_AFFINITY.value}


def test_a_hostname_comes_to_be_another_one_and_the_name_again() -> None:
    state = state_of([node("n1", {HOST: "n1"}), node("n2", {HOST: "n2"})], NAMESPACES, [
        pod("db").labels(app="db").on("n2")
    ])  # fmt: skip
    incoming, names = INCOMING.anti_affinity(term(HOST, DB)), ["n1", "n2"]
    for host, refused in (("n2", ["n2"]), ("n1", ["n1", "n2"]), ("x", ["n2"]), ("n2", ["n2"])):
        state.upsert_node(NodeReader().read(msgspec.json.encode(node("n2", {HOST: host}))))
        expected = dict.fromkeys(refused, Reason.ANTI_AFFINITY.value)
        assert actual_refusals(state, incoming, names) == expected, host


def test_nodes_come_to_have_a_key_that_none_had() -> None:
    state = state_of([node("n1"), node("n2"), node("n3")], NAMESPACES, [
        pod("db").labels(app="db").on("n2")
    ])  # fmt: skip
    incoming, names = INCOMING.anti_affinity(term(RACK, DB)), ["n1", "n2", "n3"]
    assert actual_refusals(state, incoming, names) == {}
    for name in ("n1", "n2"):
        state.upsert_node(NodeReader().read(msgspec.json.encode(node(name, {RACK: "r1"}))))
    refused = actual_refusals(state, incoming, names)
    assert refused == dict.fromkeys(["n1", "n2"], Reason.ANTI_AFFINITY.value)


@pytest.mark.parametrize(
    ("chosen", "refused"),
    [
        pytest.param({}, True, id="an empty selector, all of them"),
        pytest.param(selector(requirement("team", "DoesNotExist")), True, id="the lack of a label"),
        pytest.param(selector(requirement("team", "NotIn", "red")), True, id="no such value"),
        pytest.param(selector(team="red"), False, id="a label"),
    ],
)
def test_a_namespace_that_nobody_knows_has_no_labels(
    chosen: Json,
    refused: bool,
) -> None:
    there = pod("db", "unknown").labels(app="db").on("a1")
    found = refusals([there], INCOMING.anti_affinity(term(HOST, DB, namespaceSelector=chosen)))
    assert found == ({"a1": Reason.ANTI_AFFINITY} if refused else {})


@pytest.mark.parametrize(
    ("labels", "refused"),
    [
        pytest.param({"app": "web"}, False, id="the value that is refused"),
        pytest.param({"app": "db"}, True, id="another value"),
        pytest.param({}, True, id="without the label"),
    ],
)
def test_own_anti_affinity_by_what_labels_are_not(
    labels: dict[str, str],
    refused: bool,
) -> None:
    others = term(HOST, selector(requirement("app", "NotIn", "web")))
    found = refusals([pod("there").labels(labels).on("a1")], INCOMING.anti_affinity(others))
    assert found == ({"a1": Reason.ANTI_AFFINITY} if refused else {})


def test_a_pod_that_lacks_another_label_makes_up_for_none_that_a_term_is_about() -> None:
    there = [pod("x").labels(app="db", team="a").on("a1"), pod("y").labels(app="web").on("a1")]
    about = requirement("app", "NotIn", "web"), requirement("team", "Exists")
    found = refusals(there, INCOMING.anti_affinity(term(HOST, selector(*about))))
    assert found == {"a1": Reason.ANTI_AFFINITY}


@pytest.mark.parametrize(
    ("there", "refused"),
    [
        pytest.param(pod("db").labels(app="db").on("a1").phase("Failed"), False, id="failed"),
        pytest.param(
            pod("db").labels(app="db").on("a1").phase("Succeeded"), False, id="ended well"
        ),
        pytest.param(pod("db").labels(app="db").on("a1").phase("Unknown"), True, id="unknown"),
        pytest.param(
            pod("db").labels(app="db").on("a1").being_deleted(), True, id="on its way out"
        ),
    ],
)
def test_a_pod_counts_until_it_has_ended(
    there: Json,
    refused: bool,
) -> None:
    found = refusals([there], INCOMING.anti_affinity(term(HOST, DB)))
    assert found == ({"a1": Reason.ANTI_AFFINITY} if refused else {})


TEAM = {"namespaceSelector": selector(team="a")}


@pytest.mark.parametrize("labels", [{"team": "a"}, {"team": "b"}, {}])
def test_terms_are_about_namespaces_by_their_labels(labels: dict[str, str]) -> None:
    web, about = pod("new").labels(app="web"), labels == {"team": "a"}
    owner = pod("owner").anti_affinity(term(ZONE, WEB, **TEAM)).on("a1")
    state = state_of(NODES, [namespace("default", labels)], [owner])
    expected = [Reason.EXISTING_ANTI_AFFINITY] if about else []
    assert [each.reason for each in InterPodAffinity().rules(state, model_pod(web))] == expected
    # The first of a group is one that its own terms are about.
    first = web.affinity(term(ZONE, WEB, **TEAM))
    refused = actual_refusals(state_of(NODES, [namespace("default", labels)], []), first, ["a1"])
    assert refused == ({} if about else {"a1": Reason.AFFINITY.value})
