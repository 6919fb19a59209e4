"""Fresh pods with volumes in every run, judged by all filters: ours beside the scheduler's own."""

from __future__ import annotations

import json
from collections import Counter
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from extender.model.verdict import OF_VOLUMES
from tests.conformance.asking import InTree, Release, in_tree
from tests.conformance.drawing import file_for, keep, look_at_each
from tests.conformance.programs import ANSWER, answering
from tests.conformance.stored import PODS_PER_CASE, cases
from tests.conformance.storing import differences
from tests.e2e.controlplane.binaries import KUBERNETES

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from tests.e2e.controlplane.binaries import Binaries

    Build = Callable[[Callable[[str], None]], Binaries]

KEPT = Path(__file__).parent.parent / "conformance" / "mismatches" / "volumes"
"""Where a case stays that was judged differently, to be asked in each run from then on."""
FEWEST = 2_000
"""Pods of a run, whatever is asked for."""
OFTEN = 5
"""Nodes that each reason about volumes has to decide about."""


@pytest.fixture(scope="module")
def scheduler(built: Callable[[Build], Binaries]) -> Iterator[InTree]:
    """Return the scheduler's own plugins, built on the first run."""
    with in_tree(Release(KUBERNETES), built(partial(answering, KUBERNETES))[ANSWER]) as asked:
        yield asked


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

    look_at_each(cases(), ask, start=start, examples=pods // PODS_PER_CASE)
    say(f"volumes in {scheduler.release}: {decided.most_common()}")
    fixed = {each.value for each in OF_VOLUMES if " not found" not in each.value}
    assert {each: decided[each] for each in fixed if decided[each] < OFTEN} == {}


def test_what_was_judged_differently_once_is_not_again(scheduler: InTree) -> None:
    for file in sorted(KEPT.glob("*.json")):
        check(json.loads(file.read_text()), scheduler, file)


def check(case: dict[str, Any], scheduler: InTree, file: Path) -> None:
    """Compare what is said of each pod."""
    first = next(differences(case, scheduler), None)
    if first is not None:
        keep({**case, "judged": [case["judged"][first.pod]]}, file, scheduler.release, first)
