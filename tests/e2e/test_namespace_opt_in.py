"""The MutatingAdmissionPolicy that opts namespaces in by label, on a real API server."""

from __future__ import annotations

import asyncio
import copy
from typing import TYPE_CHECKING, Any

import pytest

from tests.deploy.places import MANIFESTS, read_objects
from tests.e2e.api import Api
from tests.e2e.applying import collection
from tests.e2e.controlplane.cluster import storage_and_apiserver
from tests.e2e.controlplane.credentials import ADMIN
from tests.e2e.objects import JSON, namespace, pod
from tests.e2e.sandbox import pods_path

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator

    from tests.e2e.controlplane.binaries import Binaries
    from tests.e2e.controlplane.cluster import ControlPlane

POLICY = read_objects(MANIFESTS / "components/namespace-opt-in/policy.yaml")
LABEL = "affinity-extender.io/scheduler"
OURS, DEFAULT = "affinity-scheduler", "default-scheduler"
IN_FORCE_S = 30
"""The API server tells of no event when a policy comes into force."""


@pytest.fixture(scope="module")
def cluster(binaries: Binaries, tmp_path_factory: pytest.TempPathFactory) -> Iterator[ControlPlane]:
    """Run an API server alone, with the policy in force; it has the API of 1.34 as well."""
    folder = tmp_path_factory.mktemp("policy")
    older = "--runtime-config=admissionregistration.k8s.io/v1beta1=true"
    with storage_and_apiserver(binaries, binaries, folder, [], older) as cluster:
        asyncio.run(_put_in_force(cluster))
        yield cluster


@pytest.fixture
async def api(cluster: ControlPlane) -> AsyncIterator[Api]:
    async with Api.connected(cluster.server, ADMIN.token, cluster.credentials.ca) as api:
        yield api


async def _put_in_force(cluster: ControlPlane) -> None:
    async with Api.connected(cluster.server, ADMIN.token, cluster.credentials.ca) as api:
        for labels in ({LABEL: "enabled"}, {LABEL: "disabled"}, {}):
            name = labels.get(LABEL, "unlabelled")
            await api.create("/api/v1/namespaces", namespace(name, **labels))
        system = {"metadata": {"labels": {LABEL: "enabled"}}}
        await api.patch("/api/v1/namespaces/kube-system", system)
        for thing in POLICY:
            await api.create(collection(thing), thing)
        async with asyncio.timeout(IN_FORCE_S):
            while await scheduler_of(api, pod("tried", "enabled")) == DEFAULT:  # noqa: ASYNC110
                await asyncio.sleep(0.2)


async def scheduler_of(api: Api, raw: JSON) -> str:
    """Try a pod, and return the scheduler that it gets; nothing else of its spec is changed."""
    got = (await api.request("POST", pods_path(raw), raw, dryRun="All"))["spec"]
    assert _without_defaults(got, raw["spec"] | {"schedulerName": got["schedulerName"]})
    return str(got["schedulerName"])


def _without_defaults(got: Any, asked: Any) -> bool:
    """Tell whether all that was asked for is there."""
    if isinstance(asked, dict):
        return all(name in got and _without_defaults(got[name], asked[name]) for name in asked)
    if isinstance(asked, list):
        return len(got) >= len(asked) and all(map(_without_defaults, got, asked))
    return bool(got == asked)


def owned(kind: str, *, controller: bool = True) -> JSON:
    raw = pod("tried", "enabled")
    owner = {"apiVersion": "apps/v1", "kind": kind, "name": "o", "uid": "1"}
    raw["metadata"]["ownerReferences"] = [owner | {"controller": controller}]
    return raw


def spec(**fields: Any) -> JSON:
    raw = pod("tried", "enabled")
    raw["spec"] |= fields
    return raw


def mirror() -> JSON:
    """Return a static pod, as the kubelet shows it."""
    raw = pod("tried", "enabled", on="n1")
    raw["metadata"]["annotations"] = {"kubernetes.io/config.mirror": "1"}
    return raw


