"""What a real cluster had when a pod waited, and whether the commands say what its event said."""

from __future__ import annotations

import json
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import asdict, dataclass
from io import StringIO
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from affinityctl import cli
from tests.events import messages

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.builders import Json
    from tests.puzzles.situations import Puzzle

FOLDER = Path(__file__).parent


@dataclass(frozen=True, slots=True)
class Recording:
    """What is kept of a puzzle."""

    kubernetes: str
    pod: str
    """The one that waits."""
    event: str
    """FailedScheduling, empty where no scheduler has looked at the pod."""
    items: list[Json]
    """What `affinity-extender dump` wrote."""

    @classmethod
    def load(cls, puzzle: str) -> Self:
        """Read the file of a puzzle."""
        return cls(**json.loads(path_of(puzzle).read_text()))

    def save(self, puzzle: str) -> None:
        """Write the file, one object a line."""
        head = {name: value for name, value in asdict(self).items() if name != "items"}
        lines = ",\n".join(json.dumps(each, separators=(",", ":")) for each in self.items)
        path_of(puzzle).write_text(f'{json.dumps(head)[:-1]}, "items": [\n{lines}\n]}}\n')


def path_of(puzzle: str) -> Path:
    """Return where the recording of a puzzle is."""
    return FOLDER / f"{puzzle}.json"


def disagreements(puzzle: Puzzle, found: Recording, folder: Path) -> Iterator[str]:
    """Say where explain, simulate and lint are not of one mind with the event, or the puzzle."""
    dump = folder / "dump.json"
    dump.write_text(json.dumps({"kind": "List", "apiVersion": "v1", "items": found.items}))

    def told(*line: str) -> tuple[int, Any]:
        with redirect_stdout(StringIO()) as output, redirect_stderr(StringIO()):
            status = cli.main([*line, "--cluster", str(dump), "-o", "json"])
        return status, json.loads(output.getvalue())

    status, explained = told("explain", found.pod)
    refused = [each["reason"].split(", ") for each in explained["nodes"] if not each["fits"]]
    if status != (4 if puzzle.fits else 1):
        yield f"explain ends with {status}"
    if not puzzle.fits and not found.event.startswith(messages(refused)):
        yield f"the event: {found.event}; explain: {refused}"
    summary = explained["summary"]
    yield from (f"no {each!r} in: {summary}" for each in puzzle.causes if each not in summary)

    status, simulated = told("simulate")
    waiting = {key: each for each in simulated["pending"] for key in each["pods"]}
    if (found.pod in waiting) == puzzle.fits:
        yield f"simulate has these pods wait: {[*waiting]}"
    elif not puzzle.fits and waiting[found.pod]["summary"] != summary:
        yield f"simulate: {waiting[found.pod]['summary']}; explain: {summary}"

    _, linted = told("lint")
    rules = {each["rule"] for each in linted["findings"] if each["level"] != "note"}
    if rules != {*puzzle.findings}:
        yield f"lint finds {sorted(rules)}"
