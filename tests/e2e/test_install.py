"""A second scheduler as docs/install.md has it, from a wheel and manifests to what is left of it.

The wheel is installed where nothing else is, and stands in for the image in pods as they are
applied.
"""

from __future__ import annotations

import asyncio
import base64
import json
import subprocess
from contextlib import AsyncExitStack
from typing import TYPE_CHECKING

import aiohttp
import pytest

from tests.deploy.kustomize import render
from tests.deploy.places import PROGRAM_WHEEL, ROOT, SERVICE, SIDECARS
from tests.deploy.test_install_page import PAGE, make_certificates
from tests.deploy.test_wheel import built, install
from tests.e2e.api import Api
from tests.e2e.applying import apply, path_of
from tests.e2e.containers import Kubelet, Program
from tests.e2e.controlplane.cluster import Features, control_plane
from tests.e2e.controlplane.credentials import ADMIN
from tests.e2e.controlplane.process import free_port
from tests.e2e.controlplane.toolchain import MissingToolError
from tests.e2e.objects import HOSTNAME, node, pod, term
from tests.e2e.revisions import install_pinned
from tests.missing import missing

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Iterator
    from pathlib import Path

    from tests.e2e.controlplane.binaries import Binaries
    from tests.e2e.controlplane.cluster import ControlPlane
    from tests.e2e.objects import JSON

    Said = Callable[..., tuple[int, str]]

PODS = "/api/v1/namespaces/default/pods"
SYSTEM = "/api/v1/namespaces/kube-system"
LEASES = "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases"
EXTENDER = "affinity-extender"
SCHEDULER = "affinity-scheduler"
WEB = {"app": "web"}
SETTLE_S = 30
AUDIT = {
    "apiVersion": "audit.k8s.io/v1",
    "kind": "Policy",
    "rules": [{"level": "Metadata", "userGroups": ["system:serviceaccounts:kube-system"]}],
}
AUDIT_LOG = "audit.log"
CONTROLLERS = ("*", "-node-lifecycle-controller", "-taint-eviction-controller")


@pytest.fixture(scope="module")
def cluster(binaries: Binaries, tmp_path_factory: pytest.TempPathFactory) -> Iterator[ControlPlane]:
    """Run a control plane that hands tokens out, as any does, and notes what is asked with them."""
    folder, off = tmp_path_factory.mktemp("installed"), ["TaintNodesByCondition"]
    policy = folder / "audit.json"
    policy.write_text(json.dumps(AUDIT))
    options = f"--audit-policy-file={policy}", f"--audit-log-path={folder / AUDIT_LOG}"
    with control_plane(
        *(binaries, folder, [], Features(options=options)),
        admission_off=off,
        controllers=CONTROLLERS,
    ) as cluster:
        yield cluster


@pytest.fixture
async def api(cluster: ControlPlane) -> AsyncIterator[Api]:
    async with Api.connected(cluster.server, ADMIN.token, cluster.credentials.ca) as api:
        yield api


