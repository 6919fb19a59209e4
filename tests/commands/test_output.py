"""How answers leave the program: versions, standard output, and readers who have seen enough."""

from __future__ import annotations

import io
import json
import os
import re
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest
import yaml

import extender
from affinityctl import cli
from affinityctl.commands import COMMANDS
from affinityctl.commands.violations import run as violations
from extender.core.config import API_VERSION, KIND
from tests.annotating import annotated
from tests.builders import HOST, ZONE, node, pod, selector, term, workload

ROOT = Path(__file__).parents[2]


def run(arguments: Sequence[str], stdout: int) -> subprocess.CompletedProcess[str]:
    """Run the program with this as its standard output."""
    command = [sys.executable, "-m", "extender", *arguments]
    environ = {**os.environ, "PYTHONPATH": str(ROOT)}
    return subprocess.run(
        command, stdout=stdout, stderr=subprocess.PIPE, text=True, check=False, env=environ
    )


@pytest.mark.parametrize(
    "arguments",
    [
        pytest.param(["version"], id="an answer"),
        pytest.param(["--help"], id="help"),
        pytest.param(["serve", "--help"], id="help of a command"),
        pytest.param(["completion", "bash"], id="a script"),
        pytest.param(["serve", "--write-config-to", "-"], id="a configuration"),
    ],
)
def test_a_reader_who_leaves_ends_the_program_quietly(arguments: list[str]) -> None:
    reading, writing = os.pipe()
    os.close(reading)
    try:
        done = run(arguments, writing)
    finally:
        os.close(writing)
    assert (done.returncode, done.stderr) == (141, "")


