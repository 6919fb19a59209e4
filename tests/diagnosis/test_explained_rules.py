"""The rule behind a refusal, as explanations write it."""

from __future__ import annotations

import json
from typing import Any

import pytest

from extender.core.verbs.inter_pod_affinity import InterPodAffinity
from extender.core.verbs.node_selection import NodeSelectionPlugin
from extender.core.wire.objects import PodReader
from extender.diagnosis.verbs.explain import explanation_of
from extender.diagnosis.verbs.explanation import Question
from extender.diagnosis.wire.explanation import MOST_ENTRIES, write_explanation
from tests.builders import HOST, ZONE, Pod, node, node_term, pod, requirement, state_of, term

READER = PodReader(node_selection=True)
PLUGINS = (InterPodAffinity(), NodeSelectionPlugin())


def told(asked: Pod) -> Any:
    """Return what is told about a pod and a node that has no labels of its own."""
    state = state_of([node("a1", {ZONE: "a"})], [], [])
    question = Question(READER.read(json.dumps(asked).encode()), ["a1"], PLUGINS)
    return json.loads(b"".join(write_explanation(explanation_of(state, question), [])))


SSD = {"key": "disk", "operator": "In", "values": ["ssd"]}
CORES = {"key": "cores", "operator": "Gt", "values": ["4"]}
GPU = {"key": "gpu", "operator": "Exists"}


@pytest.mark.parametrize(
    ("asked", "terms"),
    [
        pytest.param(
            pod("x").selects(disk="ssd"), [{"matchExpressions": [SSD]}], id="a node selector"
        ),
        pytest.param(
            pod("x").requires_nodes(node_term(requirement("gpu", "Exists")), node_term(CORES)),
            [{"matchExpressions": [GPU]}, {"matchExpressions": [CORES]}],
            id="one of two terms",
        ),
        pytest.param(
            pod("x").selects(disk="ssd").requires_nodes(node_term(requirement("gpu", "Exists"))),
            [{"matchExpressions": [SSD, GPU]}],
            id="a node selector and a term",
        ),
        pytest.param(
            pod("x").requires_nodes(
                {
                    "matchFields": [
                        requirement("metadata.name", "In", "b1"),
                        requirement("metadata.name", "NotIn", "b2"),
                    ]
                }
            ),
            [
                {
                    "matchFields": [
                        {"key": "metadata.name", "operator": "In", "values": ["b1"]},
                        {"key": "metadata.name", "operator": "NotIn", "values": ["b2"]},
                    ]
                }
            ],
            id="names of nodes",
        ),
        pytest.param(pod("x").requires_nodes({}), [], id="a term that no node meets"),
    ],
)
def test_node_affinity_is_told_as_a_node_selector(asked: Pod, terms: list[object]) -> None:
    found = told(asked)
    assert found["nodes"][0]["term"] == {"nodeSelectorTerms": terms}
    for miss in found["nearMisses"]:
        assert miss["term"] == {"nodeSelectorTerms": terms}


def test_what_is_told_can_be_asked_for_again() -> None:
    asked = pod("x").selects(disk="ssd").requires_nodes(node_term(CORES), node_term(GPU))
    again = pod("y").requires_nodes(*told(asked)["nodes"][0]["term"]["nodeSelectorTerms"])
    assert told(again)["nodes"][0]["term"] == told(asked)["nodes"][0]["term"]


def test_a_long_term_is_told_once() -> None:
    values = [f"v{number}" for number in range(MOST_ENTRIES)]
    long = term(ZONE, {"matchExpressions": [requirement("app", "In", *values)]})
    found = told(pod("x").affinity(long))
    assert found["nodes"][0]["term"] == {"topologyKey": ZONE, "omitted": True}
    (whole,) = found["terms"]
    assert whole["term"]["labelSelector"]["matchExpressions"][0]["values"] == sorted(values)


def test_a_term_that_is_not_so_long_is_told_for_each_node() -> None:
    values = [f"v{number}" for number in range(MOST_ENTRIES - 2)]
    short = term(HOST, {"matchExpressions": [requirement("app", "In", *values)]})
    assert "omitted" not in told(pod("x").affinity(short))["nodes"][0]["term"]


def test_long_node_affinity_is_left_out() -> None:
    many = [node_term(requirement("rack", "In", f"r{number}")) for number in range(2_000)]
    assert told(pod("x").requires_nodes(*many))["nodes"][0]["term"] == {"omitted": True}
