"""Every command in docs/simulate.md is run, and answers what the page shows."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from tests.builders import HOST, ZONE, Pod, node, pod, selector, term, workload
from tests.deploy.places import ROOT
from tests.kube.live import made_current
from tests.kube.rig import Rig
from tests.pages import Page, assert_as_on_the_dump, assert_shown, run, write_dump

PAGE = Page("docs/simulate.md")
LIVE = [line for line in PAGE.asked if "dump.json" not in line]
DUMPED = [line for line in PAGE.asked if line.endswith("--cluster dump.json")]

ROOM = {"cpu": "2", "memory": "4Gi", "pods": "9"}
TEMPLATE = pod("t", "shop").labels(app="web").anti_affinity(term(HOST, selector(app="web")))
DEPLOYMENT = workload("Deployment", "web", TEMPLATE, replicas=2)


def replica(number: int, name: str) -> Pod:
    made = TEMPLATE.labels({"pod-template-hash": "5d"}).owned_by("ReplicaSet/web-5d").on(name)
    return Pod(made | {"metadata": made["metadata"] | {"name": f"web-5d-{number}"}})


OBJECTS = [
    node("node-16", {HOST: "node-16", ZONE: "a"}, ROOM),
    node("node-17", {HOST: "node-17", ZONE: "b"}, ROOM),
    node("node-18", {HOST: "node-18", ZONE: "b", "pool": "old"}, ROOM),
    DEPLOYMENT,
    replica(0, "node-17"),
    replica(1, "node-18"),
]
SAID = {
    "-f web.yaml --replicas 12": (
        1,
        "Place 12 pods of deployment default/shop: 3 pods placed, 9 wait",
    ),
    "-f web.yaml --until-full": (0, "Place pods of deployment default/shop until none fits: 3"),
    "--lose zone=b": (1, "Lose zone=b (2 nodes): 2 pods lost, 1 placed on other nodes, 1 waits"),
    "--drain pool=old": (0, "Drain pool=old (1 node): 1 pod evicted, 1 placed on other nodes"),
    "--drain node-17,node-18": (1, "Drain node-17,node-18 (2 nodes): 2 pods evicted"),
    "--lose-each zone": (1, "Lose each zone alone: 1 of 2 hurts"),
    "--drain-each": (0, "Drain each node alone: 0 of 3 hurt"),
    "--scale deployment/web=30 -n shop": (
        1,
        "Scale deployment shop/web from 2 to 30 pods: 1 pod placed",
    ),
    "--add-nodes 3 --like node-17 --drain pool=old": (0, "Add 3 nodes like node-17"),
    "--restart deployment/web -n shop --cluster dump.json": (0, "Update deployment shop/web"),
    "--roll deployment.yaml -n shop": (0, "Update deployment shop/web, 2 pods: 2 old deleted"),
}


def test_no_command_is_left_out() -> None:
    dumping = "affinity-extender dump -o dump.json"
    assert sorted(PAGE.asked) == sorted([*LIVE, *DUMPED, dumping])
    simulate = "affinity-extender simulate "
    assert {line.removeprefix(simulate) for line in (*LIVE, *DUMPED)} == SAID.keys()
    assert len(PAGE.shown) == 1


@pytest.mark.parametrize("shown", PAGE.shown, ids=lambda shown: shown.partition("\n")[0])
def test_what_is_shown_is_what_is_answered(
    shown: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(ROOT)
    assert_shown(shown, 1, capsys)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Stand in a folder with a dump of a cluster and the manifests that the page names."""
    monkeypatch.chdir(tmp_path)
    write_dump(tmp_path, OBJECTS)
    (tmp_path / "deployment.yaml").write_text(yaml.safe_dump(DEPLOYMENT))
    web = ROOT / "docs" / "simulate" / "web.yaml"
    (tmp_path / "web.yaml").write_text(web.read_text())
    return tmp_path


def expected(line: str) -> tuple[int, str]:
    return SAID[line.removeprefix("affinity-extender simulate ")]


@pytest.mark.parametrize("line", DUMPED)
@pytest.mark.usefixtures("folder")
def test_commands_on_a_dump(line: str, capsys: pytest.CaptureFixture[str]) -> None:
    code, said = expected(line)
    assert (run(line), said in capsys.readouterr().out) == (code, True)


@pytest.mark.parametrize("line", LIVE)
async def test_commands_on_a_live_cluster(
    line: str,
    rig: Rig,
    folder: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    made_current(rig, OBJECTS, folder, monkeypatch)
    code, said = expected(line)
    assert said in await assert_as_on_the_dump(line, code, capsys)
