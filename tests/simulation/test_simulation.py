"""The program holds in a simulated cluster, and what a seed does it does again."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

from simulation.invariants.broken import BrokenError
from simulation.outcome import Outcome
from simulation.plan import Plan, make_plan
from simulation.shrinking import shrink
from simulation.spreading import run_seed, run_seeds
from simulation.tally import Tally

PREEMPTING_SEEDS = (6, 11)
EVICTING_SEEDS = (38, 49, 29, 86, 97)
REPAIRING_SEEDS = (20, 55, 58, 75)
GROUP_SEEDS = (156, 221)
SEEDS = (7, 703, 26, 240, 371, 59, 424, 754, 2)
"""Those that bring many binds for their time, and all kinds of faults."""
MORE_SEEDS = (81, 43, 320, 87, 301, 309, 4, 13, 47, 93, 48, 120, 24, 29, 278, 49, 137)
"""Of all kinds, should there not be enough of something: any change may lead a seed elsewhere."""
ENOUGH_BINDS = 5_000
ENOUGH_PREEMPTIONS = 40
ENOUGH_EVICTIONS = 10
ENOUGH_HANDOVERS = 5
ENOUGH_MOVES = 10
ENOUGH_GANGS = 40
SHORT_SEED = 2
ROOT = Path(__file__).parents[2]


@pytest.mark.thorough
def test_everything_holds_in_many_binds_preemptions_evictions_and_moves() -> None:
    tally = Tally()
    seeds = (
        *GROUP_SEEDS,
        *EVICTING_SEEDS,
        *REPAIRING_SEEDS,
        *PREEMPTING_SEEDS,
        *SEEDS,
        *MORE_SEEDS,
    )
    for outcome in run_seeds(seeds, os.cpu_count() or 1):
        assert outcome.broken is None, f"make simulate SEED={outcome.plan.seed}"
        tally.add(outcome)
        if not lacking(tally):
            break
    assert lacking(tally) == []


def lacking(tally: Tally) -> list[str]:
    """Return of what there has not been enough, and the kinds of faults that have not happened."""
    enough = {
        "contested binds": tally.contested >= ENOUGH_BINDS,
        "raced binds": tally.binds["raced"] >= ENOUGH_BINDS // 4,
        "preemptions": tally.preemptions["sets"] >= ENOUGH_PREEMPTIONS,
        "evictions": tally.evictions["evicted"] >= ENOUGH_EVICTIONS,
        "moves": tally.evictions["moved"] >= ENOUGH_MOVES,
        "gangs": tally.gangs["whole"] >= ENOUGH_GANGS,
        "handovers": tally.evictions["handovers"] >= ENOUGH_HANDOVERS,
        **{name: count > 0 for name, count in tally.faults.items()},
    }
    return [name for name, is_so in enough.items() if not is_so]


def test_clusters_are_small_and_large_and_runs_short_and_long() -> None:
    plans = [make_plan(seed) for seed in range(1, 1_001)]
    assert {3, 300} <= {plan.setup.nodes for plan in plans}
    busy = [plan.busy for plan in plans]
    assert min(busy) < 60.0
    assert max(busy) > 7 * 86_400.0


@pytest.mark.thorough
def test_the_same_seed_does_the_same_in_another_process() -> None:
    ended = subprocess.run(
        [sys.executable, "-m", "simulation", "--seed", str(SHORT_SEED)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
        timeout=300,
    )
    found = re.search(r"digest (\w+)", ended.stdout)
    assert found is not None
    assert found.group(1) == run_seed(SHORT_SEED).digest


def test_a_failure_is_made_as_small_as_can_be() -> None:
    culprits = {"compact", "close watches"}

    def run(plan: Plan) -> Outcome:
        there = culprits <= {action.what for action in plan.actions}
        broken = BrokenError("planted", "", ()) if there else None
        return Outcome(plan, broken, "", 0.0, Counter(), Counter(), Counter())

    failed = next(each for each in map(run, map(make_plan, range(1, 200))) if each.broken)
    small = shrink(failed, run, most_runs=500)
    assert {action.what for action in small.plan.actions} == culprits
    assert len(small.plan.actions) == len(culprits)
