"""How many pods an update may have too many, or too few."""

from __future__ import annotations

import json
from typing import Any

import pytest

from affinityctl.reading.strategies import rollout
from extender.core.errors import ObjectError
from extender.diagnosis.wire.workloads import read_workload


def surge(given: Any, replicas: int = 10) -> int:
    """Read the maxSurge of a Deployment."""
    strategy = {"rollingUpdate": {"maxSurge": given}}
    raw = json.dumps(
        {"metadata": {}, "spec": {"replicas": replicas, "strategy": strategy}}
    ).encode()
    return rollout(read_workload("Deployment", raw), replicas).surge


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        pytest.param(None, 3, id="the default, a quarter, rounded up"),
        pytest.param(4, 4, id="a number"),
        pytest.param("35%", 4, id="a share, rounded up"),
        pytest.param("4", 4, id="a number in a text"),
        pytest.param("many", 0, id="no number"),
        pytest.param("9" * 5_000, 0, id="more digits than Python reads"),
        pytest.param("٣%", 0, id="digits that Go does not read"),
    ],
)
def test_a_number_or_a_share_of_the_replicas(given: Any, expected: int) -> None:
    assert surge(given) == expected


def limits(kind: str, **given: Any) -> tuple[int, int]:
    """Return how many pods of ten a kind may have too many, and too few."""
    field = "strategy" if kind == "Deployment" else "updateStrategy"
    spec = {"replicas": 10, field: {"rollingUpdate": given}}
    raw = json.dumps({"metadata": {}, "spec": spec}).encode()
    found = rollout(read_workload(kind, raw), 10)
    return found.surge, found.unavailable


@pytest.mark.parametrize(
    ("kind", "given", "expected"),
    [
        pytest.param("Deployment", {}, (3, 2), id="a quarter: more rounded up, fewer down"),
        pytest.param("Deployment", {"maxSurge": 0, "maxUnavailable": 0}, (0, 1), id="not none"),
        pytest.param("Deployment", {"maxSurge": 0, "maxUnavailable": "35%"}, (0, 3), id="down"),
        pytest.param("StatefulSet", {}, (0, 1), id="a StatefulSet by itself"),
        pytest.param("StatefulSet", {"maxUnavailable": "35%"}, (0, 3), id="of one as well"),
        pytest.param("StatefulSet", {"maxUnavailable": "5%"}, (0, 1), id="but not to none"),
        pytest.param("DaemonSet", {}, (0, 1), id="a DaemonSet by itself"),
        pytest.param("DaemonSet", {"maxUnavailable": "35%"}, (0, 4), id="of one up"),
        pytest.param("DaemonSet", {"maxUnavailable": 0}, (0, 1), id="not none either"),
        pytest.param("DaemonSet", {"maxSurge": "35%"}, (4, 0), id="the new pod first"),
    ],
)
def test_how_many_pods_an_update_may_have_too_many_or_too_few(
    kind: str, given: dict[str, Any], expected: tuple[int, int]
) -> None:
    assert limits(kind, **given) == expected


def test_what_go_would_not_read_is_an_error() -> None:
    with pytest.raises(ObjectError) as caught:
        surge(1, replicas=1 << 31)
    assert caught.value.path == "spec.replicas"
