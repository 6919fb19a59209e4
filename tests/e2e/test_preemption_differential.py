"""Fresh preemptors in every run: the extender's victims beside those of the scheduler's preemption.

`make e2e` draws some thousands, `make conformance` far more; only the newest release is asked.
"""

from __future__ import annotations

import json
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tests.conformance.asking import InTree, Release, in_tree
from tests.conformance.crowded import PREEMPTORS_PER_CASE, cases
from tests.conformance.decisive import Decided
from tests.conformance.drawing import file_for, keep, look_at_each
from tests.conformance.preempting import differences
from tests.conformance.programs import ANSWER, answering
from tests.e2e.controlplane.binaries import KUBERNETES

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from tests.e2e.controlplane.binaries import Binaries

    Build = Callable[[Callable[[str], None]], Binaries]

KEPT = Path(__file__).parent.parent / "conformance" / "mismatches" / "preemptions"
"""Where a case stays that was judged differently, to be asked in each run from then on."""
FEWEST = 2_000
"""Preemptors of a run, whatever is asked for."""
MOST_ROUNDS = 3
"""Of so many preemptors, until each part of a cluster has decided about some."""


@pytest.fixture(scope="module")
def scheduler(built: Callable[[Build], Binaries]) -> Iterator[InTree]:
    """Return the scheduler's own preemption, built on the first run."""
    with in_tree(Release(KUBERNETES), built(partial(answering, KUBERNETES))[ANSWER]) as asked:
        yield asked


def test_victims_equal_the_schedulers(
    scheduler: InTree, start: int, request: pytest.FixtureRequest, say: Callable[[str], None]
) -> None:
    decided = Decided()
    file = file_for(KEPT, scheduler.release, start)
    preemptors = max(FEWEST, request.config.getoption("--questions"))

    def ask(case: dict[str, Any]) -> None:
        check(case, scheduler, file)
        decided.add(case)

    for further in range(MOST_ROUNDS):
        examples = preemptors // PREEMPTORS_PER_CASE
        look_at_each(cases(), ask, start=start + further, examples=examples)
        say(f"preemption in {scheduler.release}: {decided}")
        if not decided.never:
            break
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
