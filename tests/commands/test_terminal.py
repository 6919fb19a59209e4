"""What a terminal is shown, and what a pipe gets."""

from __future__ import annotations

import fcntl
import json
import os
import struct
import subprocess
import sys
import termios
from pathlib import Path
from typing import Any

import pytest

from tests.builders import HOST, node, pod, selector, term
from tests.deploy.places import ROOT, SAMPLES

SAMPLE = ["explain", "db-3", "-n", "data", "--cluster", str(SAMPLES / "cluster.yaml")]
ESCAPE = "\x1b["


def command(*words: str) -> list[str]:
    return [sys.executable, "-m", "extender", *words]


def environ(**more: str) -> dict[str, str]:
    settings = {"NO_COLOR", "COLUMNS"}
    kept = {name: value for name, value in os.environ.items() if name not in settings}
    return {**kept, "PYTHONPATH": str(ROOT), "TERM": "xterm-256color", **more}


def on_terminal(*words: str, columns: int = 80, **more: str) -> str:
    """Run the program on a terminal and return what that would show."""
    ours, its = os.openpty()
    fcntl.ioctl(its, termios.TIOCSWINSZ, struct.pack("HHHH", 40, columns, 0, 0))
    with subprocess.Popen(command(*words), stdin=its, stdout=its, stderr=its, env=environ(**more)):
        os.close(its)
        parts = []
        while part := read(ours):
            parts.append(part)
        os.close(ours)
    return b"".join(parts).decode().replace("\r\n", "\n")


def read(terminal: int) -> bytes:
    try:
        return os.read(terminal, 1 << 16)
    except OSError:  # the other side is closed
        return b""


def piped(*words: str) -> str:
    done = subprocess.run(
        command(*words), capture_output=True, text=True, check=False, env=environ(COLUMNS="40")
    )
    return done.stdout


def test_a_terminal_has_colours() -> None:
    shown = on_terminal(*SAMPLE)
    assert f"{ESCAPE}1;31mfits on no node{ESCAPE}0m" in shown


def test_no_color_turns_them_off() -> None:
    assert ESCAPE not in on_terminal(*SAMPLE, NO_COLOR="1")


def test_a_pipe_gets_the_text_alone_and_80_columns_whatever_the_terminal() -> None:
    assert piped(*SAMPLE) == on_terminal(*SAMPLE, NO_COLOR="1", columns=80)


@pytest.mark.parametrize("columns", [60, 100, 200])
def test_lines_are_as_long_as_the_terminal_lets_them(columns: int) -> None:
    shown = on_terminal(*SAMPLE, "-o", "wide", columns=columns, NO_COLOR="1")
    longest = max(map(len, shown.splitlines()))
    assert 50 < longest <= columns
    said = " ".join(shown.split())
    assert "…" not in said, "nothing is cut"
    assert "anti-affinity" in said or columns < 80


def test_programs_get_no_colours_on_a_terminal() -> None:
    assert json.loads(on_terminal(*SAMPLE, "-o", "json"))["pod"] == "data/db-3"


def test_names_do_not_drive_the_terminal_of_a_person(tmp_path: Path) -> None:
    evil = "\x1b]0;x\x07[red]\u202e"
    items: list[Any] = [node("n", {HOST: "n"})]
    apart = term(HOST, selector(app="web"))
    items += [pod(f"web{evil}").labels(app="web").anti_affinity(apart).on("n")]
    items += [pod("new").labels(app="web").anti_affinity(apart)]
    dump = tmp_path / "dump.json"
    dump.write_text(json.dumps({"kind": "List", "items": items}))
    for words in (["explain", "new", "-o", "wide"], ["violations", "--plain-rules="], ["simulate"]):
        shown = on_terminal(*words, "--cluster", str(dump))
        assert "\x1b]" not in shown
        assert "\u202e" not in shown
        assert "\x07" not in shown
    assert "[red]" in on_terminal("explain", "new", "--cluster", str(dump), NO_COLOR="1")


@pytest.mark.parametrize(
    "words",
    [
        pytest.param(SAMPLE, id="an answer into a pipe"),
        pytest.param(
            ["serve", "--validate-only", "--cluster", str(SAMPLES / "cluster.yaml")], id="serve"
        ),
        pytest.param(["--help"], id="help"),
    ],
)
def test_what_needs_no_terminal_does_not_import_rich(words: list[str]) -> None:
    program = (
        "import sys; from affinityctl.cli import main; main(sys.argv[1:]); "
        "import extender.runtime; print('rich' in sys.modules)"
    )
    done = subprocess.run(
        [sys.executable, "-c", program, *words], capture_output=True, text=True, check=True
    )
    assert done.stdout.splitlines()[-1] == "False"
