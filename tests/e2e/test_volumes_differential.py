"""Fresh pods with volumes in every run, judged by all filters: ours beside the scheduler's own."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from extender.model.verdict import OF_VOLUMES, Reason
from tests.conformance.asking import InTree
from tests.conformance.drawing import file_for, keep, look_until
from tests.conformance.stored import PODS_PER_CASE, cases
from tests.conformance.storing import differences

if TYPE_CHECKING:
    from collections.abc import Callable


KEPT = Path(__file__).parent.parent / "conformance" / "mismatches" / "volumes"
"""Where a case stays that was judged differently, to be asked in each run from then on."""
FEWEST = 2_000
"""Pods of a run, whatever is asked for."""
SAID = {
    Reason.UNUSABLE_CLAIM: "is being deleted",
    Reason.NO_CLAIM: "not found",
    Reason.NO_VOLUME: "not found",
}
"""What stands in the event, of reasons whose text is another in each."""


def test_verdicts_on_pods_with_volumes_equal_the_schedulers(
    scheduler: InTree, start: int, request: pytest.FixtureRequest, say: Callable[[str], None]
) -> None:
    decided: Counter[str] = Counter()
    file = file_for(KEPT, scheduler.release, start)
    pods = max(FEWEST, request.config.getoption("--questions"))

    def ask(case: dict[str, Any]) -> None:
        check(case, scheduler, file)
        for said in scheduler.verdicts(case):
            for each in said["refused"].values():
                decided.update(each["reasons"])

    def missing() -> list[str]:
        texts = (SAID.get(each, each.value) for each in OF_VOLUMES)
        return [text for text in texts if not any(text in said for said in decided)]

    examples = pods // PODS_PER_CASE
    look_until(lambda: not missing(), cases(), ask, start=start, examples=examples)
    say(f"volumes in {scheduler.release}: {decided.most_common(20)}")
    assert missing() == []


def test_what_was_judged_differently_once_is_not_again(scheduler: InTree) -> None:
    for file in sorted(KEPT.glob("*.json")):
        check(json.loads(file.read_text()), scheduler, file)


def check(case: dict[str, Any], scheduler: InTree, file: Path) -> None:
    """Compare what is said of each pod."""
    first = next(differences(case, scheduler), None)
    if first is not None:
        keep({**case, "judged": [case["judged"][first.pod]]}, file, scheduler.release, first)
