"""What features write on pods of a real API server is found and removed, and nothing beside it."""

from __future__ import annotations

import asyncio
import json
from typing import TYPE_CHECKING

import pytest

from affinityctl import cli
from extender.core.config.features import Trace, features
from extender.core.kube.calls import (
    JSON_PATCH,
    STRATEGIC_MERGE,
    condition_patch,
    lease_path,
    pod_path,
)
from extender.core.kube.client import ApiClient
from extender.core.kube.credentials import load_credentials
from tests.builders import pod
from tests.e2e.api import Api
from tests.e2e.controlplane.cluster import storage_and_apiserver
from tests.e2e.controlplane.credentials import ADMIN

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.e2e.controlplane.binaries import Binaries
    from tests.e2e.controlplane.cluster import ControlPlane
    from tests.e2e.objects import JSON

PODS = "/api/v1/namespaces/default/pods"
LEASE = {
    "apiVersion": "coordination.k8s.io/v1",
    "kind": "Lease",
    "metadata": {"namespace": "kube-system", "name": "affinity-extender"},
    "spec": {
        "holderIdentity": "gone",
        "leaseDurationSeconds": 15,
        "renewTime": "2020-01-01T00:00:00.000000Z",
    },
}
TRACES = [trace for each in features() for trace in each.traces if not trace.ends]
FIELDS = {each.name for each in TRACES if each.place == "field"}


@pytest.fixture(scope="module")
def cluster(binaries: Binaries, tmp_path_factory: pytest.TempPathFactory) -> Iterator[ControlPlane]:
    """Run an API server alone."""
    folder = tmp_path_factory.mktemp("leftovers")
    with storage_and_apiserver(binaries, binaries, folder, []) as cluster:
        yield cluster


async def leave(client: ApiClient, found: JSON, trace: Trace) -> None:
    """Write as a feature does, by the program's own client."""
    key, uid = f"default/{found['metadata']['name']}", found["metadata"]["uid"]
    match trace.place:
        case "annotation":
            body = json.dumps({"metadata": {"annotations": {trace.name: "7"}}}).encode()
            await client.patch(pod_path(key), body, STRATEGIC_MERGE)
        case "condition":
            condition = {"type": trace.name, "status": "True", "message": "a digest"}
            patch = condition_patch(uid, condition)
            await client.patch(f"{pod_path(key)}/status", patch, STRATEGIC_MERGE)
        case "field":
            step = {"op": "add", "path": f"/status/{trace.name}", "value": "node-1"}
            body = json.dumps([step]).encode()
            await client.patch(f"{pod_path(key)}/status", body, JSON_PATCH)


async def test_a_pod_is_as_it_was_before(
    cluster: ControlPlane, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    kubeconfig = str(cluster.kubeconfig(ADMIN))
    monkeypatch.setenv("KUBECONFIG", kubeconfig)
    credentials = await load_credentials(kubeconfig)
    async with (
        Api.connected(cluster.server, ADMIN.token, cluster.credentials.ca) as api,
        ApiClient(credentials) as client,
    ):
        whole = pod("p").labels(app="web").uid(None)
        before = await api.create(PODS, whole)
        other = await api.create(PODS, pod("of-scheduler").uid(None))
        # By a client of another name: not the program's to take back.
        by_scheduler = {"status": dict.fromkeys(FIELDS, "node-2")}
        other = await api.patch(f"{PODS}/of-scheduler/status", by_scheduler)
        for each in TRACES:
            await leave(client, before, each)
        await api.create(lease_path("kube-system"), LEASE)

        async def asked(*flags: str) -> tuple[int, JSON]:
            code = await asyncio.to_thread(cli.main, ["leftovers", "-o", "json", *flags])
            told: JSON = json.loads(capsys.readouterr().out)
            return code, told

        code, told = await asked()
        named = {(each["kind"], each["name"], each["key"]) for each in told["left"]}
        expected = {("Pod", "p", each.name) for each in TRACES}
        assert (code, named) == (1, expected | {("Lease", "affinity-extender", "")})
        code, told = await asked("--remove")
        assert (code, told["count"]) == (0, 0)
        assert (await asked()) == (0, {"left": [], "count": 0})

        for old in (before, other):
            new = await api.get(f"{PODS}/{old['metadata']['name']}")
            for name in ("managedFields", "resourceVersion", "generation"):
                old["metadata"].pop(name, None)
                new["metadata"].pop(name, None)
            new["metadata"] = {k: v for k, v in new["metadata"].items() if v != {}}
            new["status"] = {k: v for k, v in new["status"].items() if v != []}
            assert new == old
