"""Which ports of its node a pod takes."""

from __future__ import annotations

import json
from typing import Any

import pytest

from extender.core.errors import ObjectError
from extender.core.model.node_resources import HostPort
from extender.core.wire.objects import PodReader
from tests.builders import model_pod


def read(**spec: Any) -> list[HostPort]:
    return list(model_pod({"metadata": {"name": "x"}, "spec": spec}).spec.ports)


def container(*ports: Any, **fields: Any) -> dict[str, Any]:
    return {"name": "c", "ports": list(ports), **fields}


TAKEN = {"containerPort": 80, "hostPort": 80}
HTTP = HostPort("", "TCP", 80)


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        pytest.param({}, [], id="no containers"),
        pytest.param({"containers": [container({"containerPort": 80})]}, [], id="no host port"),
        pytest.param({"containers": [{"name": "c", "ports": None}]}, [], id="no ports"),
        pytest.param({"containers": [container({**TAKEN, "hostPort": 0})]}, [], id="0 is none"),
        pytest.param({"containers": [container(TAKEN)]}, [HTTP], id="TCP on every address"),
        pytest.param(
            {"containers": [container({**TAKEN, "hostIP": "0.0.0.0"})]},
            [HTTP],
            id="every address, written out",
        ),
        pytest.param(
            {"containers": [container({**TAKEN, "hostIP": "10.0.0.1", "protocol": "UDP"})]},
            [HostPort("10.0.0.1", "UDP", 80)],
            id="an address and a protocol",
        ),
        pytest.param(
            {"containers": [container(TAKEN), container({**TAKEN, "hostPort": 81})]},
            [HTTP, HostPort("", "TCP", 81)],
            id="of each container",
        ),
        pytest.param(
            {"initContainers": [container(TAKEN)]}, [], id="not of one that ends before the others"
        ),
        pytest.param(
            {"initContainers": [container(TAKEN, restartPolicy="Always")]},
            [HTTP],
            id="of a sidecar",
        ),
        pytest.param(
            {"hostNetwork": True, "containers": [container({"containerPort": 80})]},
            [HTTP],
            id="in the network of its host, all, as the API server fills in",
        ),
        pytest.param(
            {
                "hostNetwork": True,
                "containers": [container({**TAKEN, "containerPort": 8080})],
                "initContainers": [container({"containerPort": 81}, restartPolicy="Always")],
            },
            [HostPort("", "TCP", 81), HTTP],
            id="in the network of its host, those that are given first",
        ),
    ],
)
def test_ports_that_a_pod_holds(spec: dict[str, Any], expected: list[HostPort]) -> None:
    assert read(**spec) == expected


def test_placed_pods_with_the_same_ports_share_them() -> None:
    reader, spec = PodReader(), {"nodeName": "n", "containers": [container(TAKEN)]}
    raw = json.dumps({"metadata": {"name": "x"}, "spec": spec})
    one, other = (reader.read(raw.encode()) for _ in range(2))
    assert one.spec.ports is other.spec.ports


def test_a_broken_port_is_refused_by_the_path_of_its_field() -> None:
    with pytest.raises(ObjectError) as caught:
        read(containers=[container(), container({"hostPort": "http"})])
    assert caught.value.path == "spec.containers[1].ports[0].hostPort"
