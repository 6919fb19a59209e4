"""Who is taken for the successor of a moved pod, and whom Kubernetes' own controllers make."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

import pytest

from extender.features.moving.rules.successors import Succession
from tests.builders import model_pod, pod
from tests.e2e.controller_cases import Placed, Standing, standing_of
from tests.e2e.stepping import HASH, controllers, of_kind, replica_set, revisions_of, workload

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from tests.conformance.asking import Ask
    from tests.e2e.controlplane.binaries import Binaries

DEPLOYMENT = workload("Deployment", "web", replicas=3)


@pytest.fixture(scope="module")
def ask(built: Callable[[Any], Binaries]) -> Iterator[Ask]:
    """Return what puts a question to the controllers, built on the first run."""
    with controllers(built) as asked:
        yield asked


@pytest.mark.parametrize(
    ("kind", "there", "leaving", "made", "is_successor"),
    [
        pytest.param("ReplicaSet", [0, 1, 2], True, 1, True, id="a ReplicaSet makes it at once"),
        pytest.param("StatefulSet", [0, 1, 2], True, 0, False, id="a StatefulSet waits"),
        pytest.param("StatefulSet", [0, 1], False, 1, True, id="and makes it once that is gone"),
        pytest.param("StatefulSet", [0], False, 1, False, id="but a lower ordinal before it"),
    ],
)
def test_the_successor_of_a_moved_pod_is_the_one_that_its_controller_makes(
    ask: Ask, kind: str, there: list[int], *, leaving: bool, made: int, is_successor: bool
) -> None:
    revisions = revisions_of(ask, "web", 1) if kind == "StatefulSet" else []
    owner = replica_set(DEPLOYMENT, "web", 0, (3, 3))
    revision = ""
    if revisions:
        owner = workload("StatefulSet", "web", replicas=3, revisionHistoryLimit=9)
        owner["spec"]["updateStrategy"] = {"type": "OnDelete"}
        owner["spec"]["minReadySeconds"] = 0
        revision = revisions[0]["metadata"]["name"]
    standings = {each: Placed(Standing.AVAILABLE, outdated=False) for each in there}
    if leaving:
        standings[2] = Placed(Standing.TERMINATING, outdated=False)
    pods = [
        standing_of(each, f"web-{number}", owner, revision, time.time())
        for number, each in standings.items()
    ]
    for each in pods:
        each["metadata"]["labels"][HASH] = "web"
    created = of_kind(ask, owner, pods=pods, controllerrevisions=revisions).created
    assert len(created) == made
    moved = model_pod(pod("web-2").owned_by(f"{kind}/web").uid("moved"))
    names = [each["metadata"].get("name") or "web-x" for each in created]
    found = [model_pod(pod(name).owned_by(f"{kind}/web")) for name in names]
    assert any(map(Succession(moved).may_be, found)) is is_successor
