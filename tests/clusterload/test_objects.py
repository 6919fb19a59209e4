"""Requests for objects of any kind, and what becomes of those that fail."""

from __future__ import annotations

import json
from collections import deque
from typing import TYPE_CHECKING, Any, cast

import pytest

from clusterload.objects import Kind, Objects
from extender.core.errors import ExtenderError
from extender.core.kube.failures import NoAnswerError, StatusError
from tests.kube.rig import VirtualTime

if TYPE_CHECKING:
    from collections.abc import Mapping

    from extender.core.kube.client import ApiClient

DEPLOYMENT = Kind("apps/v1", "Deployment")
RESOURCES = {
    "/api/v1": [("pods/eviction", "Eviction"), ("pods", "Pod"), ("namespaces", "Namespace")],
    "/apis/apps/v1": [("deployments", "Deployment"), ("deployments/scale", "Scale")],
}


class FakeClient:
    """Knows kinds; notes requests, and fails those for which there is a failure."""

    def __init__(self) -> None:
        self.requests: list[tuple[str, str, Any]] = []
        self.failures: deque[ExtenderError] = deque()

    async def get(self, path: str, params: Mapping[str, str]) -> bytes:
        """Return the kinds of a group and version."""
        assert params == {}
        self.requests.append(("get", path, None))
        resources = [{"name": name, "kind": kind} for name, kind in RESOURCES[path]]
        return json.dumps({"resources": resources}).encode()

    async def post(self, path: str, body: bytes) -> bytes:
        return self._answer("post", path, body)

    async def patch(self, path: str, body: bytes, kind: str) -> bytes:
        assert kind == "application/merge-patch+json"
        return self._answer("patch", path, body)

    async def delete(self, path: str, body: bytes) -> bytes:
        return self._answer("delete", path, body)

    def _answer(self, verb: str, path: str, body: bytes) -> bytes:
        self.requests.append((verb, path, json.loads(body)))
        if self.failures:
            raise self.failures.popleft()
        return b"{}"


def rig() -> tuple[FakeClient, VirtualTime, Objects]:
    client, time = FakeClient(), VirtualTime()
    return client, time, Objects(cast("ApiClient", client), time.timing)


async def test_paths_come_from_discovery_which_is_asked_once() -> None:
    client, _, objects = rig()

    assert await objects.collection(DEPLOYMENT, "a") == "/apis/apps/v1/namespaces/a/deployments"
    assert await objects.collection(DEPLOYMENT) == "/apis/apps/v1/deployments"
    assert await objects.collection(Kind("v1", "Pod"), "a") == "/api/v1/namespaces/a/pods"
    assert await objects.collection(Kind("v1", "Namespace")) == "/api/v1/namespaces"

    assert [path for _, path, _ in client.requests] == ["/apis/apps/v1", "/api/v1"]


async def test_an_unknown_kind_is_an_error() -> None:
    _, _, objects = rig()

    with pytest.raises(ExtenderError, match="the API server has no Deploymend in apps/v1"):
        await objects.collection(Kind("apps/v1", "Deploymend"))


async def test_objects_get_their_name_and_namespace() -> None:
    client, _, objects = rig()
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"generateName": "x-", "labels": None}}

    await objects.create("a", "pod-0", pod)
    await objects.patch("a", "pod-0", pod)
    await objects.delete("a", "pod-0", Kind("v1", "Pod"))

    named = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "pod-0", "namespace": "a"}}
    assert client.requests[1:] == [
        ("post", "/api/v1/namespaces/a/pods", named),
        ("patch", "/api/v1/namespaces/a/pods/pod-0", named),
        ("delete", "/api/v1/namespaces/a/pods/pod-0", {"propagationPolicy": "Background"}),
    ]


@pytest.mark.parametrize(
    "failure",
    [
        StatusError(429, "TooManyRequests", "slow down"),
        StatusError(500, "InternalError", "etcd"),
        StatusError(409, "Conflict", "quota", retry_after=0.0),
        NoAnswerError("connection reset"),
    ],
)
async def test_what_may_pass_is_tried_again(failure: ExtenderError) -> None:
    client, time, objects = rig()
    client.failures.extend([failure] * 2)

    await objects.delete("a", "pod-0", Kind("v1", "Pod"))

    assert [verb for verb, *_ in client.requests] == ["get", "delete", "delete", "delete"]
    assert time.slept == pytest.approx([0.1, 0.3])


async def test_the_server_may_ask_for_more_patience() -> None:
    client, time, objects = rig()
    client.failures.append(StatusError(429, "TooManyRequests", "slow down", retry_after=7.0))

    await objects.delete("a", "pod-0", Kind("v1", "Pod"))

    assert time.slept == [7.0]


async def test_patience_ends() -> None:
    client, time, objects = rig()
    client.failures.extend([StatusError(503, "ServiceUnavailable", "gone")] * 6)

    with pytest.raises(StatusError, match="503 ServiceUnavailable"):
        await objects.delete("a", "pod-0", Kind("v1", "Pod"))

    assert len(time.slept) == 5


async def test_what_cannot_pass_is_raised_at_once() -> None:
    client, time, objects = rig()
    client.failures.append(StatusError(422, "Invalid", "spec.containers: Required value"))

    with pytest.raises(StatusError, match="422 Invalid"):
        await objects.create("a", "pod-0", {"apiVersion": "v1", "kind": "Pod"})

    assert time.slept == []


async def test_what_is_there_or_gone_already_will_do() -> None:
    client, _, objects = rig()
    client.failures.append(StatusError(409, "AlreadyExists", "pod-0"))
    await objects.create("a", "pod-0", {"apiVersion": "v1", "kind": "Pod"})

    client.failures.append(StatusError(404, "NotFound", "pod-0"))
    await objects.delete("a", "pod-0", Kind("v1", "Pod"))
