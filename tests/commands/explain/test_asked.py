"""What explain can be asked about: pods and workloads, by name and from manifests."""

from __future__ import annotations

import io
import json
import sys
from typing import Any

import pytest
import yaml

from tests.builders import ZONE, pod, term, workload
from tests.commands.explain.cluster import WEB, Explain


@pytest.mark.parametrize("kind", ["Deployment", "StatefulSet", "DaemonSet", "Job", "CronJob"])
def test_a_workload_from_a_manifest(kind: str, explain: Explain) -> None:
    template = pod("t", "shop").anti_affinity(term(ZONE, WEB))
    web = pod("web-0", "shop").labels(app="web")
    manifest = workload(kind, "new", template)
    code, text = explain(
        "", web.on("a1"), web.on("b1") | {"metadata": web["metadata"]}, manifest=manifest
    )
    assert (code, text.splitlines()[0]) == (0, f"shop/{kind.lower()}/new fits on 2 of 3 nodes")


@pytest.mark.parametrize(
    ("kind", "key"),
    [
        pytest.param("Deployment", "pod-template-hash", id="a Deployment"),
        pytest.param("StatefulSet", "controller-revision-hash", id="a StatefulSet"),
        pytest.param("DaemonSet", "controller-revision-hash", id="a DaemonSet"),
    ],
)
def test_a_manifest_is_a_new_revision_to_match_label_keys(
    kind: str, key: str, explain: Explain
) -> None:
    apart = pod("t").labels(app="web").anti_affinity(term(ZONE, WEB, matchLabelKeys=[key]))
    old = [pod(f"web-{at}").labels(app="web", **{key: "old"}).on(at) for at in ("a1", "b1")]
    code, text = explain("", *old, manifest=workload(kind, "web", apart))
    assert (code, text.splitlines()[0]) == (0, f"default/{kind.lower()}/web fits on 3 of 3 nodes")


def test_several_manifests_and_the_namespace_they_lack(explain: Explain) -> None:
    fits, not_ = pod("fits"), pod("not").selects(disk="ssd")
    for each in (fits, not_):
        del each["metadata"]["namespace"]
    both = yaml.safe_dump_all([dict(fits), dict(not_), {"kind": "ConfigMap", "metadata": {}}])
    code, text = explain("-n shop", manifest=both)
    assert code == 1
    assert "shop/fits fits on 3 of 3 nodes" in text
    assert "shop/not fits on no node" in text
    assert "passed over: 1 ConfigMap" in text
    told = json.loads(explain("-n shop -o json", manifest=both)[1].partition("\naffinity")[0])
    assert [each["pod"] for each in told] == ["shop/fits", "shop/not"]


def test_a_manifest_from_standard_input(explain: Explain, monkeypatch: pytest.MonkeyPatch) -> None:
    content = io.BytesIO(json.dumps(pod("new")).encode())
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(content))
    assert explain("-f -")[1].startswith("default/new fits on 3 of 3 nodes")


def test_a_replica_of_a_workload_in_the_dump(explain: Explain) -> None:
    deployment = workload("Deployment", "web", pod("t", "shop").labels(app="web"), replicas=2)
    code, text = explain("deployment/web -n shop", deployment)
    assert (code, text.splitlines()[0]) == (0, "shop/deployment/web[0] fits on 3 of 3 nodes")


@pytest.mark.parametrize(
    ("line", "code", "said"),
    [
        pytest.param("new --node a1", 1, "default/new does not fit on a1", id="not there"),
        pytest.param("new --node b1", 0, "default/new fits on b1", id="there"),
        pytest.param("new --node a11", 2, "no node a11; did you mean a1", id="no such node"),
        pytest.param("pod/new", 0, "default/new fits on 1 of 3", id="as kubectl prints it"),
        pytest.param(
            "nwe",
            2,
            "in namespace default; did you mean new?",
            id="a slip",
        ),
        pytest.param("new -n shop", 2, "no pod new in namespace shop, but in default", id="where?"),
        pytest.param("", 0, "1 pod waits, for 1 cause", id="nothing asked"),
    ],
)
def test_names(line: str, code: int, said: str, explain: Explain) -> None:
    new = pod("new").anti_affinity(term(ZONE, WEB))
    got, text = explain(line, new, pod("web-0").labels(app="web").on("a1"))
    assert (got, said in text) == (code, True), text


@pytest.mark.parametrize(
    ("manifest", "said"),
    [
        pytest.param(
            "kind: Service",
            "passed over: 1 Service; expected a Pod, Deployment",
            id="nothing to explain",
        ),
        pytest.param("{", "not valid JSON", id="no JSON"),
        pytest.param("a: [", "line 2: did not find", id="no YAML"),
        pytest.param({"kind": "Pod", "metadata": {}}, "metadata.name", id="a pod without a name"),
        pytest.param(
            workload("Job", "j", pod("t").selects(disk=7)),  # type: ignore[arg-type]
            "Job default/j: template.spec.nodeSelector",
            id="a broken template",
        ),
    ],
)
def test_broken_manifests(manifest: Any, said: str, explain: Explain) -> None:
    code, text = explain("", manifest=manifest)
    assert (code, said in text) == (2, True), text


@pytest.mark.parametrize(
    ("old", "fits", "known"),
    [
        pytest.param([], 3, True, id="the first pods of it"),
        pytest.param(["x"], 1, True, id="more pods of the revision that is there"),
        pytest.param(["x", "y"], 1, False, id="pods of one of two revisions"),
    ],
)
def test_a_replica_in_the_dump_is_of_the_revision_that_is_there(
    *, old: list[str], fits: int, known: bool, explain: Explain
) -> None:
    key = "pod-template-hash"
    apart = pod("t").labels(app="web").anti_affinity(term(ZONE, WEB, matchLabelKeys=[key]))
    there = [apart.on("a1") | {"metadata": _owned(revision, key)} for revision in old]
    deployment = workload("Deployment", "web", apart, replicas=3)
    code, text = explain("deployment/web", deployment, *there)
    first = f"default/deployment/web[0] fits on {fits} of 3 nodes"
    assert (code, text.splitlines()[0]) == (0, first)
    assert ("has the label key pod-template-hash, and the pod" not in text) is known


def _owned(revision: str, key: str) -> dict[str, Any]:
    owner = {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": f"web-{revision}"}
    return {
        "name": f"web-{revision}-0",
        "namespace": "default",
        "labels": {"app": "web", key: revision},
        "ownerReferences": [owner | {"uid": "u", "controller": True}],
    }
