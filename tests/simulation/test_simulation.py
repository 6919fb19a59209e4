"""The program holds in a simulated cluster, and what a seed does it does again."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections import Counter
from functools import cache
from pathlib import Path

import pytest

from simulation import command
from simulation.invariants.referee import BrokenError
from simulation.plan import Plan, make_plan
from simulation.shrinking import shrink
from simulation.world import Outcome

SEEDS = int(os.environ.get("SIMULATION_SEEDS", "2"))
ROOT = Path(__file__).parents[2]

run_seed = cache(command.run_seed)


@pytest.mark.parametrize("seed", range(1, SEEDS + 1))
def test_everything_holds(seed: int) -> None:
    outcome = run_seed(seed)
    assert outcome.broken is None, f"make simulate SEED={seed}"
    assert outcome.binds["with rules"] > 0


def test_the_same_seed_does_the_same_in_another_process() -> None:
    ended = subprocess.run(
        [sys.executable, "-m", "simulation", "--seed", "1"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
        timeout=120,
    )
    found = re.search(r"digest (\w+)", ended.stdout)
    assert found is not None
    assert found.group(1) == run_seed(1).digest


def test_a_failure_is_made_as_small_as_can_be() -> None:
    culprits = {"compact", "close watches"}

    def run(plan: Plan) -> Outcome:
        there = culprits <= {action.what for action in plan.actions}
        broken = BrokenError("planted", "", ()) if there else None
        return Outcome(plan, broken, "", 0.0, Counter(), Counter())

    failed = next(each for each in map(run, map(make_plan, range(1, 200))) if each.broken)
    small = shrink(failed, run, most_runs=500)
    assert {action.what for action in small.plan.actions} == culprits
    assert len(small.plan.actions) == len(culprits)
