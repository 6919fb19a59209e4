"""Every command of README.md works: on the sample cluster, on a dump, and on a live cluster."""

from __future__ import annotations

import asyncio
import os
import re
import shlex
import sys
from pathlib import Path

import aiohttp
import pytest

from tests.deploy.places import ROOT, SAMPLES, read_objects
from tests.deploy.starting import started
from tests.kube.live import made_current
from tests.kube.rig import Rig
from tests.pages import OF_THE_CHECKOUT, Page, assert_shown, run, write_dump

PAGE = Page("README.md")
MAKE, CURL = (PAGE.asked_of(program) for program in ("make", "curl"))
DUMPING = f"{OF_THE_CHECKOUT}affinity-extender dump -o dump.json"
OURS = [line for line in PAGE.asked if line.startswith(f"{OF_THE_CHECKOUT}affinity-extender ")]
SERVING = [line for line in OURS if " serve " in line]
LIVE = [line for line in OURS if "--cluster" not in line and line != DUMPING]
OFFLINE = [line for line in OURS if line not in (*SERVING, *LIVE, DUMPING)]
SAMPLE = SAMPLES / "cluster.yaml"
SAID = {
    "explain": (1, "data/db-3 fits on no node"),
    "simulate": (0, "Drain a2: 1 pod evicted, 1 placed on other nodes"),
}


def named(line: str) -> str:
    """Name what the page leaves to its reader."""
    for word, name in (("POD", "db-3"), ("NAMESPACE", "data"), ("NODE", "a2")):
        line = re.sub(rf"\b{word}\b", name, line)
    return line


def expected(line: str) -> tuple[int, str]:
    return SAID[shlex.split(line)[1]]


def test_no_command_is_left_out() -> None:
    assert sorted(PAGE.asked) == sorted([*MAKE, *CURL, DUMPING, *SERVING, *LIVE, *OFFLINE])
    counts = [len(each) for each in (PAGE.shown, CURL, SERVING, LIVE, OFFLINE)]
    assert counts == [1, 1, 1, 1, 1]


def test_what_is_shown_is_what_is_answered(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(ROOT)
    assert_shown(PAGE.shown[0], 1, capsys)


def test_every_target_of_make_is_there() -> None:
    targets = re.findall(r"^([\w-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE)
    named = [*MAKE, *Page("docs/development/README.md").asked_of("make")]
    assert {line.split()[1] for line in named} <= {*targets}


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Stand in a checkout with a dump in it."""
    (tmp_path / "extender").symlink_to(ROOT / "extender")
    write_dump(tmp_path, read_objects(SAMPLE))
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize("line", OFFLINE)
@pytest.mark.usefixtures("folder")
def test_commands_without_a_cluster(line: str, capsys: pytest.CaptureFixture[str]) -> None:
    code, said = expected(line)
    assert run(named(line)) == code
    told = capsys.readouterr()
    assert (said in told.out, told.err) == (True, "")


@pytest.mark.parametrize("line", LIVE)
async def test_commands_on_a_live_cluster(
    line: str,
    rig: Rig,
    folder: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    made_current(rig, read_objects(SAMPLE), folder, monkeypatch)
    code, said = expected(line)
    assert await asyncio.to_thread(run, named(line)) == code
    assert said in capsys.readouterr().out


async def test_the_extender_answers_what_curl_asks(folder: Path) -> None:
    (serve,), (curl,) = SERVING, CURL
    *_, data, url = shlex.split(curl)
    assert (url, data) == ("http://127.0.0.1:10280/filter", "@extender/samples/refused.json")
    command = [sys.executable, "-m", "extender", *shlex.split(serve)[1:], "--port=0"]
    command[command.index("extender/samples/cluster.yaml")] = str(SAMPLE)
    environ = {**os.environ, "PYTHONPATH": ":".join((str(ROOT), *filter(None, sys.path)))}
    async with (
        started([*command, "--ops-port=0"], environ) as program,
        aiohttp.ClientSession() as session,
        session.post(
            f"{program.callbacks}/filter", data=(folder / data.removeprefix("@")).read_bytes()
        ) as answer,
    ):
        told = await answer.json(content_type=None)
    assert told["NodeNames"] == []
    assert len(told["FailedAndUnresolvableNodes"]) == 9
