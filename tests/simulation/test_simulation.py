"""The program holds in a simulated cluster, and what a seed does it does again."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from simulation.command import run_seed
from simulation.plan import make_plan
from simulation.shrinking import shrink
from simulation.world import run
from tests.simulation.planted import PLANTED

SEEDS = int(os.environ.get("SIMULATION_SEEDS", "4"))
ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize("seed", range(1, SEEDS + 1))
def test_everything_holds(seed: int) -> None:
    outcome = run_seed(seed)
    assert outcome.broken is None, f"make simulate SEED={seed}"
    assert outcome.binds["with rules"] > 0


def _digest(*, hashes: str) -> str:
    command = [sys.executable, "-m", "simulation", "--seed", "3"]
    environment = {**os.environ, "PYTHONHASHSEED": hashes}
    ended = subprocess.run(
        command, cwd=ROOT, env=environment, capture_output=True, text=True, check=True, timeout=120
    )
    found = re.search(r"digest (\w+)", ended.stdout)
    assert found is not None, ended.stdout
    return found.group(1)


def test_the_same_seed_does_the_same_in_any_process() -> None:
    assert _digest(hashes="1") == _digest(hashes="2")


def test_another_seed_does_something_else() -> None:
    assert run_seed(1).digest != run_seed(2).digest


def test_a_failure_is_made_smaller_and_stays_one(monkeypatch: pytest.MonkeyPatch) -> None:
    PLANTED["binds without reserving"].plant(monkeypatch)
    failed = next(each for each in map(run_seed, range(1, 20)) if each.broken is not None)
    small = shrink(failed, run, most_runs=6)
    assert small.broken is not None
    assert failed.broken is not None
    assert small.broken.invariant == failed.broken.invariant
    assert len(small.plan.actions) < len(make_plan(failed.plan.seed).actions)
