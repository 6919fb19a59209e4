"""The checker itself: it reports what is wrong, and nothing that is right."""

from __future__ import annotations

import pytest

from tests.e2e.checker import Checker, selects
from tests.e2e.objects import HOSTNAME, JSON, ZONE, namespace, node, pod, term

NODES = [
    node("a1", "a"),
    node("a2", "a"),
    node("b1", "b"),
    node("b2", "b"),
    node("bare"),
]
NAMESPACES = [namespace("default"), namespace("red", team="red"), namespace("blue", team="blue")]

WEB, DB, RED = {"app": "web"}, {"app": "db"}, {"color": "red"}


def judged(*pods: JSON, order: list[str] | None = None) -> list[str]:
    return Checker(pods, NODES, NAMESPACES).broken_rules(order)


APART: JSON = {"labels": WEB, "apart": [term(HOSTNAME, WEB)]}
NEAR_DB: JSON = {"near": [term(ZONE, DB)]}
GROUP: JSON = {"labels": WEB, "near": [term(ZONE, WEB)]}
FROM_RED = term(ZONE, DB, namespaceSelector={"matchLabels": {"team": "red"}})


@pytest.mark.parametrize(
    ("pods", "reported"),
    [
        pytest.param(
            [pod("w1", on="a1", **APART), pod("w2", on="a1", **APART)],
            ["default/w1 must be apart", "default/w2 must be apart"],
            id="two pods that exclude each other share a node",
        ),
        pytest.param(
            [pod("guard", on="a1", apart=[term(ZONE, WEB)]), pod("plain", on="a2", labels=WEB)],
            ["default/guard must be apart from default/plain: both in topology.kubernetes.io/zone"],
            id="a plain pod stands where a guard repels it",
        ),
        pytest.param(
            [
                pod("guard", "red", on="a1", apart=[FROM_RED]),
                pod("db", "red", labels=DB, on="a2"),
                pod("db", "blue", labels=DB, on="a2"),
            ],
            ["red/guard must be apart from red/db"],
            id="a namespace selector reaches the namespaces it selects and no other",
        ),
        pytest.param(
            [pod("web", on="b1", **NEAR_DB), pod("db", labels=DB, on="a1")],
            ["default/web has nobody to be near on b1"],
            id="the pod to be near is in another zone",
        ),
        pytest.param(
            [pod("web", on="a1", **NEAR_DB), pod("db", "red", labels=DB, on="a1")],
            ["default/web has nobody to be near on a1"],
            id="the pod to be near is in another namespace",
        ),
        pytest.param(
            [pod("web", on="bare", **NEAR_DB), pod("db", labels=DB, on="bare")],
            ["default/web has nobody to be near on bare"],
            id="a node without the topology key satisfies no affinity",
        ),
        pytest.param(
            [
                pod("both", on="a1", near=[term(ZONE, DB), term(ZONE, {"tier": "x"})]),
                pod("db", labels=DB, on="a1"),
                pod("x", labels={"tier": "x"}, on="a1"),
            ],
            ["default/both has nobody to be near on a1"],
            id="each term is matched, but by no pod that matches all of them",
        ),
        pytest.param(
            [pod("w1", on="a1", **GROUP), pod("w2", on="b1", **GROUP)],
            ["default/w2 has nobody to be near on b1"],
            id="a group starts in two zones",
        ),
        pytest.param(
            [
                pod("w1", on="a1", **GROUP),
                pod("w2", on="a2", **GROUP),
                pod("w3", on="b1", **GROUP),
                pod("w4", on="b2", **GROUP),
            ],
            ["default/w3 has nobody to be near on b1", "default/w4 has nobody to be near on b2"],
            id="a second start is found though its pods have each other",
        ),
        pytest.param(
            [pod("w1", on="a1", labels=DB, near=[term(ZONE, WEB)])],
            ["default/w1 has nobody to be near on a1"],
            id="a pod that does not match its own term starts nothing",
        ),
    ],
)
def test_a_broken_rule_is_reported(pods: list[JSON], reported: list[str]) -> None:
    found = judged(*pods)

    assert len(found) == len(reported)
    assert all(line.startswith(start) for line, start in zip(found, reported, strict=True)), found


