"""What the simulation is worth: bugs that it has to find, each within a few seeds.

`make planted` plants every one, and says what finds each; otherwise some of them are planted.
"""

from __future__ import annotations

import contextlib
import os
import resource
import sys
from collections.abc import Iterable
from itertools import count, islice

import pytest

from simulation.plan import Plan
from simulation.spreading import run_plans
from tests.simulation.planted import PLANTED, QUICK
from tests.simulation.planting import Planted

pytestmark = pytest.mark.thorough

MOST_SEEDS = 40
CHOSEN = PLANTED if os.environ.get("PLANTED_BUGS") == "all" else QUICK


def plans_for(planted: Planted) -> Iterable[Plan]:
    """Return the runs of which one has to find a bug."""
    return islice(filter(planted.runs, map(planted.plan, count(1))), MOST_SEEDS)


@pytest.mark.parametrize("bug", [pytest.param(name, id=name) for name in CHOSEN])
def test_planted_bug_is_found(monkeypatch: pytest.MonkeyPatch, bug: str) -> None:
    planted, before = PLANTED[bug], _processor_seconds()
    planted.plant(monkeypatch)
    # The processes are forked, so they have the bug as well.
    with contextlib.closing(run_plans(plans_for(planted), os.cpu_count() or 1)) as outcomes:
        found = next((each for each in outcomes if each.broken is not None), None)
    assert found is not None, f"{MOST_SEEDS} seeds have not found it"
    assert found.broken is not None
    seconds = _processor_seconds() - before
    by = f"{found.broken.invariant}, seed {found.plan.seed}"
    sys.stdout.write(f"\n{bug}: {by}, {seconds:.0f} s of a processor\n")
    assert found.broken.invariant in planted.breaks


def _processor_seconds() -> float:
    """Return what the processes took that have ended."""
    return resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime
