"""What else a pod asks of its node, read and applied."""

from __future__ import annotations

from typing import Any

import pytest

from extender.model.node_resources import Allocatable, Requirements, Taint
from tests.builders import model_pod, pod


def wish(**spec: Any) -> Requirements:
    """Read the wish of a pod with this spec."""
    raw = pod("one")
    return model_pod({**raw, "spec": {**raw["spec"], **spec}}).requirements


GPU = Taint("gpu", "yes", "NoSchedule")


@pytest.mark.parametrize(
    ("toleration", "expected"),
    [
        pytest.param({"operator": "Exists"}, True, id="everything"),
        pytest.param({"key": "gpu", "operator": "Exists"}, True, id="any value"),
        pytest.param({"key": "gpu", "value": "yes"}, True, id="equal is the default"),
        pytest.param({"key": "gpu", "operator": "Equal", "value": "no"}, False, id="other value"),
        pytest.param({"key": "gpu"}, False, id="no value is the empty one"),
        pytest.param({"key": "x", "operator": "Exists"}, False, id="another key"),
        pytest.param(
            {"key": "gpu", "operator": "Exists", "effect": "NoExecute"}, False, id="other effect"
        ),
        pytest.param(
            {"key": "gpu", "operator": "Exists", "effect": "NoSchedule"}, True, id="same effect"
        ),
        pytest.param({"key": "gpu", "operator": "Lt", "value": "9"}, False, id="unknown operator"),
    ],
)
def test_which_taints_a_pod_tolerates(toleration: dict[str, str], expected: bool) -> None:
    assert wish(tolerations=[toleration]).tolerates(Allocatable({}, (GPU,))) is expected


def test_every_taint_has_to_be_tolerated() -> None:
    both = Allocatable({}, (GPU, Taint("old", "", "NoExecute")))
    assert not wish(tolerations=[{"key": "gpu", "operator": "Exists"}]).tolerates(both)
    assert wish(tolerations=[{"operator": "Exists"}]).tolerates(both)
    assert wish().tolerates(Allocatable({}))
