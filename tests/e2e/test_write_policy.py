"""What a real API server lets the extender's account write into pods, whatever RBAC grants it."""

from __future__ import annotations

import asyncio
import json
import ssl
from http import HTTPStatus
from typing import TYPE_CHECKING, Any

import aiohttp
import pytest
import yaml

from tests.deploy.places import MANIFESTS
from tests.e2e.api import Api, ApiError
from tests.e2e.applying import collection
from tests.e2e.controlplane.cluster import storage_and_apiserver
from tests.e2e.controlplane.credentials import ADMIN
from tests.e2e.extending import EXTENDER
from tests.e2e.objects import JSON, node, pod

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator

    from tests.e2e.controlplane.binaries import Binaries
    from tests.e2e.controlplane.cluster import ControlPlane

PODS = "/api/v1/namespaces/default/pods"
POD = f"{PODS}/p"
COST = "controller.kubernetes.io/pod-deletion-cost"
GIVEN_COST = "affinity-extender.io/deletion-cost"
MERGE, STRATEGIC = "merge-patch+json", "strategic-merge-patch+json"
JSON_PATCH, APPLY = "json-patch+json", "apply-patch+yaml"
NAME = "affinity-extender-writes"
ON_KUBEADM = "affinity-extender"


@pytest.fixture(scope="module")
def cluster(binaries: Binaries, tmp_path_factory: pytest.TempPathFactory) -> Iterator[ControlPlane]:
    """Run an API server alone, with the policy in force and one pod."""
    folder = tmp_path_factory.mktemp("writes")
    with storage_and_apiserver(binaries, binaries, folder, []) as cluster:
        asyncio.run(_put_in_force(cluster))
        yield cluster


async def _put_in_force(cluster: ControlPlane) -> None:
    async with Api.connected(cluster.server, ADMIN.token, cluster.credentials.ca) as admin:
        raw = pod("p")
        raw["metadata"] |= {"labels": {"app": "p"}, "annotations": {"team": "a"}}
        raw["metadata"]["finalizers"] = ["example.com/held"]
        raw["spec"]["tolerations"] = [{"key": "a", "operator": "Exists"}]
        raw["spec"]["containers"][0]["resources"] = {"requests": {"cpu": "1"}}
        await admin.create(PODS, raw)
        await admin.create("/api/v1/nodes", node("n", "x"))
        conditions = [{"type": "Ready", "status": "True"}]
        status = {"phase": "Running", "podIP": "10.0.0.1", "podIPs": [{"ip": "10.0.0.1"}]}
        await admin.patch(f"{POD}/status", {"status": status | {"conditions": conditions}})
        text = (MANIFESTS / "components/write-policy/policy.yaml").read_text()
        for thing in yaml.safe_load_all(text):
            await admin.create(collection(thing), thing)
    extender = _as(cluster, EXTENDER.name)
    try:
        async with asyncio.timeout(30):
            # The API server tells of no event when a policy comes into force.
            while await _says(extender, f"PATCH {POD}", RELABELLED) is None:  # noqa: ASYNC110
                await asyncio.sleep(0.2)
    finally:
        await extender.session.close()


class _Client(Api):
    """A client, with its session to close."""

    def __init__(self, session: aiohttp.ClientSession, server: str) -> None:
        super().__init__(session, server)
        self.session = session


def _as(cluster: ControlPlane, user: str) -> _Client:
    """Speak for a user to whom RBAC refuses nothing."""
    context = ssl.create_default_context(cafile=cluster.credentials.ca)
    headers = {
        "Authorization": f"Bearer {ADMIN.token}",
        "Impersonate-User": user,
        "Impersonate-Group": "system:masters",
    }
    connector = aiohttp.TCPConnector(ssl=context)
    return _Client(aiohttp.ClientSession(connector=connector, headers=headers), cluster.server)


@pytest.fixture(params=[EXTENDER.name, ON_KUBEADM])
async def extender(cluster: ControlPlane, request: pytest.FixtureRequest) -> AsyncIterator[_Client]:
    client = _as(cluster, request.param)
    yield client
    await client.session.close()


async def _says(api: Api, call: str, body: Any, kind: str = MERGE, **options: Any) -> str | None:
    """Return what the policy refuses a request with, None when it lets it through."""
    method, path = call.split()
    if method != "PATCH":
        kind = "json"
    try:
        await api.request(
            method, path, body, dryRun="All", content_type=f"application/{kind}", **options
        )
    except ApiError as error:
        message = str(json.loads(str(error).partition(": ")[2])["message"])
        if (
            error.status == HTTPStatus.UNPROCESSABLE_ENTITY
            and "affinity-extender-writes" in message
        ):
            return message
        raise
    return None


