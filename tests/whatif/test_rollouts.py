"""How many pods an update may have too many, or too few."""

from __future__ import annotations

import json
from typing import Any

import pytest

from affinityctl.applied import rollout
from extender.errors import ObjectError
from extender.wire.workloads import read_workload


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


def test_what_go_would_not_read_is_an_error() -> None:
    with pytest.raises(ObjectError) as caught:
        surge(1, replicas=1 << 31)
    assert caught.value.path == "spec.replicas"
