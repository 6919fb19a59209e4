"""Selectors and node affinity in words."""

from __future__ import annotations

from typing import Any

import pytest

from extender.core.model.wording import nodes_of, pods_of
from tests.builders import ZONE, Json, model_pod, node_term, pod, requirement, selector, term


@pytest.mark.parametrize(
    ("raw", "expected"),
    [
        pytest.param(
            term(ZONE, selector(app="web")), "pods with app in (web) in namespace own", id="plain"
        ),
        pytest.param(
            term(
                ZONE,
                selector(
                    requirement("app", "NotIn", "b", "a"),
                    requirement("old", "DoesNotExist"),
                    requirement("tier", "Exists"),
                ),
                namespaces=["y", "x"],
            ),
            "pods with app notin (a,b),!old,tier in namespaces x, y",
            id="every operator",
        ),
        pytest.param(
            term(ZONE, selector(), namespaceSelector=selector(team="red")),
            "pods with any labels in namespaces with team in (red)",
            id="namespaces by their labels",
        ),
        pytest.param(
            term(ZONE, selector(), namespaces=["x"], namespaceSelector=selector()),
            "pods with any labels in namespace x and namespaces with any labels",
            id="namespaces by both",
        ),
        pytest.param(term(ZONE), "no pods, without a labelSelector", id="no selector"),
    ],
)
def test_the_pods_of_a_term_are_described(raw: Json, expected: str) -> None:
    (found,) = model_pod(pod("p", "own").anti_affinity(raw)).pod_class.affinity.required_anti
    assert pods_of(found.pods) == expected


MANY = [f"n{number:02}" for number in range(12)]
TEN = ",".join(MANY[:10])


@pytest.mark.parametrize(
    ("raw", "expected"),
    [
        pytest.param(pod("p").selects(b="2", a="1"), "a in (1),b in (2)", id="a node selector"),
        pytest.param(
            pod("p")
            .selects(a="1")
            .requires_nodes(
                node_term(requirement("gpu", "Gt", "3"), requirement("old", "DoesNotExist")),
                node_term(requirement("cpu", "Lt", "8")),
            ),
            "a in (1), and gpu > 3,!old or cpu < 8",
            id="both, with alternatives",
        ),
        pytest.param(
            pod("p").requires_nodes(
                {
                    "matchFields": [
                        requirement("metadata.name", "In", "n1"),
                        requirement("metadata.name", "NotIn", "n2"),
                    ]
                }
            ),
            "metadata.name in (n1),metadata.name notin (n2)",
            id="names",
        ),
        pytest.param(
            pod("p").requires_nodes({}),
            "what no node has: none of its terms can be met",
            id="an empty term",
        ),
        pytest.param(
            pod("p").requires_nodes(node_term(requirement("host", "In", *MANY))),
            f"host in ({TEN},2 more)",
            id="many values",
        ),
        pytest.param(
            pod("p").requires_nodes(*(node_term(requirement(each, "Exists")) for each in MANY)),
            f"{TEN.replace(',', ' or ')} or 2 other terms",
            id="many terms",
        ),
        pytest.param(
            pod("p").requires_nodes(node_term(*(requirement(each, "Exists") for each in MANY))),
            f"{TEN},2 more",
            id="many conditions",
        ),
    ],
)
def test_what_is_asked_of_nodes_is_described(raw: Any, expected: str) -> None:
    affinity = model_pod(raw).node_selection
    assert affinity is not None
    assert affinity.required is not None
    assert nodes_of(affinity.required) == expected
