"""What the simulation is worth: bugs that it has to find, each within a few seeds.

`PLANTED_BUGS=all pytest tests/simulation/test_planted.py` plants every one; otherwise some of them.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from itertools import count, islice

import pytest

from simulation.plan import make_plan
from simulation.spreading import run_seeds
from tests.simulation.planted import PLANTED, QUICK
from tests.simulation.planting import Planted

MOST_SEEDS = 40
CHOSEN = PLANTED if os.environ.get("PLANTED_BUGS") == "all" else QUICK


def seeds_for(planted: Planted) -> Iterable[int]:
    """Return the seeds of which one has to find a bug."""
    seeds = (seed for seed in count(1) if planted.may_find(make_plan(seed).setup))
    return islice(seeds, MOST_SEEDS)


@pytest.mark.parametrize("bug", [pytest.param(name, id=name) for name in CHOSEN])
def test_planted_bug_is_found(monkeypatch: pytest.MonkeyPatch, bug: str) -> None:
    planted = PLANTED[bug]
    planted.plant(monkeypatch)
    # The processes are forked, so they have the bug as well.
    for outcome in run_seeds(seeds_for(planted), os.cpu_count() or 1):
        if outcome.broken is not None:
            assert outcome.broken.invariant in planted.breaks
            return
    pytest.fail(f"{MOST_SEEDS} seeds have not found it")
