"""The commands that a page of the documentation shows, to be run by its test."""

from __future__ import annotations

import re
import shlex

from extender import cli
from tests.deploy.places import ROOT

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
