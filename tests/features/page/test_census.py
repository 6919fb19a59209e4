"""What people are shown of the live picture equals what the pods say."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from extender.core.cluster.counts.pod_sets import matched_by
from extender.core.model.labels import EVERYTHING, Operator, Requirement, Selector
from extender.core.model.pod_affinity import PodSelector
from extender.features.page.census import (
    amount_in,
    matched_by_domain,
    namespaces_of,
    nodes_by_domain,
)
from tests import strategies
from tests.builders import model_pod, namespace, node, pod, selector, state_of, term

ZONE = "zone"
NODES = [node("a1", {ZONE: "a"}), node("a2", {ZONE: "a"}), node("b1", {ZONE: "b"}), node("bare")]


@pytest.mark.thorough
@given(data=st.data())
def test_what_a_term_matches_equals_what_is_counted_for_it(data: st.DataObject) -> None:
    cluster = data.draw(strategies.clusters(), label="cluster")
    state = state_of(cluster.nodes, cluster.namespaces, cluster.pods)
    for existing in list(state.existing_terms):
        tables = state.matching([matched_by(existing.term)])
        assert tables is not None
        assert dict(matched_by_domain(state, existing.term)) == tables[0].by_value()
        for value, amount in existing.owners.by_value().items():
            assert amount_in(existing, value) == amount
        assert sum(existing.owners.by_value().values()) == existing.amount


def test_nothing_is_held_where_no_node_is() -> None:
    guard = pod("guard").anti_affinity(term(ZONE, selector())).on("a1")
    (existing,) = state_of(NODES, [], [guard]).existing_terms
    assert [amount_in(existing, value) for value in ("a", "b", "c")] == [1, 0, 0]


def test_nodes_by_domain() -> None:
    state = state_of(NODES, [], [])
    assert nodes_by_domain(state, ZONE) == {"a": ["a1", "a2"], "b": ["b1"]}
    assert nodes_by_domain(state, "rack") == {}


def test_namespaces_that_a_term_speaks_of() -> None:
    state = state_of([], [namespace("red", {"team": "x"}), namespace("blue")], [])
    team = Selector((Requirement("team", Operator.EXISTS),))
    chosen = PodSelector(EVERYTHING, frozenset(("later",)), team)
    assert namespaces_of(state, chosen) == ["later", "red"]


def test_terms_are_numbered_in_the_order_in_which_they_appear() -> None:
    state = state_of(NODES, [], [])
    for app in ("x", "y"):
        state.upsert_pod(model_pod(pod(app).anti_affinity(term(ZONE, selector(app=app))).on("a1")))
    state.remove_pod("default/x", "default-x")
    state.upsert_pod(model_pod(pod("z").anti_affinity(term(ZONE, selector(app="x"))).on("a1")))
    assert [existing.number for existing in state.existing_terms] == [2, 3]
