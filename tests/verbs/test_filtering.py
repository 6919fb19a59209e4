"""Which nodes are refused, and with which words."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from extender.model.verdict import Reason
from tests.builders import HOST, ZONE, Json, namespace, node, pod, selector, state_of, term
from tests.verbs.judging import actual_refusals

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


def test_a_node_that_nobody_knows_is_refused_as_such() -> None:
    state = state_of(NODES, NAMESPACES, [])
    refused = actual_refusals(state, INCOMING, ["stranger", "a1", "other"])
    assert refused == dict.fromkeys(["stranger", "other"], Reason.UNKNOWN_NODE.value)


def test_no_nodes_no_verdicts() -> None:
    assert actual_refusals(state_of(NODES, [], []), INCOMING.affinity(term(ZONE, DB)), []) == {}
