"""Every command in docs/explain.md is run, and answers what the page shows."""

from __future__ import annotations

import asyncio
import json
import shlex
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from extender.core.cluster.state import ClusterState
from extender.core.offline import ClusterFiles
from extender.core.wire.objects import PodReader
from tests.beside import RULES
from tests.builders import pod, workload
from tests.deploy.places import ROOT
from tests.features.explain.showing import app_over
from tests.kube.live import made_current
from tests.kube.rig import Rig
from tests.pages import Page, assert_as_on_the_dump, assert_shown, run, write_dump

PAGE = Page("docs/explain.md")
SAMPLE = ROOT / "extender" / "samples" / "cluster.yaml"
OBJECTS = [each for each in yaml.safe_load_all(SAMPLE.read_text()) if each]
CURL = PAGE.asked_of("curl")
DUMPED = [line for line in PAGE.asked if line.endswith("--cluster dump.json")]
WATCHING = [line for line in PAGE.asked if line.endswith("--watch")]
LIVE = [line for line in PAGE.asked if line not in CURL + WATCHING and "dump.json" not in line]


def test_no_command_is_left_out() -> None:
    dumping = "affinity-extender dump -o dump.json"
    assert sorted(PAGE.asked) == sorted([*LIVE, *WATCHING, *DUMPED, *CURL, dumping])
    kinds = PAGE.shown, LIVE, WATCHING, DUMPED, CURL
    assert [len(each) for each in kinds] == [1, 3, 1, 2, 2]


@pytest.mark.parametrize("shown", PAGE.shown, ids=lambda shown: shown.partition("\n")[0])
def test_what_is_shown_is_what_is_answered(
    shown: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(ROOT)
    assert_shown(shown, 1, capsys)


@pytest.fixture
async def rig() -> AsyncIterator[Rig]:
    """Return an API server that listens."""
    async with Rig() as ready:
        yield ready


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Stand in a folder with a dump of the sample cluster and a Deployment."""
    monkeypatch.chdir(tmp_path)
    write_dump(tmp_path, OBJECTS)
    manifest = workload("Deployment", "new", pod("t", "shop"))
    for name in ("deployment.yaml", "deployment.json"):
        (tmp_path / name).write_text(json.dumps(manifest))
    return tmp_path


@pytest.mark.parametrize("line", DUMPED)
@pytest.mark.usefixtures("folder")
def test_commands_on_a_dump(line: str, capsys: pytest.CaptureFixture[str]) -> None:
    code = run(line)
    output = capsys.readouterr().out.splitlines()[0]
    assert (code, output) in {
        (1, "data/db-3 fits on no node"),
        (0, "shop/deployment/new fits on 9 of 9 nodes"),
    }


@pytest.mark.parametrize("line", LIVE)
async def test_commands_on_a_live_cluster(
    line: str,
    rig: Rig,
    folder: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    made_current(rig, OBJECTS, folder, monkeypatch)
    await assert_as_on_the_dump(line, 1, capsys)


@pytest.mark.parametrize("line", WATCHING)
async def test_a_pod_is_watched_until_it_has_a_node(
    line: str,
    rig: Rig,
    folder: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    placed = [
        each | {"spec": each["spec"] | {"nodeName": "a3"}}
        if each["metadata"]["name"] == "db-3"
        else each
        for each in OBJECTS
    ]
    made_current(rig, placed, folder, monkeypatch)
    assert await asyncio.to_thread(run, line) == 0
    assert "data/db-3 has node a3" in capsys.readouterr().out


@pytest.mark.parametrize("line", CURL)
async def test_questions_to_a_running_extender(
    line: str, folder: Path, aiohttp_client: Any
) -> None:
    state = ClusterState()
    files = ClusterFiles(state, PodReader(rules=RULES))
    files.load(folder / "dump.json")
    client = await aiohttp_client(app_over(state))
    *options, url = shlex.split(line)[1:]
    path = url.removeprefix("127.0.0.1:10281")
    if "--data" in options:
        body = (folder / options[-1].removeprefix("@")).read_bytes()
        told = await (await client.post(path, data=body)).json()
        assert (told["pod"], told["fitting"]) == ("shop/deployment/new", 9)
    else:
        told = await (await client.get(path)).json()
        assert (told["pod"], told["fitting"]) == ("data/db-3", 0)
        assert [each["node"] for each in told["nodes"]] == ["a3"]
