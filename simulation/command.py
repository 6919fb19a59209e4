"""The command: many seeds with a line of progress, or one of them again, to the last event."""

from __future__ import annotations

import argparse
import multiprocessing
import os
import sys
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from simulation.plan import FAULTS, make_plan
from simulation.shrinking import shrink
from simulation.world import Outcome, run

DEFAULT_SEEDS: Final = 100
PROGRESS_SECONDS: Final = 5.0
SHOWN_LINES: Final = 40


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the seeds asked for; 1 when an invariant does not hold in any of them."""
    parser = argparse.ArgumentParser(prog="python -m simulation", description=__doc__)
    parser.add_argument("--seed", type=int, help="run this seed alone and show how it went")
    parser.add_argument("--seeds", type=int, default=DEFAULT_SEEDS, help="how many to run")
    parser.add_argument("--first", type=int, default=1, help="the first of them")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="processes")
    parser.add_argument("--seconds", type=float, default=float("inf"), help="begin none after that")
    parser.add_argument("--lines", action="store_true", help="with --seed, the whole trace")
    given = parser.parse_args(arguments)
    if given.seed is not None:
        return _again(given.seed, whole=given.lines)
    return _many(range(given.first, given.first + given.seeds), given.jobs, given.seconds)


def _again(seed: int, *, whole: bool) -> int:
    outcome = run(make_plan(seed), keep_lines=True)
    if whole:
        _print(*outcome.lines)
    if outcome.broken is None:
        _print(f"seed {seed} holds: {_summary([outcome])}, digest {outcome.digest}")
        return 0
    _print(f"seed {seed} breaks, digest {outcome.digest}; making it smaller")
    _tell(shrink(outcome, run))
    return 1


def _many(seeds: Iterable[int], jobs: int, seconds: float) -> int:
    begun = shown = time.monotonic()
    outcomes: list[Outcome] = []
    broken: list[Outcome] = []
    for outcome in _outcomes(seeds, jobs, begun + seconds):
        outcomes.append(outcome)
        if outcome.broken is not None:
            broken.append(outcome)
            _print(f"seed {outcome.plan.seed}: {outcome.broken}")
        if time.monotonic() - shown > PROGRESS_SECONDS:
            shown = time.monotonic()
            _print(f"{shown - begun:5.0f} s  {_summary(outcomes)}, {len(broken)} broken")
    _print(f"{time.monotonic() - begun:5.0f} s  {_summary(outcomes)}, {len(broken)} broken")
    happened = sum((each.kinds for each in outcomes), Counter[str]())
    _print("faults: " + ", ".join(f"{name} {happened[name]}" for name in sorted(FAULTS)))
    for outcome in broken[:1]:
        _print("", "the first one, made smaller:")
        _tell(shrink(outcome, run))
    return 1 if broken else 0


def _outcomes(seeds: Iterable[int], jobs: int, until: float) -> Iterator[Outcome]:
    def begun() -> Iterator[int]:
        for seed in seeds:
            if time.monotonic() > until:
                return
            yield seed

    if jobs == 1:
        yield from map(run_seed, begun())
        return
    with multiprocessing.get_context("fork").Pool(jobs) as pool:
        for outcome in pool.imap_unordered(run_seed, seeds):
            yield outcome
            if time.monotonic() > until:
                pool.terminate()
                return


def run_seed(seed: int) -> Outcome:
    """Run the plan of a seed."""
    return run(make_plan(seed))


def _tell(outcome: Outcome) -> None:
    broken = outcome.broken
    if broken is None:
        return
    _print("", str(broken), "", "what happened, as little of it as breaks this:")
    _print(f"    {outcome.plan.setup}", *(f"    {each}" for each in outcome.plan.actions))
    lines = [
        line
        for line in outcome.lines
        if not broken.words or " plan " in line or any(word in line for word in broken.words)
    ]
    _print("", "the last lines about it:", *(f"    {line}" for line in lines[-SHOWN_LINES:]))
    _print("", f"again: make simulate SEED={outcome.plan.seed}")


def _summary(outcomes: Sequence[Outcome]) -> str:
    binds = sum((each.binds for each in outcomes), Counter[str]())
    hours = sum(each.simulated for each in outcomes) / 3600.0
    seeds = f"{len(outcomes)} seeds, " if len(outcomes) != 1 else ""
    return f"{seeds}{hours:.1f} simulated hours, {binds['with rules']} binds of pods with rules"


def _print(*lines: str) -> None:
    sys.stdout.write("\n".join(lines) + "\n")
    sys.stdout.flush()
