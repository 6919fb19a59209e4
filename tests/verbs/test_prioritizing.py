"""How nodes score, and how scores are scaled."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from extender.core.verbs.inter_pod_affinity import min_max
from extender.core.verbs.prioritizing import scale
from tests import oracle
from tests.builders import HOST, ZONE, Json, node, pod, selector, state_of, term
from tests.verbs.judging import actual_scores

NODES = [
    node("a1", {HOST: "a1", ZONE: "a"}),
    node("a2", {HOST: "a2", ZONE: "a"}),
    node("b1", {HOST: "b1", ZONE: "b"}),
    node("bare"),
]
NAMES = ["b1", "bare", "a2", "a1"]

WEB = selector(app="web")
EXISTING = pod("old").labels(app="web").on("a1")
INCOMING = pod("new").labels(app="web")
DEFAULT = oracle.Args()


def scores(
    pods: Sequence[Json], incoming: Json, args: oracle.Args = DEFAULT, names: Sequence[str] = NAMES
) -> dict[str, int]:
    """Ask for the scores over some nodes."""
    return actual_scores(state_of(NODES, [], pods), incoming, names, args)


@pytest.mark.parametrize(
    ("pods", "incoming", "expected"),
    [
        pytest.param([EXISTING], INCOMING, {}, id="no rules, no scores"),
        pytest.param(
            [EXISTING],
            INCOMING.prefers(10, term(ZONE, WEB)),
            {"a1": 100, "a2": 100},
            id="a preferred zone",
        ),
        pytest.param(
            [EXISTING],
            INCOMING.avoids(10, term(ZONE, WEB)),
            {"b1": 100, "bare": 100},
            id="an avoided zone, which a node without the key is not in",
        ),
        pytest.param(
            [EXISTING],
            INCOMING.prefers(60, term(ZONE, WEB)).prefers(40, term(HOST, WEB)),
            {"a1": 100, "a2": 60},
            id="terms over several keys add up",
        ),
        pytest.param(
            [EXISTING.prefers(7, term(ZONE, WEB))],
            INCOMING,
            {"a1": 100, "a2": 100},
            id="an existing pod's preference counts, too",
        ),
        pytest.param(
            [EXISTING.affinity(term(HOST, WEB))],
            INCOMING,
            {"a1": 100},
            id="an existing pod's required affinity counts with the hard weight",
        ),
        pytest.param(
            [EXISTING.prefers(5, term(ZONE, WEB)).avoids(5, term(ZONE, WEB))],
            INCOMING,
            {},
            id="opposite weights cancel out",
        ),
        pytest.param(
            [INCOMING.on("a1")],
            INCOMING.prefers(5, term(ZONE, WEB)),
            {},
            id="a pod that is placed already does not attract itself",
        ),
    ],
)
def test_scores(pods: list[Json], incoming: Json, expected: dict[str, int]) -> None:
    assert scores(pods, incoming) == expected


@pytest.mark.parametrize(
    ("args", "expected"),
    [
        pytest.param(oracle.Args(), {"a1": 100}, id="counted by default"),
        pytest.param(
            oracle.Args(hard_pod_affinity_weight=0), {}, id="not counted with a hard weight of 0"
        ),
        pytest.param(
            oracle.Args(ignore_preferred_terms_of_existing_pods=True),
            {},
            id="ignored for a pod without preferences of its own",
        ),
    ],
)
def test_arguments(args: oracle.Args, expected: dict[str, int]) -> None:
    assert scores([EXISTING.affinity(term(HOST, WEB))], INCOMING, args) == expected


def test_preferences_over_a_key_that_no_node_has_are_preferences_all_the_same() -> None:
    args = oracle.Args(ignore_preferred_terms_of_existing_pods=True)
    existing = EXISTING.affinity(term(HOST, WEB))
    assert scores([existing], INCOMING.prefers(1, term("rack", WEB)), args) == {"a1": 100}


def test_scores_are_relative_to_the_nodes_of_the_request() -> None:
    incoming = INCOMING.prefers(60, term(ZONE, WEB)).prefers(40, term(HOST, WEB))
    assert scores([EXISTING], incoming, names=["a2", "b1"]) == {"a2": 100}


def test_a_node_that_nobody_knows_takes_no_part() -> None:
    incoming = INCOMING.avoids(1, term(ZONE, WEB))
    assert scores([EXISTING], incoming, names=["stranger", "a1", "a2"]) == {}
    assert scores([EXISTING], incoming, names=["stranger"]) == {}


@pytest.mark.parametrize("fillers", [0, 40], ids=["few entries", "more entries than nodes"])
def test_both_ways_to_sum_agree(fillers: int) -> None:
    # Entries in many domains make summing up front dearer than looking each node up.
    nodes = NODES + [node(f"n{i}", {HOST: f"n{i}", ZONE: "c"}) for i in range(fillers)]
    old = [pod(f"old-{i}").labels(app="web").on(f"n{i}") for i in range(fillers)]
    carrier = EXISTING.avoids(3, term(HOST, WEB))
    state = state_of(nodes, [], [*old, carrier])
    incoming = INCOMING.prefers(10, term(HOST, WEB))
    assert actual_scores(state, incoming, NAMES, DEFAULT) == {"a1": 100}


@pytest.mark.parametrize(
    ("raw", "max_score", "expected"),
    [
        pytest.param([0, 29, 100], 100, [0, 28, 100], id="29 of 100 is 28, as in Go"),
        pytest.param([-50, 0, 50], 100, [0, 50, 100], id="negative scores are shifted"),
        pytest.param([7, 7], 100, [0, 0], id="equal scores are all 0"),
        pytest.param([0, 29, 100], 20, [0, 5, 20], id="then to the configured span, truncated"),
        pytest.param([0, 1, 100], 1, [0, 0, 1], id="even to one"),
    ],
)
def test_scale(raw: list[int], max_score: int, expected: list[int]) -> None:
    scaled = scale(min_max(raw), max_score)
    assert [scaled[score] for score in raw] == expected
