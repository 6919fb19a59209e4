"""The Go program that times cycles, and what it is told."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import IO, Any

from bench.measure import Timing, timing
from bench.workloads import Question
from tests.conformance.programs import program
from tests.e2e.controlplane.binaries import KUBERNETES, Binaries

_NAME = "cycles"
_SOURCES = Path(__file__).with_name(_NAME)


@dataclass(frozen=True, slots=True)
class Side:
    """One of those that are compared: an extender, or the plugin where there is no URL."""

    name: str
    cluster: str
    """The one that its nodes are taken from, and that the plugin knows."""
    questions: Sequence[Question]
    url: str = ""
    like: str = ""
    """The side that has to give the same answers."""

    def as_json(self) -> dict[str, Any]:
        asked = [{"pod": question.pod, "names": question.names} for question in self.questions]
        return {
            "name": self.name,
            "url": self.url,
            "cluster": self.cluster,
            "questions": asked,
            "like": self.like,
        }


@dataclass(frozen=True, slots=True)
class Outcome:
    timings: Mapping[str, Timing]
    compared: int
    """Questions to sides that have to agree."""
    differences: Sequence[str]


class Cycles:
    def __init__(self, commands: IO[bytes], replies: IO[bytes]) -> None:
        self._commands = commands
        self._replies = replies

    def load(self, name: str, file: Path, gate: str = "") -> None:
        """Let the plugin know a cluster, with one of the scheduler's feature gates on or none."""
        self._tell({"load": {"name": name, "file": str(file), "gate": gate}})

    def forget(self) -> None:
        self._tell({"forget": True})

    def measure(self, sides: Sequence[Side], *, rounds: int, calls: int, pause: float) -> Outcome:
        """Time cycles of each side in turn; `pause` is seconds of rest before each call."""
        told = {"rounds": rounds, "calls": calls, "pauseMs": pause * 1000}
        found = self._tell({"measure": told | {"sides": [side.as_json() for side in sides]}})
        timings = {
            name: timing([(median(each["filter"]), median(each["prioritize"])) for each in rounds])
            for name, rounds in found["series"].items()
        }
        return Outcome(timings, found["compared"], found["differences"] or ())

    def _tell(self, command: Mapping[str, Any]) -> Any:
        self._commands.write(json.dumps(command).encode() + b"\n")
        self._commands.flush()
        line = self._replies.readline()
        if not line:
            raise RuntimeError("the program that times cycles has ended; see what it wrote above")
        return json.loads(line)


def cycles_program(report: Callable[[str], None]) -> Binaries:
    """Return the program, built on the first use; MissingToolError where that cannot be."""
    return program(_NAME, _SOURCES, KUBERNETES, report)


@contextmanager
def running_cycles(built: Binaries) -> Iterator[Cycles]:
    with subprocess.Popen([built[_NAME]], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        if process.stdin is None or process.stdout is None:
            raise RuntimeError("no pipe to the program that times cycles")
        try:
            yield Cycles(process.stdin, process.stdout)
        finally:
            process.stdin.close()
