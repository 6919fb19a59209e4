"""What is read of a pod that others may be evicted for."""

from __future__ import annotations

from typing import Any

import pytest

from extender.core.errors import ObjectError
from extender.core.model.node_resources import Requirements
from tests.builders import model_pod, pod


def read(**spec: Any) -> Requirements:
    raw = pod("one")
    return model_pod({**raw, "spec": {**raw["spec"], **spec}}).spec.requirements


ALL = "RestartAllContainers"


def restarting(action: str) -> dict[str, Any]:
    """Build a container with a rule about its end."""
    return {"restartPolicyRules": [{"action": action, "exitCodes": {"operator": "In"}}]}


def test_defaults() -> None:
    found = read()
    assert (found.scheduler, found.is_plain) == ("default-scheduler", True)


def test_its_scheduler_and_its_tolerations() -> None:
    found = read(schedulerName="mine", tolerations=[{"operator": "Exists"}])
    assert found.scheduler == "mine"
    assert found.tolerations


@pytest.mark.parametrize(
    ("spec", "plain"),
    [
        pytest.param({"volumes": [{"name": "a", "configMap": {"name": "x"}}]}, True, id="a file"),
        pytest.param(
            {"volumes": [{"name": "a", "persistentVolumeClaim": {"claimName": "x"}}]},
            False,
            id="a volume that is somewhere",
        ),
        pytest.param({"resourceClaims": [{"name": "gpu"}]}, False, id="a device"),
        pytest.param({"containers": [restarting("Restart")]}, True, id="a restart"),
        pytest.param({"containers": [{}, restarting(ALL)]}, False, id="a feature of the node"),
        pytest.param({"initContainers": [restarting(ALL)]}, False, id="of one that comes before"),
        pytest.param({"containers": [{"ports": [{"hostPort": 80}]}]}, True, id="a host port"),
        pytest.param({"topologySpreadConstraints": [{}]}, False, id="required spread"),
        pytest.param(
            {"topologySpreadConstraints": [{"whenUnsatisfiable": "ScheduleAnyway"}]},
            True,
            id="preferred spread",
        ),
    ],
)
def test_what_only_the_scheduler_looks_at(spec: dict[str, Any], *, plain: bool) -> None:
    assert read(**spec).is_plain is plain


def test_what_is_broken_is_named() -> None:
    with pytest.raises(ObjectError, match="schedulerName"):
        read(schedulerName=5)
