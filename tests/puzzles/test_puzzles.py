"""Event, explain, simulate and lint agree on why a pod of a real cluster waits."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.puzzles.recorded import FOLDER, Recording, disagreements
from tests.puzzles.situations import PUZZLES, Puzzle

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.parametrize("puzzle", PUZZLES, ids=lambda each: each.name)
def test_all_say_why_it_waits(puzzle: Puzzle, tmp_path: Path) -> None:
    assert list(disagreements(puzzle, Recording.load(puzzle.name), tmp_path)) == []


def test_each_recording_belongs_to_a_puzzle() -> None:
    assert {file.stem for file in FOLDER.glob("*.json")} == {each.name for each in PUZZLES}
