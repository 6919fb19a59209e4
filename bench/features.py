"""What of the program serves one optional feature alone, and what else knows of it.

A feature says in its folder, `extender/features/NAME`, by which words others would know it.
"""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Final

from affinityctl.commands import COMMANDS
from extender.core.config.features import features as declared

ROOT: Final = Path(__file__).parents[1]
SERVER: Final = ROOT / "extender"
PROGRAM: Final = (SERVER, ROOT / "affinityctl")


@dataclass(frozen=True)
class Optional:
    """An optional feature: files that serve it alone, as globs in `extender/`, and its words."""

    name: str
    files: tuple[str, ...]
    words: str
    """A regular expression, in any case."""
    command: str = ""
    """The command for people that goes with it."""

    @property
    def paths(self) -> set[Path]:
        return {path for each in self.files for path in SERVER.glob(each) if path.suffix == ".py"}

    def named_in(self, folders: Iterable[Path] = (SERVER,)) -> list[Path]:
        """Return the other files that have one of its words."""
        word = re.compile(self.words, re.IGNORECASE)
        commands = PROGRAM[1] / "commands"
        own = {*self.paths, SERVER / "features" / "__init__.py", commands / "__init__.py"}
        own |= set((commands / self.command).glob("*.py")) if self.command else set()
        return [
            path
            for folder in folders
            for path in sorted(folder.rglob("*.py"))
            if path not in own and word.search(path.read_text(encoding="utf-8"))
        ]


def features() -> tuple[Optional, ...]:
    """Return every optional feature."""
    return tuple(
        Optional(each.name, (f"features/{each.name}/**/*",), each.words, each.command)
        for each in declared()
    )


def lines(paths: Iterable[Path]) -> int:
    return sum(len(path.read_text(encoding="utf-8").splitlines()) for path in paths)


def lines_of_the_core() -> int:
    """Count the lines of `extender/core/` that serve no optional feature alone."""
    optional = {path for each in features() for path in each.paths}
    return lines(set((SERVER / "core").rglob("*.py")) - optional)


_FIRST_ANSWER: Final = """
import asyncio, json, sys, urllib.request
from pathlib import Path
from extender.core.config.document import decode
from extender.core.config.schema import API_VERSION, KIND
from extender.runtime import running

async def ask():
    config = decode({
        "apiVersion": API_VERSION, "kind": KIND, "logging": {"verbosity": 0},
        "clusterFiles": ["extender/samples/cluster.yaml"],
        "serving": {"port": 0, "opsPort": 0},
    })
    async with running(config) as program:
        for verb in ("filter", "prioritize"):
            request = urllib.request.Request(
                f"{program.callbacks_url}/{verb}",
                Path("extender/samples/refused.json").read_bytes(),
                {"Content-Type": "application/json"},
            )
            answer = await asyncio.to_thread(urllib.request.urlopen, request)
            json.load(answer)

asyncio.run(ask())
print(*sorted(name for name in sys.modules if name.partition(".")[0] == "extender"))
"""


def imported_until_the_first_answer() -> set[str]:
    """Return the modules of `extender` that the default install has imported by then."""
    command = [sys.executable, "-c", _FIRST_ANSWER]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    return set(done.stdout.split())


def path_of(module: str) -> Path:
    path = ROOT.joinpath(*module.split("."))
    return path / "__init__.py" if path.is_dir() else path.with_suffix(".py")


def median_and_worst(counts: Sequence[int]) -> str:
    return f"{median(counts):g}, {max(counts)}"


def table() -> Iterator[tuple[str, str]]:
    """Measure what is to become small."""
    server, commands = (set(each.rglob("*.py")) for each in PROGRAM)
    imported = imported_until_the_first_answer()
    yield "lines of the core", f"{lines_of_the_core():,}"
    yield "lines of diagnosis/", f"{lines((SERVER / 'diagnosis').rglob('*.py')):,}"
    yield "lines that start and stop both", f"{lines(SERVER.glob('*.py')):,}"
    yield (
        "lines imported until the default install's first answer",
        f"{lines(map(path_of, imported)):,}",
    )
    yield (
        "files that name a feature outside its folder: median, worst",
        median_and_worst([len(each.named_in(PROGRAM)) for each in features()]),
    )
    yield "lines of extender/", f"{lines(server):,}"
    yield "lines of extender/ and affinityctl/", f"{lines(server | commands):,}"


COLUMNS: Final = (
    *("feature", "its lines", "its files"),
    *("other files of extender/ that name it", "of affinityctl/"),
)


def by_feature() -> list[tuple[str, ...]]:
    """Tell how large each feature is, and how far it is spread."""
    return [
        (
            each.name,
            f"{lines(each.paths):,}",
            f"{len(each.paths)}",
            *(f"{len(each.named_in([folder]))}" for folder in PROGRAM),
        )
        for each in features()
    ]


OF_COMMANDS: Final = ("command", "its lines", "its files", "lines of its tests")


def by_command() -> Iterator[tuple[str, ...]]:
    """Tell how large each command is, and what commands share."""
    root, tests = PROGRAM[1], ROOT / "tests" / "commands"
    for name in COMMANDS:
        own = set((root / "commands" / name).rglob("*.py"))
        tested = (tests / name).rglob("*.py")
        yield name, f"{lines(own):,}", f"{len(own)}", f"{lines(tested):,}"
    for path in sorted({path.parent for path in root.glob("*/__init__.py")} - {root / "commands"}):
        shared = set(path.rglob("*.py"))
        yield f"shared: {path.name}", f"{lines(shared):,}", f"{len(shared)}", ""


def shown(paths: Iterable[Path]) -> list[str]:
    """Return files as people name them."""
    return [str(path.relative_to(ROOT)) for path in paths]
