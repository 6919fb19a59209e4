"""Which of the pods that a controller makes takes the place of one that was moved."""

from __future__ import annotations

import pytest
from msgspec import structs

from extender.core.cluster.state import ClusterState
from tests.builders import model_pod, pod
from tests.features.moving.booked import books_over


@pytest.mark.parametrize(
    ("owner", "made", "expected"),
    [
        pytest.param("ReplicaSet/web", ["web-x", "web-y"], "web-x", id="the first that comes"),
        pytest.param("StatefulSet/web", ["web-3"], "web-3", id="of a StatefulSet by its name"),
        pytest.param("StatefulSet/web", ["web-1"], None, id="a lower ordinal is another's"),
        pytest.param("StatefulSet/web", ["web-1", "web-3"], "web-3", id="and comes before it"),
    ],
)
def test_the_successor_is_the_pod_that_the_controller_makes_in_its_place(
    owner: str, made: list[str], expected: str | None
) -> None:
    state = ClusterState()
    successors = books_over(state).successors
    moved = structs.replace(model_pod(pod("web-3").owned_by(owner)), uid="moved", node="n")
    succession = successors.expect(moved)
    waiting = [model_pod(pod(name).owned_by(owner)) for name in made]
    for each in waiting:
        state.upsert_pod(each)
    names = [each.key for each in waiting if successors.expects(each)]
    assert names == ([] if expected is None else [f"default/{expected}"])
    found = succession.successor
    assert (found and found.key) == next(iter(names), None)
