"""Installed as it is, the second scheduler's pod has an account for each container."""

from __future__ import annotations

import asyncio
import base64
import sys
from typing import TYPE_CHECKING

import pytest

from tests.deploy.kustomize import render
from tests.deploy.places import MANIFESTS, ROOT, SIDECAR
from tests.deploy.starting import started, until_ready
from tests.e2e.api import Api, ApiError
from tests.e2e.applying import apply
from tests.e2e.controlplane.cluster import control_plane
from tests.e2e.controlplane.credentials import ADMIN, User

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable, Iterator

    from tests.e2e.controlplane.binaries import Binaries
    from tests.e2e.controlplane.cluster import ControlPlane
    from tests.e2e.objects import JSON

SYSTEM = "/api/v1/namespaces/kube-system"
LEASES = "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases"
PODS = f"{SYSTEM}/pods?labelSelector=app.kubernetes.io/name=affinity-scheduler"
PLACE = "/var/run/secrets/kubernetes.io/serviceaccount"


@pytest.fixture(scope="module")
def cluster(binaries: Binaries, tmp_path_factory: pytest.TempPathFactory) -> Iterator[ControlPlane]:
    """Install the second scheduler where tokens are handed out, as in any cluster."""
    folder = tmp_path_factory.mktemp("accounts")
    with control_plane(binaries, folder, [], admission_off=["TaintNodesByCondition"]) as cluster:
        asyncio.run(_install(cluster))
        yield cluster


async def _install(cluster: ControlPlane) -> None:
    async with Api.connected(cluster.server, ADMIN.token, cluster.credentials.ca) as api:
        for thing in render(SIDECAR):
            await apply(api, thing)


@pytest.fixture
async def admin(cluster: ControlPlane) -> AsyncIterator[Api]:
    async with Api.connected(cluster.server, ADMIN.token, cluster.credentials.ca) as api:
        yield api


@pytest.fixture
async def token(cluster: ControlPlane, admin: Api) -> str:
    """Return what the sidecar mounts."""
    path = f"{SYSTEM}/secrets/affinity-extender-token"
    secret = await _until(lambda: admin.get(path), lambda found: "token" in found.get("data", {}))
    assert base64.b64decode(secret["data"]["ca.crt"]) == cluster.credentials.ca.read_bytes()
    return base64.b64decode(secret["data"]["token"]).decode()


@pytest.fixture
async def extender(cluster: ControlPlane, token: str) -> AsyncIterator[Api]:
    async with Api.connected(cluster.server, token, cluster.credentials.ca) as api:
        yield api


@pytest.fixture
async def scheduler(cluster: ControlPlane, admin: Api) -> AsyncIterator[Api]:
    """Return a client with a token as the API server makes them for the pod's account."""
    request = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {}}
    path = f"{SYSTEM}/serviceaccounts/affinity-scheduler/token"
    token = (await admin.create(path, request))["status"]["token"]
    async with Api.connected(cluster.server, token, cluster.credentials.ca) as api:
        yield api


async def _until(ask: Callable[[], Awaitable[JSON]], done: Callable[[JSON], bool]) -> JSON:
    async with asyncio.timeout(30):
        while not done(found := await ask()):  # noqa: ASYNC110 - nothing tells of it
            await asyncio.sleep(0.1)
    return found


async def status(api: Api, call: str, body: JSON | None) -> int:
    """Make a request, and return what it is answered with."""
    method, path = call.split()
    try:
        kind = "merge-patch+json" if method == "PATCH" else "json"
        await api.request(method, path, body, dryRun="All", content_type=f"application/{kind}")
    except ApiError as error:
        return error.status
    return 200


async def test_each_container_has_one_token_and_the_sidecar_its_own(admin: Api) -> None:
    found = await _until(lambda: admin.get(PODS), lambda found: len(found["items"]) == 2)
    spec = found["items"][0]["spec"]
    mounted = {
        container["name"]: [
            volume
            for mount in container["volumeMounts"]
            for volume in spec["volumes"]
            if mount["mountPath"] == PLACE and volume["name"] == mount["name"]
        ]
        for container in (*spec["initContainers"], *spec["containers"])
    }
    (own,), (of_pod,) = mounted["affinity-extender"], mounted["kube-scheduler"]
    assert own["secret"]["secretName"] == "affinity-extender-token"
    assert "serviceAccountToken" in of_pod["projected"]["sources"][0]
    assert spec["serviceAccountName"] == "affinity-scheduler"


@pytest.mark.parametrize("mode", ["assist", "shadow"])
async def test_the_extender_gets_ready_with_its_token_alone(
    cluster: ControlPlane, token: str, mode: str
) -> None:
    kubeconfig = cluster.kubeconfig(User(f"sidecar-{mode}", token=token))
    command = [
        *(sys.executable, "-m", "extender", "serve", f"--kubeconfig={kubeconfig}"),
        *(f"--config={MANIFESTS / 'base/config.yaml'}", f"--mode={mode}"),
        *("--port=0", "--ops-port=0"),
    ]
    environ = {"PATH": "/usr/bin:/bin", "PYTHONPATH": str(ROOT)}
    async with started(command, environ) as program:
        await until_ready(program.operations)


BINDING = {"kind": "Binding", "metadata": {"name": "p"}, "target": {"kind": "Node", "name": "n"}}
LEASE = {"kind": "Lease", "metadata": {"name": "affinity-scheduler"}}


@pytest.mark.parametrize(
    ("call", "body", "of_scheduler"),
    [
        pytest.param(f"POST {SYSTEM}/pods/p/binding", BINDING, 404, id="bind a pod"),
        pytest.param(f"DELETE {SYSTEM}/pods/p", None, 404, id="delete a pod"),
        pytest.param(f"PATCH {SYSTEM}/pods/p/status", {}, 404, id="say something of a pod"),
        pytest.param(f"POST {LEASES}", LEASE, 200, id="take the scheduler's lease"),
        pytest.param("GET /api/v1/persistentvolumes", None, 200, id="read volumes"),
        pytest.param(f"GET {SYSTEM}/secrets", None, 403, id="read secrets"),
        pytest.param("DELETE /api/v1/nodes/n", None, 403, id="delete a node"),
    ],
)
async def test_what_only_the_scheduler_may_do_the_extender_may_not(
    extender: Api, scheduler: Api, call: str, body: JSON | None, of_scheduler: int
) -> None:
    assert await status(scheduler, call, body) == of_scheduler
    assert await status(extender, call, body) == 403
