"""The command lint on a live cluster."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

import pytest
import yaml
from aiohttp import web

from affinityctl import cli
from tests.builders import HOST, Json, namespace, node, pod, requirement, selector, term, workload
from tests.kube.fake_api import answering, failure
from tests.kube.live import pointing_to
from tests.kube.rig import Rig

WEB = pod("web").labels(app="web").uid(None)
NEGATIVE = selector(requirement("team", "NotIn", "a"))
FAR = term(HOST, selector(app="x"), namespaceSelector=NEGATIVE)
THINGS: dict[str, list[Json]] = {
    "/api/v1/nodes": [node("n", {HOST: "n"})],
    "/api/v1/namespaces": [namespace("default")],
    "/api/v1/pods": [
        WEB.uid("u")
        .anti_affinity(term("rack", selector(app="web")))
        .owned_by("ReplicaSet/it-5d")
        .labels({"pod-template-hash": "5d"})
        .on("n"),
    ],
    "/apis/apps/v1/deployments": [
        workload("Deployment", "it", WEB.anti_affinity(term("rack", selector(app="web")))),
    ],
    "/apis/apps/v1/statefulsets": [
        workload("StatefulSet", "db", WEB.avoids(1, FAR)),
    ],
    "/apis/apps/v1/daemonsets": [],
    "/apis/batch/v1/cronjobs": [],
    "/apis/batch/v1/jobs": [],
    "/apis/policy/v1/poddisruptionbudgets": [],
}


@pytest.mark.parametrize(
    ("minor", "expected"),
    [
        ("37", {"topology-key-unknown"}),
        ("36+", {"topology-key-unknown", "namespace-selector-negative"}),
    ],
)
async def test_workloads_are_judged_by_the_cluster_s_nodes_and_version(
    rig: Rig,
    tmp_path: Path,
    minor: str,
    expected: set[str],
    capsys: pytest.CaptureFixture[str],
) -> None:
    for path, objects in THINGS.items():
        collection = rig.api.collection(path)
        for each in objects:
            collection.put(json.loads(json.dumps(each)))
    version = {"major": "1", "minor": minor, "gitVersion": f"v1.{minor}.0"}
    rig.api.collection("/version").lists.append(answering(lambda: web.json_response(version)))
    kubeconfig = tmp_path / "config"
    kubeconfig.write_text(yaml.safe_dump(pointing_to(str(rig.api.url))))
    arguments = ["lint", "--kubeconfig", str(kubeconfig), "-o", "json"]
    assert await asyncio.to_thread(cli.kubectl, arguments) == 1
    found = json.loads(capsys.readouterr().out)["findings"]
    assert {each["rule"] for each in found} == expected
    assert {(each["object"], each["file"]) for each in found} <= {
        ("Deployment default/it", ""),
        ("StatefulSet default/db", ""),
    }


POLICIES = "/apis/admissionregistration.k8s.io/v1/mutatingadmissionpolicies"
POLICY: Json = {"metadata": {"name": "affinity-extender-exclusive"}}
EXCLUSIVE = workload("Job", "it", WEB.annotated("affinity-extender.io/exclusive", "app by rack"))


@pytest.mark.parametrize(
    ("policies", "code"),
    [
        pytest.param([POLICY], 0, id="it is there"),
        pytest.param(
            [{"metadata": {"name": "x-affinity-extender-exclusive"}}], 0, id="of another release"
        ),
        pytest.param([{"metadata": {"name": "another"}}], 1, id="it is not"),
        pytest.param(403, 1, id="policies may not be listed"),
        pytest.param(None, 1, id="before Kubernetes 1.36"),
    ],
)
async def test_the_policy_for_exclusive_domains_is_looked_for(
    rig: Rig, tmp_path: Path, policies: list[Json] | int | None, code: int
) -> None:
    for path in THINGS:
        rig.api.collection(path)
    rig.api.collection("/apis/batch/v1/jobs").put(json.loads(json.dumps(EXCLUSIVE)))
    if isinstance(policies, int):
        refused = answering(lambda: failure(403, "Forbidden", "no"))
        rig.api.collection(POLICIES).lists.append(refused)
    for each in policies if isinstance(policies, list) else ():
        rig.api.collection(POLICIES).put(json.loads(json.dumps(each)))
    rig.api.collection("/version").lists.append(answering(lambda: web.json_response({})))
    kubeconfig = tmp_path / "config"
    kubeconfig.write_text(yaml.safe_dump(pointing_to(str(rig.api.url))))
    assert await asyncio.to_thread(cli.kubectl, ["lint", "--kubeconfig", str(kubeconfig)]) == code


@pytest.mark.parametrize("body", [b"<html>", b'{"minor": 37}', b"\xff", b"[" * 5000])
async def test_a_version_that_no_api_server_sends(
    rig: Rig, tmp_path: Path, capsys: pytest.CaptureFixture[str], body: bytes
) -> None:
    for path in THINGS:
        rig.api.collection(path)
    rig.api.collection("/version").lists.append(answering(lambda: web.Response(body=body)))
    kubeconfig = tmp_path / "config"
    kubeconfig.write_text(yaml.safe_dump(pointing_to(str(rig.api.url))))
    assert await asyncio.to_thread(cli.kubectl, ["lint", "--kubeconfig", str(kubeconfig)]) == 3
    assert "not what the API server sends" in capsys.readouterr().err


async def test_a_cluster_that_cannot_be_read(
    rig: Rig, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    kubeconfig = tmp_path / "config"
    kubeconfig.write_text(yaml.safe_dump(pointing_to(str(rig.api.url))))
    assert await asyncio.to_thread(cli.kubectl, ["lint", "--kubeconfig", str(kubeconfig)]) == 3
    assert "404" in capsys.readouterr().err
