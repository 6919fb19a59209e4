"""A pod whose node affinity names nodes: the scheduler tries these alone, and says so."""

from __future__ import annotations

import json
from collections import Counter
from typing import Any

import pytest

from affinityctl.commands.simulate.whatif.outcome import explain
from extender.core.cluster.state import ClusterState
from extender.core.wire.objects import PodReader
from tests.annotating import REQUIRED
from tests.beside import RULES
from tests.builders import HOST, model_node, node, pod, requirement

NODES = ("a", "b", "c")
LEFT_OUT = "node(s) didn't satisfy plugin(s) [NodeAffinity]"
UNMATCHED = "node(s) didn't match Pod's node affinity/selector"
CONFLICT = "pod affinity terms conflict"


def name(*names: str, operator: str = "In") -> dict[str, Any]:
    return {"matchFields": [requirement("metadata.name", operator, each) for each in names]}


ON_B = {"matchExpressions": [requirement(HOST, "In", "b")]}
CASES: dict[str, tuple[list[Any], dict[str, int]]] = {
    "one": ([name("a")], {LEFT_OUT: 2}),
    "either": ([name("a"), name("b")], {LEFT_OUT: 1}),
    "an unknown one": ([name("z")], {LEFT_OUT: 3}),
    "one, and its label is another": ([name("a") | ON_B], {LEFT_OUT: 2, UNMATCHED: 1}),
    "two at once": ([name("a", "b")], {CONFLICT: 3}),
    "two at once, or one": ([name("a", "b"), name("c")], {LEFT_OUT: 2}),
    "one, or by label": ([name("a"), ON_B], {UNMATCHED: 1}),
    "one, or an empty term": ([name("a"), {}], {UNMATCHED: 2}),
    "another one": ([name("a", operator="NotIn")], {UNMATCHED: 1}),
}


@pytest.mark.parametrize("case", CASES)
def test_the_reasons_are_the_schedulers(case: str) -> None:
    terms, expected = CASES[case]
    state = ClusterState()
    for each in NODES:
        state.upsert_node(model_node(node(each, {HOST: each})))
    made = pod("new")
    made["spec"]["affinity"] = {"nodeAffinity": {REQUIRED: {"nodeSelectorTerms": terms}}}
    reader = PodReader(node_selection=True, requirements=True, rules=RULES)
    found = explain(state, reader.read(json.dumps(made).encode()))
    assert Counter(each[0].rule.event for each in found.refused.values()) == expected
    # Each node has one thing against it.
    assert {len(each) for each in found.refused.values()} == {1}
