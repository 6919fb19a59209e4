"""What the simulation is worth: bugs that it has to find, each within a few seeds.

`PLANTED_BUGS=all pytest tests/simulation/test_planted.py` plants every one; otherwise some of them.
"""

from __future__ import annotations

import os

import pytest

from simulation.command import run_seed
from tests.simulation.planted import PLANTED, QUICK

MOST_SEEDS = 40
CHOSEN = PLANTED if os.environ.get("PLANTED_BUGS") == "all" else QUICK


@pytest.mark.parametrize("bug", [pytest.param(name, id=name) for name in CHOSEN])
def test_planted_bug_is_found(monkeypatch: pytest.MonkeyPatch, bug: str) -> None:
    planted = PLANTED[bug]
    planted.plant(monkeypatch)
    for seed in range(1, MOST_SEEDS + 1):
        broken = run_seed(seed).broken
        if broken is not None:
            assert broken.invariant in planted.breaks
            return
    pytest.fail(f"{MOST_SEEDS} seeds have not found it")
