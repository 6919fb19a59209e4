"""The commands that a page of the documentation shows, to be run by its test."""

from __future__ import annotations

import asyncio
import json
import re
import shlex
from typing import TYPE_CHECKING, Any

from affinityctl import cli
from tests.deploy.places import ROOT

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    import pytest

OF_THE_CHECKOUT = ".venv/bin/"
PROGRAMS = ("affinity-extender ", "kubectl ", "curl ", "make ")


class Page:
    """What the indented blocks of a page say."""

    def __init__(self, name: str) -> None:
        """`name` is relative to the repository."""
        text = (ROOT / name).read_text()
        blocks = [
            "\n".join(line[4:] for line in block.splitlines()).strip("\n")
            for block in re.findall(r"(?:^(?: {4}.*|)\n)+", text, re.MULTILINE)
        ]
        self.shown = [block for block in blocks if block.startswith("$ ")]
        """Blocks of a command and what it answers."""
        lines = (line for block in blocks for line in block.splitlines())
        self.asked = [
            line for line in lines if line.removeprefix(OF_THE_CHECKOUT).startswith(PROGRAMS)
        ]
        """Lines that are a command without its answer."""

    def asked_of(self, program: str) -> list[str]:
        """Return the lines that run this program."""
        return [line for line in self.asked if line.startswith(f"{program} ")]


def run(line: str) -> int:
    """Run a command line of either program; return its exit code."""
    program, *arguments = shlex.split(line.removeprefix("$ ").removeprefix(OF_THE_CHECKOUT))
    if program == "kubectl":
        assert arguments.pop(0) == "affinity"
        return cli.kubectl(arguments)
    assert program == "affinity-extender"
    return cli.main(arguments)


def assert_shown(shown: str, code: int, capsys: pytest.CaptureFixture[str]) -> None:
    """Run the command of a block; it must end so, and answer what the block shows.

    A line `...` stands for what is left out.
    """
    command, _, output = shown.partition("\n")
    assert run(command) == code
    told = capsys.readouterr()
    shown = ".*".join(re.escape(part) for part in f"{output}\n".split("...\n"))
    assert re.fullmatch(shown, told.out, re.DOTALL), told.out
    assert told.err == ""


def write_dump(folder: Path, objects: Sequence[Any]) -> None:
    """Write the dump that pages ask about."""
    (folder / "dump.json").write_text(json.dumps({"kind": "List", "items": objects}))


async def assert_as_on_the_dump(line: str, code: int, capsys: pytest.CaptureFixture[str]) -> str:
    """Ask about the current context's cluster, then the dump; return what both times is said."""
    assert await asyncio.to_thread(run, line) == code
    told = capsys.readouterr()
    assert told.err == ""
    assert run(f"{line} --cluster dump.json") == code
    assert capsys.readouterr().out == told.out
    return told.out