def annotated(value: str | None = "-1") -> JSON:
    return {"metadata": {"annotations": {COST: value, GIVEN_COST: value}}}


BINDING = {"kind": "Binding", "apiVersion": "v1", "target": {"kind": "Node", "name": "n"}}
EVICTION = {"kind": "Eviction", "apiVersion": "policy/v1", "metadata": {"name": "p"}}
OURS = [
    {"type": name, "status": "True"}
    for name in ("PodScheduled", "DisruptionTarget", "affinity-extender.io/RulesAtPlacement")
]


def bound(**metadata: Any) -> JSON:
    return BINDING | {"metadata": {"name": "p"} | metadata}


@pytest.mark.parametrize(
    ("call", "body", "kind"),
    [
        pytest.param(f"PATCH {POD}", annotated(), STRATEGIC, id="both costs"),
        pytest.param(f"PATCH {POD}", annotated(None), MERGE, id="no costs any more"),
        pytest.param(f"PATCH {POD}", {}, MERGE, id="nothing"),
        pytest.param(
            f"PATCH {POD}/status", {"status": {"conditions": OURS}}, STRATEGIC, id="conditions"
        ),
        pytest.param(
            f"PATCH {POD}/status", {"status": {"nominatedNodeName": "n"}}, MERGE, id="nomination"
        ),
        pytest.param(f"POST {POD}/eviction", EVICTION, MERGE, id="eviction"),
        pytest.param(f"POST {POD}/binding", bound(), MERGE, id="bind"),
        pytest.param(f"POST {POD}/binding", bound(**annotated()["metadata"]), MERGE, id="priced"),
        pytest.param(f"DELETE {POD}", None, MERGE, id="delete"),
    ],
)
async def test_what_the_extender_does_is_let_through(
    extender: Api, call: str, body: Any, kind: str
) -> None:
    assert await _says(extender, call, body, kind) is None


async def test_so_is_what_it_writes_really(extender: Api, cluster: ControlPlane) -> None:
    async with Api.connected(cluster.server, ADMIN.token, cluster.credentials.ca) as admin:
        for value in ("-1", "-2", None):
            await extender.patch(POD, annotated(value))
            found = (await admin.get(POD))["metadata"]["annotations"]
            assert [found.get(name) for name in (COST, GIVEN_COST)] == [value, value]
            assert found["team"] == "a"


async def test_a_pod_with_very_many_annotations_can_be_marked_all_the_same(
    extender: Api, cluster: ControlPlane
) -> None:
    many = pod("many")
    many["metadata"]["annotations"] = {f"{number:05}": "" for number in range(20_000)}
    async with Api.connected(cluster.server, ADMIN.token, cluster.credentials.ca) as admin:
        await admin.create(PODS, many)
        status = f"PATCH {PODS}/many/status"
        try:
            assert (
                await _says(extender, status, {"status": {"conditions": OURS}}, STRATEGIC) is None
            )
            nominated = {"status": {"nominatedNodeName": "n"}}
            assert await _says(extender, status, nominated) is None
        finally:
            await admin.delete(f"{PODS}/many")


def spec(**fields: Any) -> JSON:
    return {"spec": fields}


def container(**fields: Any) -> JSON:
    return {"spec": {"containers": [{"name": "main"} | fields]}}


OWNER = {"apiVersion": "v1", "kind": "Node", "name": "n", "uid": "1"}
RELABELLED = {"metadata": {"labels": {"app": "other"}}}
EPHEMERAL = {"spec": {"ephemeralContainers": [{"name": "debug", "image": "evil"}]}}
RESIZED = container(resources={"requests": {"cpu": "2"}})
ADDED_TOLERATION = [{"op": "add", "path": "/spec/tolerations/-", "value": {"operator": "Exists"}}]
MOVED = {"podIP": "10.0.0.9", "podIPs": [{"ip": "10.0.0.9"}]}
REPLACED_LABELS = [{"op": "replace", "path": "/metadata/labels", "value": {}}]
REPLACED_STATUS = [{"op": "replace", "path": "/status", "value": {}}]
APPLIED = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p", "labels": {"app": "x"}}}


