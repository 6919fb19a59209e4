"""Fresh preemptors in every run: the extender's victims beside those of the scheduler's preemption.

`make e2e` draws some thousands, `make conformance` far more; only the newest release is asked.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tests.conformance.asking import InTree
from tests.conformance.crowded import PREEMPTORS_PER_CASE, cases
from tests.conformance.decisive import Decided
from tests.conformance.drawing import file_for, keep, look_until
from tests.conformance.preempting import differences

if TYPE_CHECKING:
    from collections.abc import Callable


KEPT = Path(__file__).parent.parent / "conformance" / "mismatches" / "preemptions"
"""Where a case stays that was judged differently, to be asked in each run from then on."""
FEWEST = 2_000
"""Preemptors of a run, whatever is asked for."""


def test_victims_equal_the_schedulers(
    scheduler: InTree, start: int, request: pytest.FixtureRequest, say: Callable[[str], None]
) -> None:
    decided = Decided()
    file = file_for(KEPT, scheduler.release, start)
    preemptors = max(FEWEST, request.config.getoption("--questions"))

    def ask(case: dict[str, Any]) -> None:
        check(case, scheduler, file)
        decided.add(case)

    def enough() -> bool:
        say(f"preemption in {scheduler.release}: {decided}")
        return not decided.never

    look_until(enough, cases(), ask, start=start, examples=preemptors // PREEMPTORS_PER_CASE)
    assert decided.never == []


def test_what_was_judged_differently_once_is_not_again(scheduler: InTree) -> None:
    for file in sorted(KEPT.glob("*.json")):
        check(json.loads(file.read_text()), scheduler, file)


def check(case: dict[str, Any], scheduler: InTree, file: Path) -> None:
    """Compare what comes of each preemptor."""
    first = next(differences(case, scheduler), None)
    if first is not None:
        preemptions = case["preemptions"]
        alone = {**preemptions, "pods": [preemptions["pods"][first.preemptor]]}
        keep({**case, "preemptions": alone}, file, scheduler.release, first)
