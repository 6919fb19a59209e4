"""Which node the scheduler preempts on, told before it tells: its order of preferences."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pytest

from extender.core.cluster.state import ClusterState
from extender.core.model.disruption import Victims
from extender.core.verbs import preempting
from extender.core.verbs.preempting import Settled
from tests.builders import Pod, model_pod, node, pod, state_of

NODES = [node("a"), node("b")]
EARLY, LATE = "2026-01-01T00:00:00Z", "2026-01-02T00:00:00Z"


def victim(name: str, priority: int = 0, started: str | None = None) -> Pod:
    """Build a pod that may have to go."""
    built = pod(name).priority(priority)
    return built if started is None else built.started(started)


def settle(state: ClusterState, chosen: Mapping[str, Victims]) -> Settled:
    """Rank candidates, and settle which is taken."""
    ranks = {node: preempting.rank_of(state, node, victims) for node, victims in chosen.items()}
    return preempting.settle(chosen, ranks)


@pytest.mark.parametrize(
    ("on_a", "on_b", "violations", "taken"),
    [
        pytest.param(
            [victim("x", 9), victim("y", 9)],
            [victim("z")],
            (0, 1),
            "a",
            id="fewest violated budgets, whatever else",
        ),
        pytest.param(
            [victim("x", 2)],
            [victim("y", 1), victim("z", 1)],
            (1, 1),
            "b",
            id="then the lowest highest priority",
        ),
        pytest.param(
            [victim("x", 2), victim("y", 1)],
            [victim("z", 2), victim("w", 0)],
            (0, 0),
            "b",
            id="then the smallest sum of priorities",
        ),
        pytest.param(
            [victim("x", -5), victim("y", -5)],
            [victim("z", -5)],
            (0, 0),
            "b",
            id="of negative priorities, fewer are less",
        ),
        pytest.param(
            [victim("x", 2, EARLY), victim("y", 1, LATE)],
            [victim("z", 2, LATE), victim("w", 1, EARLY)],
            (0, 0),
            "b",
            id="then the latest start of the highest ones",
        ),
        pytest.param(
            [victim("x", 2, LATE), victim("y", 2, EARLY)],
            [victim("z", 2, LATE), victim("w", 2, LATE)],
            (0, 0),
            "b",
            id="of several highest ones the earliest start counts",
        ),
        pytest.param(
            [victim("x", 0, LATE)],
            [victim("y")],
            (0, 0),
            "b",
            id="one that has not started starts now",
        ),
    ],
)
def test_the_scheduler_takes_the_least_harm(
    on_a: Sequence[Pod], on_b: Sequence[Pod], violations: tuple[int, int], taken: str
) -> None:
    chosen = {
        name: Victims([each["metadata"]["uid"] for each in victims], count)
        for name, victims, count in zip("ab", (on_a, on_b), violations, strict=True)
    }
    placed = [each.on(name) for name, some in (("a", on_a), ("b", on_b)) for each in some]
    settled = settle(state_of(NODES, [], placed), chosen)
    assert settled.taken == taken
    assert settled.chosen == chosen, "the other one stays, for extenders that come after us"


def test_of_equal_candidates_one_is_left() -> None:
    chosen = {name: Victims([f"default-{name}"], 0) for name in ("a", "b", "c")}
    placed = [victim("a").on("a"), victim("b").on("b"), victim("c", 1).on("c")]
    settled = settle(state_of([*NODES, node("c")], [], placed), chosen)
    assert (settled.taken, list(settled.chosen)) == ("a", ["a", "c"])


def test_a_victim_that_is_unknown_may_be_any() -> None:
    chosen = {name: Victims([f"default-{name}"], 0) for name in ("a", "b")}
    settled = settle(state_of(NODES, [], [victim("a").on("a")]), chosen)
    assert (settled.taken, settled.chosen) == (None, chosen)


def test_a_single_candidate_is_taken_whoever_the_victims_are() -> None:
    chosen = {"a": Victims(["unknown"], 0)}
    assert settle(state_of(NODES, [], []), chosen).taken == "a"


def test_no_candidate_is_no_nomination() -> None:
    assert settle(state_of(NODES, [], []), {}).taken is None


def test_of_pods_with_one_priority_those_that_started_first_are_the_most_important() -> None:
    drawn = [
        victim("a", 1),
        victim("b", 1, LATE),
        victim("c", 1, EARLY),
        victim("d", 2),
        victim("e", 1, EARLY),
    ]
    found = sorted(map(model_pod, drawn), key=preempting.importance)
    assert [each.uid for each in found] == [f"default-{name}" for name in "dceba"]
