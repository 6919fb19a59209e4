"""The command leftovers: what it finds, what it removes, and what it leaves alone."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
import yaml
from aiohttp import web

from affinityctl import cli
from extender.core.config.features import features
from simulation.apiserver.patches import patched
from simulation.apiserver.store import Refused
from tests.builders import namespace, pod
from tests.kube.fake_api import Collection, FakeApi, failure
from tests.kube.live import pointing_to
from tests.kube.pulse import Pulse

PODS, NAMESPACES = "/api/v1/pods", "/api/v1/namespaces"
LEASES = "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases"
USERS = {"affinity-extender.io/lint-ignore": "x~/y"}
TRACES = [trace for each in features() for trace in each.traces if not trace.ends]


def traced(name: str, *, writer: str = "affinity-extender", **other: str) -> dict[str, Any]:
    """Build a waiting pod with all that features say they leave; `other` values by name."""
    made: Any = json.loads(json.dumps(pod(name)))
    metadata, status = made["metadata"], made.setdefault("status", {})
    metadata |= {"uid": name, "annotations": dict(USERS)}
    status["conditions"] = [{"type": "Ready", "status": "False"}]
    fields: dict[str, Any] = {}
    for place, key, *_ in TRACES:
        value = other.get(key, "1")
        match place:
            case "annotation":
                metadata["annotations"][key] = value
            case "condition":
                status["conditions"].append({"type": key, "status": "True"})
            case "field":
                status[key] = value
                fields[f"f:{key}"] = {}
    wrote = {"manager": writer, "operation": "Update", "fieldsV1": {"f:status": fields}}
    metadata["managedFields"] = [wrote]
    found: dict[str, Any] = made
    return found


def lease(renewed: float) -> dict[str, Any]:
    """Build the Lease that a replica renewed this many seconds ago."""
    at = datetime.now(UTC) - timedelta(seconds=renewed)
    return {
        "kind": "Lease",
        "metadata": {"namespace": "kube-system", "name": "affinity-extender", "uid": "l"},
        "spec": {
            "holderIdentity": "replica-1",
            "leaseDurationSeconds": 15,
            "renewTime": f"{at:%Y-%m-%dT%H:%M:%S.%fZ}",
        },
    }


class StoringApi(FakeApi):
    """The fake API server, which also takes patches and deletions."""

    def __init__(self) -> None:
        super().__init__(Pulse())
        self.written: list[str] = []
        self.refused = False
        self.guarded: tuple[str, ...] = ()
        """Ends of the paths that a webhook guards."""
        self.proxied = False
        """A proxy answers that it knows no way."""
        self.before_write: Callable[[], object] = lambda: None
        for path in (PODS, NAMESPACES, LEASES):
            self.collection(path)

    async def write(self, request: web.Request) -> web.StreamResponse:
        self.before_write()
        if self.refused or request.path.removesuffix("/status").endswith(self.guarded):
            return failure(403, "Forbidden", 'cannot patch resource "pods"')
        sent = await request.json()
        self.written.append(f"{request.method} {request.path}")
        collection, key = self._of(request.path.removesuffix("/status"))
        found = collection.objects.get(key)
        if found is None:
            return failure(404, "NotFound", "no such object")
        if request.method == "DELETE":
            collection.delete(key)
            return web.json_response({})
        try:
            collection.put(_conditions(found, sent) if "status" in sent else patched(found, sent))
        except Refused as refused:
            return failure(refused.status, refused.reason, str(refused))
        return web.json_response({})

    async def _answer(self, request: web.Request) -> web.StreamResponse:
        if not request.path.startswith(f"{LEASES}/"):
            return await super()._answer(request)
        if self.proxied:
            return web.Response(status=404, text="no such backend")
        collection, key = self._of(request.path)
        found = collection.objects.get(key)
        return (
            failure(404, "NotFound", "no such Lease") if found is None else web.json_response(found)
        )

    def _of(self, path: str) -> tuple[Collection, str]:
        _, space, resource, name = path.rsplit("/", 3)
        if resource == "namespaces":
            return self.collection(NAMESPACES), name
        return self.collection(LEASES if resource == "leases" else PODS), f"{space}/{name}"


def _conditions(found: Any, sent: Any) -> Any:
    if sent["metadata"]["uid"] != found["metadata"]["uid"]:
        raise Refused(409, "Conflict", "uid")
    (gone,) = sent["status"]["conditions"]
    assert gone["$patch"] == "delete"
    kept = [each for each in found["status"]["conditions"] if each["type"] != gone["type"]]
    return {**found, "status": {**found["status"], "conditions": kept}}


@pytest.fixture
async def api(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[StoringApi]:
    async with StoringApi() as running:
        config = tmp_path / "config"
        config.write_text(yaml.safe_dump(pointing_to(running.url)))
        monkeypatch.setenv("KUBECONFIG", str(config))
        yield running


async def asked(*flags: str) -> int:
    return await asyncio.to_thread(cli.main, ["leftovers", *flags])


def stored(api: StoringApi, name: str) -> Any:
    return api.collection(PODS).objects[f"default/{name}"]


def pods_without_traces(api: StoringApi) -> None:
    """Assert that of a pod only what is the user's and the kubelet's is left."""
    for found in api.collection(PODS).objects.values():
        assert found["metadata"]["annotations"] == USERS
        assert found["status"]["conditions"] == [{"type": "Ready", "status": "False"}]
        assert found["status"].keys() == {"phase", "conditions"}


async def test_a_clean_cluster_has_nothing(
    api: StoringApi, capsys: pytest.CaptureFixture[str]
) -> None:
    api.collection(PODS).put(dict(pod("p")))
    assert await asked("--remove") == 0
    assert "nothing is left" in capsys.readouterr().out
    assert api.written == []


async def test_it_lists_and_changes_nothing(
    api: StoringApi, capsys: pytest.CaptureFixture[str]
) -> None:
    api.collection(PODS).put(traced("p"))
    assert await asked("-o", "json") == 1
    told = json.loads(capsys.readouterr().out)
    found = {
        (each["place"], each["key"]) for each in told["left"] if each["writtenBy"] == "program"
    }
    assert found == {(each.place, each.name) for each in TRACES}
    assert [each["key"] for each in told["left"] if each["writtenBy"] == "user"] == [*USERS]
    assert told["count"] == len(TRACES) + 1
    assert await asked() == 1
    assert "--remove removes" in capsys.readouterr().out
    assert api.written == []


async def test_it_removes_what_the_program_wrote_and_nothing_else(
    api: StoringApi, capsys: pytest.CaptureFixture[str]
) -> None:
    for number in range(20):
        api.collection(PODS).put(traced(f"p{number}"))
    api.collection(LEASES).put(lease(renewed=60))
    assert await asked("--remove") == 0
    assert f"Removed {20 * len(TRACES) + 1}; 20 are left." in capsys.readouterr().out
    pods_without_traces(api)
    assert api.collection(LEASES).objects == {}
    assert await asked() == 0, "what is the user's own is no leftover"


async def test_what_users_wrote_goes_if_they_say_so(api: StoringApi) -> None:
    api.collection(PODS).put(traced("p"))
    labels = {"affinity-extender.io/groups": "enabled", "team": "a"}
    api.collection(NAMESPACES).put(dict(namespace("shop", labels)))
    assert await asked("--remove", "--also-yours") == 0
    assert stored(api, "p")["metadata"]["annotations"] == {}
    assert api.collection(NAMESPACES).objects["shop"]["metadata"]["labels"] == {"team": "a"}


async def test_what_other_programs_wrote_is_neither_listed_nor_removed(
    api: StoringApi, capsys: pytest.CaptureFixture[str]
) -> None:
    # A cost of the user's own beside ours, and a node that the scheduler nominated.
    shared = {each.name: "7" for each in TRACES if each.beside}
    api.collection(PODS).put(traced("p", writer="kube-scheduler", **shared))
    bound = traced("q")
    bound["spec"]["nodeName"] = "n"
    api.collection(PODS).put(bound)
    assert await asked("--remove", "-o", "json") == 0
    removed = [each for each in json.loads(capsys.readouterr().out)["left"] if each["removed"]]
    fields = {each.name for each in TRACES if each.place == "field"}
    of_p = {each["key"] for each in removed if each["name"] == "p"}
    assert of_p == {each.name for each in TRACES} - fields - shared.keys()
    assert {each["key"] for each in removed if each["name"] == "q"}.isdisjoint(fields)
    assert stored(api, "p")["metadata"]["annotations"] == USERS | shared


async def test_what_changes_meanwhile_is_kept_and_said(
    api: StoringApi, capsys: pytest.CaptureFixture[str]
) -> None:
    if not any(each.place == "annotation" for each in TRACES):
        pytest.skip("no feature leaves annotations")
    api.collection(PODS).put(traced("p"))

    def change() -> None:
        for each in TRACES:
            if each.place == "annotation":
                stored(api, "p")["metadata"]["annotations"][each.name] = "5"

    api.before_write = change
    assert await asked("--remove") == 1
    assert "changed meanwhile" in capsys.readouterr().out
    kept = stored(api, "p")["metadata"]["annotations"]
    assert kept == USERS | {each.name: "5" for each in TRACES if each.place == "annotation"}


async def test_a_pod_that_is_gone_has_nothing_left(api: StoringApi) -> None:
    api.collection(PODS).put(traced("p"))
    api.before_write = api.collection(PODS).objects.clear
    assert await asked("--remove") == 0


async def test_nothing_is_removed_while_an_extender_leads(
    api: StoringApi, capsys: pytest.CaptureFixture[str]
) -> None:
    api.collection(PODS).put(traced("p"))
    api.collection(LEASES).put(lease(renewed=3))
    assert await asked("--remove") == 2
    assert "replica-1 holds the Lease kube-system/affinity-extender" in capsys.readouterr().err
    assert api.written == []


async def test_without_the_right_it_says_which_is_missing(
    api: StoringApi, capsys: pytest.CaptureFixture[str]
) -> None:
    for number in range(9):
        api.collection(PODS).put(traced(f"p{number}"))
    api.refused = True
    assert await asked("--remove") == 3
    assert 'cannot patch resource "pods"; ask for that right' in capsys.readouterr().err


async def test_a_proxy_that_finds_no_lease_does_not_say_that_no_extender_leads(
    api: StoringApi, capsys: pytest.CaptureFixture[str]
) -> None:
    api.collection(PODS).put(traced("p"))
    api.collection(LEASES).put(lease(renewed=3))
    api.proxied = True
    assert await asked("--remove") == 3
    assert "404" in capsys.readouterr().err
    assert api.written == []


async def test_what_one_object_is_refused_keeps_nothing_on_the_others(
    api: StoringApi, capsys: pytest.CaptureFixture[str]
) -> None:
    for number in range(30):
        api.collection(PODS).put(traced(f"p{number}"))
    api.guarded = ("/p3", "/p4")
    assert await asked("--remove") == 1
    said = capsys.readouterr()
    assert f"Removed {28 * len(TRACES)}; " in said.out
    assert "could not be removed from 2 objects, such as Pod default/p3: 403" in said.err
    for guarded in ("p3", "p4"):
        assert set(api.collection(PODS).objects.pop(f"default/{guarded}")["status"]) > {"phase"}
    pods_without_traces(api)


@pytest.mark.parametrize(
    ("flags", "said"),
    [
        (("--also-yours",), "is for --remove"),
        (("--lease", "affinity-extender"), "is not NAMESPACE/NAME"),
        (("--remove", "--cluster", "x"), "has no use beside --cluster"),
    ],
)
async def test_flags_that_do_not_go_together(
    flags: tuple[str, ...], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert await asked(*flags) == 2
    assert said in capsys.readouterr().err


def test_a_file_is_looked_at_as_well(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    items = [traced("p"), lease(renewed=0), {"kind": "Service", "metadata": {"name": "s"}}]
    file = tmp_path / "all.json"
    file.write_text(json.dumps({"kind": "List", "items": items}))
    assert cli.main(["leftovers", "--cluster", str(file), "-o", "name"]) == 1
    assert capsys.readouterr().out.splitlines() == [
        "pod/p -n default",
        "lease/affinity-extender -n kube-system",
    ]
