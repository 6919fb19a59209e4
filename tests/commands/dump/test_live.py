"""The command dump on a live cluster."""

from __future__ import annotations

import asyncio
import json
from dataclasses import replace
from pathlib import Path

import pytest

from affinityctl import cli
from affinityctl.commands.dump.run import LISTED
from affinityctl.commands.lint.objects import POLICIES
from extender.core.kube import reader
from extender.core.kube.limits import MOST
from tests.builders import Json, node, pod, selector, workload
from tests.kube.fake_api import answering, failure
from tests.kube.live import PATHS, made_current
from tests.kube.rig import Rig

OBJECTS: list[Json] = [
    node("n"),
    *(pod(f"p{number}") for number in range(3)),
    workload("Deployment", "web", pod("t")),
    workload("ReplicaSet", "web-5d", pod("t"), replicas=2, selector=selector(app="web")),
]
NOTE = "affinity-extender: note: no right to list resourcequotas, so the dump has none of them\n"


async def dumped() -> tuple[int, list[str]]:
    return await asyncio.to_thread(dumped_here)


def dumped_here() -> tuple[int, list[str]]:
    code, found = cli.main(["dump"]), list(Path().glob("*dump*"))
    items = [each for file in found for each in json.loads(file.read_text())["items"]]
    specs = [each["spec"] for each in items if each["kind"] == "ReplicaSet"]
    assert specs == [{"selector": selector(app="web")}] * len(specs), "templates are left out"
    return code, [f"{each['kind']}/{each['metadata']['name']}" for each in items]


@pytest.fixture
def cluster(rig: Rig, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Rig:
    monkeypatch.chdir(tmp_path)
    for each in LISTED:
        rig.api.collection(each.path)
    made_current(rig, OBJECTS, tmp_path, monkeypatch)
    return rig


ALL = ["Node/n", "Pod/p0", "Pod/p1", "Pod/p2", "Deployment/web", "ReplicaSet/web-5d"]


async def test_what_may_be_listed(cluster: Rig, capsys: pytest.CaptureFixture[str]) -> None:
    refused = answering(lambda: failure(403, "Forbidden", "no"))
    cluster.api.collection(PATHS["ResourceQuota"]).lists.append(refused)
    assert await dumped() == (0, ALL)
    assert capsys.readouterr().err == NOTE


async def test_a_list_that_is_too_old_to_go_on_begins_anew(
    cluster: Rig, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reader, "MOST", replace(MOST, page=2))
    pods = cluster.api.collection(PATHS["Pod"])
    pods.lists.extend((pods.list, answering(lambda: failure(410, "Expired", "too old"))))
    assert await dumped() == (0, ALL)


async def test_without_pods_there_is_no_dump(cluster: Rig) -> None:
    refused = answering(lambda: failure(403, "Forbidden", "no"))
    cluster.api.collection(PATHS["Pod"]).lists.append(refused)
    assert await dumped() == (3, [])


async def test_before_kubernetes_1_36_there_are_no_policies_and_no_word_about_them(
    cluster: Rig, capsys: pytest.CaptureFixture[str]
) -> None:
    missing = answering(lambda: failure(404, "NotFound", "no such resource"))
    cluster.api.collection(POLICIES.path).lists.append(missing)
    assert await dumped() == (0, ALL)
    assert capsys.readouterr().err == ""
