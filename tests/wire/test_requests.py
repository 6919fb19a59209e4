"""What a pod requests in all, and what a node offers."""

from __future__ import annotations

import time
from typing import Any

import pytest

from extender.core.errors import ObjectError
from extender.core.model.node_resources import (
    CORDONED,
    JUST_A_POD,
    NO_REQUIREMENTS,
    Allocatable,
    Requirements,
    Taint,
    Toleration,
)
from extender.core.model.objects import Pod
from tests.builders import model_node, model_pod, node
from tests.builders import pod as new_pod


def container(cpu: str, **fields: Any) -> dict[str, Any]:
    """Build a container that requests cpu."""
    return {"name": "c", "resources": {"requests": {"cpu": cpu}, "limits": {"cpu": "9"}}, **fields}


def read(**spec: Any) -> Pod:
    return model_pod({"metadata": {"name": "x"}, "spec": spec})


@pytest.mark.parametrize(
    ("spec", "cpu"),
    [
        pytest.param({}, None, id="no containers at all, as in a test's manifest"),
        pytest.param({"containers": [{"name": "c"}]}, None, id="no requests"),
        pytest.param({"containers": [container("100m"), container("1")]}, 1100, id="a sum"),
        pytest.param(
            {"containers": [container("1")], "initContainers": [container("3"), container("2")]},
            3000,
            id="the largest init container, when it is larger",
        ),
        pytest.param(
            {
                "containers": [container("1")],
                "initContainers": [container("2", restartPolicy="Always"), container("500m")],
            },
            3000,
            id="a sidecar runs beside the others",
        ),
        pytest.param(
            {
                "containers": [container("1")],
                "initContainers": [container("2", restartPolicy="Always"), container("5")],
            },
            7000,
            id="and beside later init containers",
        ),
        pytest.param(
            {
                "containers": [container("1")],
                "initContainers": [container("5"), container("2", restartPolicy="Always")],
            },
            5000,
            id="not beside earlier ones",
        ),
        pytest.param(
            {"containers": [container("1")], "overhead": {"cpu": "250m"}}, 1250, id="overhead"
        ),
        pytest.param(
            {
                "containers": [container("1")],
                "resources": {"requests": {"cpu": "4"}},
                "overhead": {"cpu": "1"},
            },
            5000,
            id="requests of the whole pod instead of its containers'",
        ),
        pytest.param(
            {
                "containers": [{"resources": {"limits": {"cpu": "2"}}}],
                "initContainers": [
                    {"resources": {"limits": {"cpu": "1"}}, "restartPolicy": "Always"}
                ],
            },
            3000,
            id="limits where a container says no request, as the API server fills it in",
        ),
        pytest.param(
            {"containers": [{"name": "c"}], "resources": {"limits": {"cpu": "4"}}},
            4000,
            id="the limit of the whole pod, where nobody says a request",
        ),
        pytest.param(
            {"containers": [container("1")], "resources": {"limits": {"cpu": "4"}}},
            1000,
            id="requests of containers rather than the limit of the whole pod",
        ),
    ],
)
def test_what_a_pod_requests(spec: dict[str, Any], cpu: int | None) -> None:
    expected = JUST_A_POD if cpu is None else (("cpu", cpu), ("pods", 1))
    assert read(**spec).spec.requests == expected


def test_replicas_share_their_requests() -> None:
    from extender.core.wire.objects import PodReader  # noqa: PLC0415

    reader = PodReader()
    raw = b'{"metadata":{"name":"%s"},"spec":{"containers":[{"resources":{"requests":%s}}]}}'
    one = reader.read(raw % (b"a", b'{"cpu":"1"}'))
    two = reader.read(raw % (b"b", b'{"cpu":"1"}'))
    assert one.spec.requests is two.spec.requests


@pytest.mark.parametrize(
    "spec",
    [
        pytest.param({"containers": [container("lots")]}, id="a broken quantity"),
        pytest.param({"containers": [{"resources": 7}]}, id="resources that are none"),
        pytest.param({"overhead": []}, id="an overhead that is none"),
    ],
)
def test_broken_requests_are_named(spec: dict[str, Any]) -> None:
    with pytest.raises(ObjectError, match=r"^spec\.(containers\[0\]\.resources|overhead)"):
        read(**spec)


def test_many_containers_beside_one_of_many_resources_are_read_in_one_pass() -> None:
    """The API server stores it, and every event of the pod would hold up those of all others."""
    many = {f"example.com/r{number}": "1" for number in range(5000)}
    sidecar = {"restartPolicy": "Always", "resources": {"requests": many, "limits": many}}
    begun = time.process_time()
    found = read(initContainers=[sidecar, *([container("1")] * 1500)])
    assert time.process_time() - begun < 0.6
    assert dict(found.spec.requests)["cpu"] == 1000
    assert len(found.spec.requests) == 5002


def test_what_a_node_offers() -> None:
    taints = [
        {"key": "gpu", "value": "yes", "effect": "NoSchedule"},
        {"key": "soft", "effect": "PreferNoSchedule"},
    ]
    raw = node("n", room={"cpu": "2", "memory": "1Ki", "pods": "110"}, taints=taints)
    assert model_node(raw).allocatable == Allocatable(
        {"cpu": 2000, "memory": 1024, "pods": 110}, (Taint("gpu", "yes", "NoSchedule"),)
    )


def test_a_node_is_cordoned_before_it_has_the_taint_for_that() -> None:
    raw = node("n")
    raw["spec"] = {"unschedulable": True}
    allocatable = model_node(raw).allocatable
    assert (allocatable.unschedulable, allocatable.taints) == (True, ())
    tolerating = Requirements((Toleration(CORDONED.key, None, CORDONED.effect),))
    assert not NO_REQUIREMENTS.tolerates(allocatable)
    assert tolerating.tolerates(allocatable)


def test_where_a_pod_is_nominated() -> None:
    assert model_pod(new_pod("x").nominated("n")).status.nominated == "n"
    assert model_pod(new_pod("x")).status.nominated is None
