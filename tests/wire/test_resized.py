"""What a pod takes of its node while its resources are changed in place.

As AggregateContainerRequests of k8s.io/component-helpers/resource with UseStatusResources, by which
the scheduler counts.
"""

from __future__ import annotations

from typing import Any

import pytest

from tests.builders import model_pod

PENDING, IN_PROGRESS = "PodResizePending", "PodResizeInProgress"


def container(cpu: str | None, name: str = "c", **fields: Any) -> dict[str, Any]:
    return {"name": name, "resources": {} if cpu is None else {"requests": {"cpu": cpu}}, **fields}


def status(allocated: str | None, actual: str | None, name: str = "c") -> dict[str, Any]:
    """Build what a kubelet says of a container: what it has admitted, and what it has set."""
    found: dict[str, Any] = {"name": name}
    if allocated is not None:
        found["allocatedResources"] = {"cpu": allocated}
    if actual is not None:
        found["resources"] = {"requests": {"cpu": actual}}
    return found


def resizing(kind: str, reason: str = "") -> list[dict[str, Any]]:
    return [
        {"type": "Ready", "status": "True"},
        {"type": kind, "status": "True", "reason": reason},
    ]


CASES = [
    pytest.param("1", status("3", "3"), resizing(IN_PROGRESS), 3000, id="it has more still"),
    pytest.param(
        "1", status("1", "3"), resizing(IN_PROGRESS), 3000, id="less is admitted, not set"
    ),
    pytest.param(
        "3", status("1", "1"), resizing(PENDING, "Deferred"), 3000, id="it waits for more"
    ),
    pytest.param(
        "64", status("1", "1"), resizing(PENDING, "Infeasible"), 1000, id="it can never have more"
    ),
    pytest.param(
        "64", status("1", None), resizing(PENDING, "Infeasible"), 1000, id="of what is admitted"
    ),
    pytest.param(
        "64", status(None, None), resizing(PENDING, "Infeasible"), None, id="with nothing known"
    ),
    pytest.param(
        "2", status(None, None), resizing(IN_PROGRESS), 2000, id="the spec, for want of it"
    ),
    pytest.param(
        "2", status("9", "9", "d"), resizing(IN_PROGRESS), 2000, id="of another container"
    ),
    pytest.param(
        "1", status("3", "3"), [{"type": "Ready", "status": "True"}], 1000, id="not resized"
    ),
]


def read(spec: dict[str, Any], conditions: Any, **fields: Any) -> int | None:
    found = {"phase": "Running", "conditions": conditions, **fields}
    manifest = {"metadata": {"name": "x"}, "spec": {"nodeName": "n", **spec}, "status": found}
    return dict(model_pod(manifest).spec.requests).get("cpu")


@pytest.mark.parametrize(("cpu", "told", "conditions", "expected"), CASES)
def test_what_it_takes(cpu: str, told: Any, conditions: Any, expected: int | None) -> None:
    spec = {"containers": [container(cpu)]}
    assert read(spec, conditions, containerStatuses=[told]) == expected


def test_containers_are_told_by_their_names() -> None:
    """A kubelet sorts what it says of them; init containers have a list of their own."""
    spec = {
        "containers": [container("1", "web"), container("1", "app")],
        "initContainers": [container("1", "proxy", restartPolicy="Always"), container("9", "init")],
        "overhead": {"cpu": "500m"},
    }
    found = read(
        spec,
        resizing(PENDING, "Infeasible"),
        containerStatuses=[status("2", "2", "app"), status("4", "4", "web")],
        initContainerStatuses=[status("8", "8", "proxy"), status("1", "1", "init")],
    )
    assert found == 14_500


@pytest.mark.parametrize(
    ("reason", "expected"), [("Deferred", 6000), ("Infeasible", 4000)], ids=str
)
def test_of_the_pod_as_a_whole(reason: str, expected: int) -> None:
    spec = {"containers": [container("1")], "resources": {"requests": {"cpu": "6"}}}
    found = read(
        spec,
        resizing(PENDING, reason),
        allocatedResources={"cpu": "2"},
        resources={"requests": {"cpu": "4"}},
    )
    assert found == expected
