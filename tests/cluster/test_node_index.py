"""Rules found out for all nodes at once are what they are tried one by one, and cost little."""

from __future__ import annotations

import random
from time import thread_time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from extender.core.cluster.counts.node_index import NodeIndex
from extender.core.cluster.state import ClusterState
from extender.core.model.labels import Operator, Requirement
from extender.core.model.node_selection import Comparison, Condition, NodeRule, NodeTerm
from extender.core.model.objects import Node

NODES = 150
"""Values that one node has, that a few have, and that more have than are put together anew."""
SEVERAL = 12
KEYS = ("own", "shared", "zone", "mixed", "none")
MOST_TIMES_DEARER = 20
"""A rule of 1,000 terms than one of 10."""


def labels_of(number: int) -> dict[str, str]:
    """Return labels of all kinds; some numbers, some not, and some twice."""
    found = {"own": str(number), "shared": f"v{number // 5}", "zone": "abc"[number % 3]}
    if number % 4:
        found["mixed"] = str(number % 7 - 3) if number % 2 else "text"
    return found


@pytest.fixture(scope="module")
def state() -> ClusterState:
    cluster = ClusterState()
    for number in range(NODES + SEVERAL):
        cluster.upsert_node(Node(f"n{number}", labels_of(number)))
    for number in range(SEVERAL):
        cluster.remove_node(f"n{number * 3}")
    return cluster


def conditions() -> st.SearchStrategy[Condition]:
    values = st.frozensets(
        st.sampled_from(["0", "7", "149", "v1", "v9", "a", "b", "c", "text", "nobody's"]),
        min_size=1,
    )
    naming = st.sampled_from([Operator.IN, Operator.NOT_IN])
    asking = st.sampled_from([Operator.EXISTS, Operator.DOES_NOT_EXIST])
    keys = st.sampled_from(KEYS)
    bounds = st.sampled_from([-(1 << 63), -1, 0, 31, 32, 33, 64, 148, 500])
    return (
        st.builds(Requirement, keys, naming, values)
        | st.builds(Requirement, keys, asking)
        | st.builds(Comparison, keys, bounds, above=st.booleans())
    )


def terms() -> st.SearchStrategy[NodeTerm]:
    names = st.frozensets(st.sampled_from(["n1", "n2", "n40", "n151", "nobody"]))
    return st.builds(
        NodeTerm, st.lists(conditions(), max_size=3).map(tuple), st.none() | names, names
    )


@given(
    weighted=st.lists(st.tuples(terms(), st.sampled_from([1, 2, 3, 50, 100, -1, -100, 1 << 30]))),
    common=st.lists(conditions(), max_size=2),
    adds_up=st.booleans(),
)
def test_a_rule_says_of_each_node_what_it_says_of_it_alone(
    state: ClusterState,
    weighted: list[tuple[NodeTerm, int]],
    common: list[Condition],
    adds_up: bool,
) -> None:
    some = weighted if adds_up else [(term, 1) for term, _ in weighted]
    rule = NodeRule(some, common, adds_up=adds_up)
    truth = {
        state.nodes.number_of(name): said
        for name in state.nodes
        if (said := rule.judge(name, state.nodes.labels(name)))
    }
    assert NodeIndex(state.nodes, rule.keys, state.nodes.keys()).judge(rule) == truth


LEAST, MOST = -(1 << 63), (1 << 63) - 1


@pytest.mark.parametrize(
    ("bound", "above", "expected"),
    [
        pytest.param(5, True, ["6", "007", str(MOST)], id="above a number that some have"),
        pytest.param(5, False, [str(LEAST), "4"], id="below it"),
        pytest.param(MOST - 1, True, [str(MOST)], id="above the last but one"),
        pytest.param(MOST, True, [], id="above the largest"),
        pytest.param(LEAST + 1, False, [str(LEAST)], id="below the second"),
        pytest.param(LEAST, False, [], id="below the least"),
    ],
)
def test_numbers_at_both_ends(
    bound: int,
    above: bool,
    expected: list[str],
) -> None:
    values = [str(LEAST), "4", "5", "6", "007", str(MOST), str(MOST + 1), str(LEAST - 1), "x", ""]
    cluster = ClusterState()
    for value in values:
        cluster.upsert_node(Node(f"n{value}", {"size": value}))
    cluster.upsert_node(Node("bare", {}))
    comparison = Comparison("size", bound, above=above)
    assert [each for each in values if comparison.covers(each)] == expected
    rule = NodeRule([(NodeTerm((comparison,)), 1)], adds_up=False)
    found = NodeIndex(cluster.nodes, rule.keys, cluster.nodes.keys()).judge(rule)
    assert [name for name in cluster.nodes if cluster.nodes.number_of(name) in found] == [
        f"n{each}" for each in expected
    ]


@pytest.fixture(scope="module")
def large() -> ClusterState:
    cluster = ClusterState()
    for number in range(2000):
        cluster.upsert_node(Node(f"n{number}", {"own": str(number), "zone": "abc"[number % 3]}))
    return cluster


def condition(kind: str, number: int) -> Condition:
    """Build a condition that nearly all nodes meet, or nearly none, and that no other is like."""
    match kind:
        case "above":
            return Comparison("own", 10_000 + number, above=True)
        case "below":
            return Comparison("own", 10_000 + number, above=False)
        case "not in":
            return Requirement("own", Operator.NOT_IN, frozenset((f"x{number}",)))
        case "in a zone":
            return Requirement("zone", Operator.IN, frozenset(("a", "b", f"x{number}")))
        case _:
            return Requirement(f"key-{number}", Operator.DOES_NOT_EXIST)


@pytest.mark.parametrize("adds_up", [False, True])
@pytest.mark.parametrize("kind", ["above", "below", "not in", "in a zone", "a key of its own"])
def test_a_thousand_conditions_cost_little_more_than_ten(
    large: ClusterState,
    kind: str,
    adds_up: bool,
) -> None:
    def cost(count: int) -> float:
        weights = random.Random(1)
        some = (
            (NodeTerm((condition(kind, number),)), weights.randint(1, 100) if adds_up else 1)
            for number in range(count)
        )
        rule = NodeRule(some, adds_up=adds_up)
        start = thread_time()
        NodeIndex(large.nodes, rule.keys, large.nodes.keys()).judge(rule)
        return thread_time() - start

    assert min(cost(1000) for _ in range(3)) < MOST_TIMES_DEARER * min(cost(10) for _ in range(3))