@pytest.mark.parametrize("unbuffered", ["", "1"], ids=["buffered", "unbuffered"])
@pytest.mark.parametrize("arguments", [["version"], ["--help"]], ids=" ".join)
def test_a_full_disk_is_said(
    arguments: list[str], unbuffered: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PYTHONUNBUFFERED", unbuffered)
    with open("/dev/full", "w") as full:  # noqa: PTH123 - a device
        done = run(arguments, full.fileno())
    assert done.returncode == 3
    assert done.stderr == (
        "affinity-extender: cannot write to standard output: No space left on device\n"
    )


def test_an_interrupt_is_no_traceback(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(violations, "_cluster", interrupted)
    assert cli.main(["violations"]) == 130
    assert capsys.readouterr() == ("", "")


def test_the_configuration_is_written_to_standard_output(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    flags = ["serve", "--port", "7", "--write-config-to", "-"]
    assert cli.main(flags) == 0
    captured = capsys.readouterr()
    assert yaml.safe_load(captured.out)["serving"]["port"] == 7
    assert captured.err == ""
    assert list(tmp_path.iterdir()) == []
    assert cli.main([*flags, "--validate-only"]) == 0
    again = capsys.readouterr()
    assert again.out == captured.out, "the verdict does not get into the file"
    assert again.err.startswith("affinity-extender: ok: ")


@pytest.mark.parametrize("program", [cli.main, cli.kubectl], ids=["main", "plugin"])
def test_the_version_in_every_form(program: object, capsys: pytest.CaptureFixture[str]) -> None:
    assert callable(program)
    assert program(["version"]) == 0
    line = capsys.readouterr().out
    assert program(["--version"]) == 0
    assert capsys.readouterr().out == line
    assert program(["version", "-o", "json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["version"] == extender.__version__
    assert line == f"{told['name']} {told['version']} (Python {told['pythonVersion']})\n"


@pytest.mark.parametrize("verb", [each for each in COMMANDS if each != "dump"])
def test_the_plugins_help_has_examples_of_the_plugin(
    verb: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.kubectl([verb, "--help"]) == 0
    told = capsys.readouterr().out
    assert f"kubectl affinity {verb}" in told.partition("examples:")[2]
    assert f"affinity-extender {verb}" not in told
    assert cli.main([verb, "--help"]) == 0
    assert f"affinity-extender {verb}" in capsys.readouterr().out.partition("examples:")[2]


EVIL = "\x1b]0;x\x07\x9b31m\u202e\r\nnobody"
"""Sets a terminal's title and colour, and turns and forges a line; a dump may have it anywhere."""


@pytest.mark.parametrize("output", ["text", "wide", "json", "yaml"])
@pytest.mark.parametrize(
    "command",
    [
        "explain data/newEVIL",
        "explain data/brokenEVIL",
        "explain nobody",
        "explain -A",
        "simulate",
        "simulate --drain-each",
        *(each for each in COMMANDS if each not in {"explain", "simulate", "dump", "version"}),
    ],
)
def test_what_a_dump_has_in_its_names_does_not_drive_a_terminal(
    command: str, output: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    apart = term(ZONE, selector(app=EVIL), namespaces=["data", f"data{EVIL}"])
    web = pod(f"web{EVIL}", f"data{EVIL}").labels(app=EVIL).anti_affinity(apart).host_port(80)
    new = pod(f"new{EVIL}", "data").labels(app=EVIL).anti_affinity(apart).host_port(80)
    picky = pod(f"picky{EVIL}", "data").selects(**{f"ssd{EVIL}": EVIL})
    broken = annotated(pod(f"broken{EVIL}", "data"), {f"podAffinity{EVIL}": EVIL})
    items = [node(f"n{EVIL}", {HOST: f"n{EVIL}", ZONE: EVIL}), web.on(f"n{EVIL}"), new]
    dump, config = tmp_path / "dump.json", tmp_path / "config.json"
    dump.write_text(json.dumps({"kind": "List", "items": [*items, picky, broken]}))
    head = {"apiVersion": API_VERSION, "kind": KIND, "annotations": {"namespaceSelector": {}}}
    config.write_text(json.dumps(head))
    words = [*command.replace("EVIL", EVIL).split(" "), "-o", output, "--cluster", str(dump)]
    takes_one = command.startswith(("explain", "simulate"))
    cli.main([*words, "--config", str(config)] if takes_one else words)
    captured = capsys.readouterr()
    said = captured.out + captured.err
    assert said.replace("\n", "").isprintable()
    assert not re.search("^nobody", said, re.MULTILINE)
    if output == "json" and captured.out:
        json.loads(captured.out)


@pytest.mark.parametrize("output", ["text", "json", "yaml"])
@pytest.mark.parametrize("command", ["explain broken", "explain -A", "lint", "simulate"])
def test_what_the_encoding_of_the_output_does_not_have_is_spelled_out(
    command: str, output: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    apart = term("Ж\U0001f600", selector(app="web"))
    broken = annotated(pod("broken").labels(app="web").affinity(apart), {"Ж\U0001f600": {}})
    dump = tmp_path / "dump.json"
    dump.write_text(json.dumps({"kind": "List", "items": [node("n"), broken]}))
    written = io.BytesIO()
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(written, encoding="cp1252"))
    formats = ["-o", output] if command != "lint" or output != "yaml" else []
    cli.main([*command.split(), *formats, "--cluster", str(dump)])
    said = written.getvalue().decode("cp1252")
    assert said
    if output == "json":
        json.loads(said)


def test_what_a_dump_has_in_its_names_is_no_line_of_a_script(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    template = pod("t").labels(app="web").anti_affinity(term(HOST, selector(app="web")))
    stuck = workload("Deployment", f"web{EVIL}", template)
    dump = tmp_path / "dump.json"
    items = [node("n", {HOST: "n"}), stuck]
    dump.write_text(json.dumps({"kind": "List", "items": items}))
    cli.main(["lint", "--fix", "--cluster", str(dump)])
    said = capsys.readouterr().out
    assert "kubectl patch deployment" in said
    assert not re.search("^nobody:", said, re.MULTILINE)
