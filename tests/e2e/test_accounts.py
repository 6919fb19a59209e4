"""Installed as it is, the second scheduler's pod has an account for each container."""

from __future__ import annotations

import asyncio
import base64
import json
import sys
from typing import TYPE_CHECKING, Any

import pytest

from extender.core.kube.client import ApiClient
from extender.core.kube.credentials import load_credentials
from extender.tokens import LOOK_SECONDS, keep
from tests.deploy.kustomize import render
from tests.deploy.places import MANIFESTS, ROOT, SIDECAR
from tests.deploy.starting import started, until_ready
from tests.e2e.access import token_of
from tests.e2e.api import Api, ApiError
from tests.e2e.applying import apply
from tests.e2e.controlplane.cluster import control_plane
from tests.e2e.controlplane.credentials import ADMIN, User

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
    from pathlib import Path

    from tests.e2e.controlplane.binaries import Binaries
    from tests.e2e.controlplane.cluster import ControlPlane
    from tests.e2e.objects import JSON

SYSTEM = "/api/v1/namespaces/kube-system"
LEASES = "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases"
PODS = f"{SYSTEM}/pods?labelSelector=app.kubernetes.io/name=affinity-scheduler"
BOND = "affinity-extender-tokens"
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


@pytest.fixture(scope="module")
def token(cluster: ControlPlane, tmp_path_factory: pytest.TempPathFactory) -> str:
    """Return what the container beside the sidecar asks for, with what it may do."""
    file = tmp_path_factory.mktemp("token") / "token"
    asyncio.run(_write_token(cluster, file))
    return file.read_text()


async def _write_token(cluster: ControlPlane, file: Path) -> None:
    """Keep the token of the shipped account until it is there for the first time."""
    scheduler = cluster.kubeconfig(User("pod", token=await _own_token(cluster)))
    written = asyncio.Event()
    own = file.with_name("own")
    own.mkdir()
    for name in ("ca.crt", "namespace"):
        (own / name).touch()

    async def sleep(seconds: float) -> None:
        if seconds == LOOK_SECONDS:
            written.set()
        await asyncio.sleep(seconds / 20)

    async def never() -> bool:
        return False

    async with ApiClient(await load_credentials(str(scheduler))) as client:
        work = asyncio.create_task(
            keep(
                *(client.post, "kube-system/affinity-extender", BOND, file, never),
                own=own,
                sleep=sleep,
            )
        )
        async with asyncio.timeout(30):
            await written.wait()
        work.cancel()


async def _own_token(cluster: ControlPlane) -> str:
    """Return a token as the kubelet asks for it, bound to the first of the pods."""
    async with Api.connected(cluster.server, ADMIN.token, cluster.credentials.ca) as admin:
        found = await _until(lambda: admin.get(PODS), lambda found: len(found["items"]) == 2)
        pod = found["items"][0]
        sources = [
            source["serviceAccountToken"]
            for volume in pod["spec"]["volumes"]
            for source in volume.get("projected", {}).get("sources", ())
            if "serviceAccountToken" in source
        ]
        (seconds,) = (source["expirationSeconds"] for source in sources)
        account = f"{SYSTEM}/serviceaccounts/affinity-scheduler"
        return await token_of(admin, account, pod["metadata"]["name"], seconds)


def claims(token: str) -> dict[str, Any]:
    """Return what a token says of itself."""
    middle = token.split(".")[1]
    return dict(json.loads(base64.urlsafe_b64decode(middle + "=" * (-len(middle) % 4))))


@pytest.fixture
async def extender(cluster: ControlPlane, token: str) -> AsyncIterator[Api]:
    async with Api.connected(cluster.server, token, cluster.credentials.ca) as api:
        yield api


@pytest.fixture
async def scheduler(cluster: ControlPlane) -> AsyncIterator[Api]:
    """Return a client with the token of the pod's own account."""
    token = await _own_token(cluster)
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
            mount["name"] for mount in container["volumeMounts"] if mount["mountPath"] == PLACE
        ]
        for container in (*spec["initContainers"], *spec["containers"])
    }
    assert mounted == {
        "affinity-extender-token": ["scheduler-token"],
        "affinity-extender": ["extender-token"],
        "kube-scheduler": ["scheduler-token"],
    }


async def test_tokens_are_for_an_hour_and_bound(cluster: ControlPlane, token: str) -> None:
    own = await _own_token(cluster)
    for each, to in ((token, "secret"), (own, "pod")):
        said = claims(each)
        assert said["exp"] - said["iat"] == 3600
        assert to in said["kubernetes.io"]


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


async def test_the_scheduler_s_account_may_ask_for_no_other_token(scheduler: Api) -> None:
    request = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {}}
    for name, expected in (("affinity-extender", 200), ("affinity-scheduler", 403)):
        call = f"POST {SYSTEM}/serviceaccounts/{name}/token"
        assert await status(scheduler, call, request) == expected


async def test_without_the_secret_its_tokens_are_worth_nothing(admin: Api, extender: Api) -> None:
    assert await status(extender, "GET /api/v1/nodes", None) == 200
    await admin.delete(f"{SYSTEM}/secrets/{BOND}")
    async with asyncio.timeout(30):
        # The API server keeps what it knows of a token for some seconds.
        while await status(extender, "GET /api/v1/nodes", None) != 401:  # noqa: ASYNC110
            await asyncio.sleep(0.2)
    bond = {"kind": "Secret", "apiVersion": "v1", "metadata": {"name": BOND}}
    await admin.create(f"{SYSTEM}/secrets", bond)
    await asyncio.sleep(1)
    assert await status(extender, "GET /api", None) == 401, "another Secret, other tokens"