TWICE = {
    "name": "main",
    "image": "none.invalid/none",
    "env": [{"name": "A", "value": "1"}, {"name": "A", "value": "2"}],
    "ports": [{"containerPort": 80, "name": "a"}, {"containerPort": 80, "name": "b"}],
}
"""Allowed, though these lists are merged by the keys that are there twice."""


@pytest.mark.parametrize(
    "raw",
    [
        pytest.param(pod("tried", "enabled"), id="a pod"),
        pytest.param(spec(schedulerName=DEFAULT), id="one that names the default"),
        pytest.param(owned("ReplicaSet"), id="one of a ReplicaSet"),
        pytest.param(owned("DaemonSet", controller=False), id="one that no DaemonSet made"),
        pytest.param(spec(containers=[TWICE]), id="one with keys that are there twice"),
    ],
)
async def test_pods_of_a_namespace_with_the_label_go_to_the_second_scheduler(
    api: Api, raw: JSON
) -> None:
    assert await scheduler_of(api, raw) == OURS


@pytest.mark.parametrize(
    ("raw", "expected"),
    [
        pytest.param(pod("tried", "unlabelled"), DEFAULT, id="no label"),
        pytest.param(pod("tried", "disabled"), DEFAULT, id="another value"),
        pytest.param(pod("tried", "kube-system"), DEFAULT, id="kube-system, in spite of its label"),
        pytest.param(spec(schedulerName="volcano"), "volcano", id="another scheduler"),
        pytest.param(pod("tried", "enabled", on="n1"), DEFAULT, id="a node"),
        pytest.param(mirror(), DEFAULT, id="a static pod"),
        pytest.param(owned("DaemonSet"), DEFAULT, id="a pod of a DaemonSet"),
    ],
)
async def test_others_are_left_alone(api: Api, raw: JSON, expected: str) -> None:
    assert await scheduler_of(api, raw) == expected


async def test_a_pod_keeps_its_scheduler_when_the_label_goes(api: Api) -> None:
    raw = pod("placed", "enabled")
    await api.create(pods_path(raw), raw)
    path = "/api/v1/namespaces/enabled"
    await api.patch(path, {"metadata": {"labels": {LABEL: None}}})
    async with asyncio.timeout(IN_FORCE_S):
        while await scheduler_of(api, pod("tried", "enabled")) != DEFAULT:  # noqa: ASYNC110
            await asyncio.sleep(0.2)
    changed = await api.patch(f"{pods_path(raw)}/placed", {"metadata": {"labels": {"a": "b"}}})
    assert changed["spec"]["schedulerName"] == OURS
    await api.patch(path, {"metadata": {"labels": {LABEL: "enabled"}}})


async def test_a_pod_is_let_in_where_the_policy_cannot_be_evaluated(api: Api) -> None:
    policy, binding = copy.deepcopy(POLICY)
    policy["metadata"]["name"] = binding["metadata"]["name"] = binding["spec"]["policyName"] = "x"
    policy["spec"]["matchConstraints"]["namespaceSelector"] = {"matchLabels": {"broken": "yes"}}
    mutation = policy["spec"]["mutations"][0]["applyConfiguration"]
    mutation["expression"] = mutation["expression"].replace(
        f"'{OURS}'", "object.metadata.annotations['name']"
    )
    await api.create("/api/v1/namespaces", namespace("broken", broken="yes"))
    for thing in (policy, binding):
        await api.create(collection(thing), thing)
    named = pod("tried", "broken")
    named["metadata"]["annotations"] = {"name": OURS}
    async with asyncio.timeout(IN_FORCE_S):
        while await scheduler_of(api, named) == DEFAULT:  # noqa: ASYNC110
            await asyncio.sleep(0.2)
    assert await scheduler_of(api, pod("tried", "broken")) == DEFAULT


async def test_the_api_of_1_34_takes_the_same(api: Api) -> None:
    for thing in copy.deepcopy(POLICY):
        thing["apiVersion"] = "admissionregistration.k8s.io/v1beta1"
        thing["metadata"]["name"] = "older"
        path = collection(thing).replace("/v1/", "/v1beta1/")
        answer = await api.request("POST", path, thing, dryRun="All", fieldValidation="Strict")
        assert _without_defaults(answer, thing)
