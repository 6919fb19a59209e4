"""How far a pod has come, and whether it is as its controller wants it."""

from __future__ import annotations

from typing import Any

import pytest

from clusterload.workloads import Pod, agrees, all_run
from tests.clusterload.small_cluster import seen


@pytest.mark.parametrize(
    ("pods", "wanted", "settled"),
    [
        pytest.param([], 0, True, id="none and none wanted"),
        pytest.param([seen()], 1, True, id="one that runs"),
        pytest.param([seen()], 2, False, id="one too few"),
        pytest.param([seen(), seen()], 1, False, id="one too many"),
        pytest.param([seen(ready=False)], 1, False, id="one that is not ready"),
        pytest.param([seen(phase="Pending")], 1, False, id="one that does not run"),
        pytest.param([seen(), seen(deleting=True)], 1, False, id="one that is still going"),
        pytest.param([seen(), seen(phase="Failed")], 1, True, id="one that has ended"),
    ],
)
def test_when_all_pods_run(pods: list[Pod], wanted: int, settled: bool) -> None:
    assert all_run(pods, wanted) is settled


@pytest.mark.parametrize(
    ("wanted", "actual", "agreed"),
    [
        pytest.param({}, {"a": 1}, True, id="nothing wanted"),
        pytest.param({"a": 1}, {"a": 1, "b": 2}, True, id="more than wanted"),
        pytest.param({"a": 1}, {"a": 2}, False, id="another value"),
        pytest.param({"a": 1}, {}, False, id="a value missing"),
        pytest.param({"a": None, "b": []}, {}, True, id="empty values say nothing"),
        pytest.param({"a": [{"b": 1}]}, {"a": [{"b": 1, "c": 2}]}, True, id="inside a list"),
        pytest.param({"a": [1]}, {"a": [1, 2]}, True, id="a longer list"),
        pytest.param({"a": [1, 2]}, {"a": [1]}, False, id="a shorter list"),
        pytest.param({"a": {"b": 1}}, {"a": 1}, False, id="another shape"),
    ],
)
def test_agreement_of_a_template_with_a_pod(wanted: Any, actual: Any, agreed: bool) -> None:
    assert agrees(wanted, actual) is agreed