@pytest.mark.parametrize(
    "pods",
    [
        pytest.param(
            [pod("w1", on="a1", **APART), pod("w2", on="a2", **APART)],
            id="apart by host in one zone",
        ),
        pytest.param(
            [pod("w1", on="bare", apart=[term(ZONE, WEB)]), pod("w2", on="bare", labels=WEB)],
            id="anti-affinity says nothing on a node without its key",
        ),
        pytest.param(
            [pod("web", on="a2", **NEAR_DB), pod("db", labels=DB, on="a1")],
            id="near by zone on another host",
        ),
        pytest.param(
            [pod("w1", on="b1", **GROUP), pod("w2", on="b2", **GROUP), pod("w3", on="b1", **GROUP)],
            id="a group that started once",
        ),
        pytest.param(
            [
                pod("w1", on="a1", **GROUP),
                pod("w2", on="b1", **GROUP),
                pod("plain", on="b2", labels=WEB),
            ],
            id="a group in two zones, one of them around a pod without rules",
        ),
        pytest.param(
            [
                pod("w1", "red", on="a1", **GROUP),
                pod("w1", "blue", on="b1", **GROUP),
            ],
            id="groups of two namespaces start apart",
        ),
        pytest.param(
            [
                pod("done", on="a1", **APART) | {"status": {"phase": "Succeeded"}},
                pod("w", on="a1", **APART),
            ],
            id="a finished pod is in nobody's way",
        ),
    ],
)
def test_a_lawful_placement_is_not_reported(pods: list[JSON]) -> None:
    assert judged(*pods) == []


@pytest.mark.parametrize(
    ("order", "reported"),
    [
        pytest.param(["default/w1", "default/plain"], 0, id="the group started first"),
        pytest.param(["default/plain", "default/w1"], 1, id="somebody to be near was elsewhere"),
    ],
)
def test_a_known_order_decides_who_may_start(order: list[str], reported: int) -> None:
    pods = [pod("w1", on="a1", **GROUP), pod("plain", on="b2", labels=WEB)]

    assert len(judged(*pods, order=order)) == reported


@pytest.mark.parametrize(
    ("waiting", "reported"),
    [
        pytest.param(pod("w", **NEAR_DB), "a1, a2", id="a zone with the pod to be near"),
        pytest.param(pod("w", **APART), "a2, b1, b2, bare", id="all nodes but the one taken"),
        pytest.param(pod("w", near=[term(ZONE, {"app": "none"})]), "", id="nobody to be near"),
        pytest.param(pod("w", near=[term(ZONE, RED)]), "b1, b2", id="by a label only it names"),
        pytest.param(pod("w", labels={"app": "repelled"}), "b1, b2, bare", id="a guarded zone"),
        pytest.param(pod("w", "red", **GROUP), "a1, a2, b1, b2", id="nodes to start a group on"),
    ],
)
def test_a_needless_wait_is_reported(waiting: JSON, reported: str) -> None:
    placed = [
        pod("db", labels=DB, on="a1"),
        pod("web", on="a1", **APART),
        pod("guard", on="a2", apart=[term(ZONE, {"app": "repelled"})]),
        pod("plain", on="b1", labels={"app": "plain"}),
        pod("red", on="b1", labels={"app": "plain"} | RED),
    ]

    found = Checker([*placed, waiting], NODES, NAMESPACES).needless_waits()

    assert [line.split(" fits on ")[1] for line in found] == ([reported] if reported else [])


@pytest.mark.parametrize(
    ("selector", "selected"),
    [
        pytest.param(None, False, id="no selector"),
        pytest.param({}, True, id="an empty selector"),
        pytest.param({"matchLabels": {"app": "web"}}, True, id="a label"),
        pytest.param({"matchLabels": {"app": "web", "x": "y"}}, False, id="one label too many"),
        pytest.param(
            {"matchExpressions": [{"key": "app", "operator": "In", "values": ["db"]}]},
            False,
            id="In other values",
        ),
        pytest.param(
            {"matchExpressions": [{"key": "x", "operator": "NotIn", "values": ["y"]}]},
            True,
            id="NotIn for a missing key",
        ),
        pytest.param(
            {"matchExpressions": [{"key": "app", "operator": "Exists"}]}, True, id="Exists"
        ),
        pytest.param(
            {"matchExpressions": [{"key": "app", "operator": "DoesNotExist"}]},
            False,
            id="DoesNotExist for a key that is there",
        ),
    ],
)
def test_a_selector_selects(selector: JSON | None, *, selected: bool) -> None:
    assert selects(selector, {"app": "web"}) is selected