@pytest.mark.parametrize(
    ("call", "body", "kind"),
    [
        *(
            pytest.param(f"PATCH {POD}", body, kind, id=name)
            for name, body, kind in (
                ("an image", container(image="evil"), STRATEGIC),
                ("a deadline", spec(activeDeadlineSeconds=1), MERGE),
                ("a toleration", ADDED_TOLERATION, JSON_PATCH),
                ("a label", RELABELLED, MERGE),
                ("all labels", REPLACED_LABELS, JSON_PATCH),
                ("another annotation", {"metadata": {"annotations": {"team": "b"}}}, MERGE),
                ("a new annotation", {"metadata": {"annotations": {"x": "y"}}}, MERGE),
                ("no annotations", {"metadata": {"annotations": None}}, MERGE),
                ("one among costs", {"metadata": {"annotations": {COST: "1", "x": "y"}}}, MERGE),
                ("no finalizer", {"metadata": {"finalizers": None}}, MERGE),
                ("a finalizer", {"metadata": {"finalizers": ["example.com/x"]}}, STRATEGIC),
                ("an owner", {"metadata": {"ownerReferences": [OWNER]}}, STRATEGIC),
                ("an applied label", APPLIED, APPLY),
            )
        ),
        *(
            pytest.param(f"PATCH {POD}/status", body, kind, id=f"{name}, by its status")
            for name, body, kind in (
                ("an annotation", {"metadata": {"annotations": {"x": "y"}}}, MERGE),
                ("a cost", annotated(), MERGE),
                ("a label", RELABELLED, MERGE),
                ("no finalizer", {"metadata": {"finalizers": None}}, MERGE),
                ("an address", {"status": {"podIP": "10.0.0.9"}}, MERGE),
                ("addresses", {"status": MOVED}, MERGE),
                ("a phase", {"status": {"phase": "Failed"}}, MERGE),
                ("a condition", {"status": {"conditions": [
                    {"type": "Ready", "status": "False"}]}}, STRATEGIC),
                ("a gate", {"status": {"conditions": [
                    {"type": "example.com/Gate", "status": "True"}]}}, STRATEGIC),
                ("no conditions", {"status": {"conditions": None}}, MERGE),
                ("nothing left", REPLACED_STATUS, JSON_PATCH),
            )
        ),
        pytest.param(f"PATCH {POD}/ephemeralcontainers", EPHEMERAL, STRATEGIC, id="a container"),
        pytest.param(f"PATCH {POD}/resize", RESIZED, STRATEGIC, id="a size"),
        pytest.param(f"POST {PODS}", pod("another"), MERGE, id="another pod"),
        pytest.param(f"POST {POD}/binding", bound(labels={"app": "x"}), MERGE, id="bound label"),
        pytest.param(
            f"POST {POD}/binding", bound(annotations={"x": "y"}), MERGE, id="bound annotation"
        ),
    ],
)  # fmt: skip
async def test_nothing_else_is(extender: Api, call: str, body: Any, kind: str) -> None:
    options = {"fieldManager": "x", "force": "true"} if kind == APPLY else {}
    says = await _says(extender, call, body, kind, **options)
    assert says is not None
    assert "the extender " in says


@pytest.mark.parametrize(
    "change", [container(image="evil"), {"metadata": {"labels": {"app": "x"}}}]
)
async def test_an_update_is_no_way_around(
    extender: Api, cluster: ControlPlane, change: JSON
) -> None:
    async with Api.connected(cluster.server, ADMIN.token, cluster.credentials.ca) as admin:
        seen = await admin.get(POD)
        changed = await admin.request(
            "PATCH", POD, change, dryRun="All", content_type=f"application/{STRATEGIC}"
        )
        assert await _says(extender, f"PUT {POD}", seen) is None
        assert await _says(extender, f"PUT {POD}", changed | {"metadata": changed["metadata"]})


@pytest.mark.parametrize("call", [f"GET {POD}/exec?command=sh&stdout=1", f"POST {POD}/attach"])
async def test_it_runs_nothing_in_a_pod(extender: Api, call: str) -> None:
    method, path = call.split()
    with pytest.raises(ApiError, match="affinity-extender-writes"):
        await extender.request(method, path)


@pytest.mark.parametrize("user", ["system:serviceaccount:default:default", "an-affinity-extender"])
async def test_it_is_about_nobody_else(cluster: ControlPlane, user: str) -> None:
    other = _as(cluster, user)
    try:
        assert await _says(other, f"PATCH {POD}", container(image="other"), STRATEGIC) is None
    finally:
        await other.session.close()