@pytest.fixture(scope="module")
def programs(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Install the wheel and the packages that are pinned; return the folder of its programs.

    It is that of a release, if one is named.
    """
    home, dist = tmp_path_factory.mktemp("programs"), request.config.getoption("--release-in")
    wheel = built(ROOT, tmp_path_factory.mktemp("wheel")) if dist is None else dist / PROGRAM_WHEEL
    found = install(home, [wheel.resolve()])
    try:
        install_pinned(home, ROOT / "requirements.txt")
    except MissingToolError as error:
        missing(str(error))
    return found


@pytest.fixture
def kubelet(cluster: ControlPlane, api: Api, programs: Path, tmp_path: Path) -> Kubelet:
    """Return one that has the image."""
    port, ops, own = free_port(), free_port(), free_port()
    extender = Program(
        str(programs / EXTENDER),
        port,
        f"http://127.0.0.1:{ops}/readyz",
        (f"--port={port}", f"--ops-port={ops}"),
    )
    scheduler = Program(
        cluster.binaries["kube-scheduler"],
        own,
        f"https://127.0.0.1:{own}/readyz",
        (f"--secure-port={own}", "--bind-address=127.0.0.1"),
    )
    images = {EXTENDER: extender, "registry.k8s.io/kube-scheduler": scheduler}
    return Kubelet(cluster, api, images, tmp_path, hosts=[EXTENDER])


@pytest.fixture
def said(cluster: ControlPlane, programs: Path) -> Said:
    """Return what asks the cluster with the plugin of kubectl, for its exit code and answer."""

    def ask(*command: str) -> tuple[int, str]:
        flags = ("--kubeconfig", str(cluster.kubeconfig(ADMIN)))
        done = subprocess.run(
            [str(programs / "kubectl-affinity"), *command, *flags],
            cwd="/",
            capture_output=True,
            text=True,
            check=False,
        )
        return done.returncode, done.stdout

    return ask


@pytest.mark.parametrize(
    "overlay",
    [SIDECARS["assist"], SIDECARS["replace"], SERVICE],
    ids=lambda overlay: overlay.name,
)
async def test_it_is_installed_places_pods_and_goes(
    api: Api, kubelet: Kubelet, said: Said, tmp_path: Path, overlay: Path
) -> None:
    port = kubelet.programs[EXTENDER].port
    secrets = [*certificates(tmp_path)] if overlay == SERVICE else []
    things = [*secrets, *render(overlay), node("n0"), node("n1")]
    for thing in things:
        # Where the scheduler calls: nothing else on this machine is in the way.
        await apply(api, json.loads(json.dumps(thing).replace(":10280", f":{port}")))

    async with AsyncExitStack() as stack:
        for deployment in (each for each in things if each["kind"] == "Deployment"):
            one, *_ = await replicas(api, deployment["metadata"]["name"], there=True)
            await stack.enter_async_context(kubelet.running(one))
        pods = await stack.enter_async_context(api.mirror(PODS))
        for key in ("default/web-0", "default/web-1", "default/web-2"):
            each = pod(key.partition("/")[2], labels=WEB, apart=[term(HOSTNAME, WEB)])
            each["spec"]["schedulerName"] = SCHEDULER
            await api.create(PODS, each)
            await pods.until(
                lambda key=key: decided(pods.objects.get(key)),  # type: ignore[misc]
                SETTLE_S,
                f"{key} to be placed or refused",
            )
        nodes = [pods.objects[f"default/web-{n}"]["spec"].get("nodeName") for n in range(3)]
        assert {*nodes[:2]} == {"n0", "n1"}
        assert nodes[2] is None
        code, answer = said("explain", "web-2")
        assert (code, answer.splitlines()[0]) == (1, "default/web-2 fits on no node")
        assert await calls(kubelet.programs[EXTENDER]) > 0

    for thing in reversed(things):
        await api.delete(await path_of(api, thing))
    for name in (EXTENDER, SCHEDULER):
        await replicas(api, name, there=False)
    await api.delete(PODS)
    assert f"kubectl -n kube-system delete lease {SCHEDULER}\n" in PAGE
    await api.request("DELETE", f"{LEASES}/{SCHEDULER}")
    assert said("leftovers", "--remove")[0] == 0
    assert said("leftovers")[1].startswith("nothing is left of the extender")
    leases = [each["metadata"]["name"] for each in (await api.get(LEASES))["items"]]
    assert [name for name in leases if "affinity" in name] == []
    asked = [*decisions(kubelet.cluster)]
    assert {user for user, _, _ in asked} == {EXTENDER, SCHEDULER}
    assert [each for each in asked if each[-1] != "allow"] == []


def decisions(cluster: ControlPlane) -> Iterator[tuple[str, str, str]]:
    """Yield what was asked with the tokens of accounts, and what RBAC said to that."""
    for line in (cluster.folder / AUDIT_LOG).read_text().splitlines():
        event = json.loads(line)
        if event["stage"] == "RequestReceived":
            continue
        user = event["user"]["username"].rpartition(":")[2]
        call = f"{event['verb']} {event['requestURI']}"
        yield user, call, event["annotations"]["authorization.k8s.io/decision"]


def certificates(folder: Path) -> Iterator[JSON]:
    """Yield the Secrets that the page creates."""
    made = make_certificates(folder)
    for name in ("extender", "scheduler"):
        files = {"tls.crt": f"{name}.crt", "tls.key": f"{name}.key", "ca.crt": "ca.crt"}
        yield {
            "apiVersion": "v1",
            "kind": "Secret",
            "metadata": {"name": f"affinity-{name}-tls", "namespace": "kube-system"},
            "data": {
                key: base64.b64encode((made / file).read_bytes()).decode()
                for key, file in files.items()
            },
        }


async def replicas(api: Api, name: str, *, there: bool) -> list[JSON]:
    """Return the pods of a Deployment, once there are some, or none any more."""
    path = f"{SYSTEM}/pods?labelSelector=app.kubernetes.io/name={name}"
    async with asyncio.timeout(SETTLE_S):
        while bool(found := (await api.get(path))["items"]) != there:  # noqa: ASYNC110 (another process)
            await asyncio.sleep(0.1)
    return [*found]


def decided(found: JSON | None) -> bool:
    conditions = found["status"].get("conditions", ()) if found else ()
    return any(each["type"] == "PodScheduled" for each in conditions)


async def calls(extender: Program) -> float:
    """Return how many calls the extender has answered."""
    async with (
        aiohttp.ClientSession() as session,
        session.get(extender.ready.replace("readyz", "metrics")) as answer,
    ):
        lines = (await answer.text()).splitlines()
    return sum(
        float(each.split()[-1]) for each in lines if "request_duration_seconds_count" in each
    )
