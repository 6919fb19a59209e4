"""The command: many seeds with a line of progress, or one of them again, to the last event."""

from __future__ import annotations

import argparse
import os
import signal
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from itertools import count, islice
from typing import Final, TypeAlias

from simulation.annotating_plan import ANNOTATING
from simulation.outcome import Outcome
from simulation.plan import make_plan
from simulation.scaling_plan import SCALING
from simulation.shrinking import shrink
from simulation.spreading import INTERRUPTIONS, run_seeds
from simulation.tally import Tally
from simulation.themes import PREEMPTION, THEMES
from simulation.world import run

Enough: TypeAlias = Callable[[Tally], bool]
"""Tells whether there have been enough runs."""

ENOUGH_BINDS: Final = 1_000_000
PROGRESS_SECONDS: Final = 10.0
SHOWN_LINES: Final = 40


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the seeds asked for; 1 when an invariant does not hold in any of them."""
    parser = argparse.ArgumentParser(prog="python -m simulation", description=__doc__)
    parser.add_argument("--seed", type=int, help="run this seed alone and show how it went")
    parser.add_argument("--lines", action="store_true", help="with --seed, the whole trace")
    parser.add_argument("--first", type=int, default=1, help="the first of many seeds")
    parser.add_argument("--seeds", type=int, help="end after so many")
    parser.add_argument("--seconds", type=float, default=float("inf"), help="end after that long")
    parser.add_argument(
        "--binds", type=int, default=ENOUGH_BINDS, help="end after so many contested binds"
    )
    parser.add_argument(
        "--preemptions",
        type=int,
        help="end after so many of the extender, and run only the seeds that are about those",
    )
    parser.add_argument(
        "--evictions",
        type=int,
        help="end after so many by rules during execution, and run only the seeds about those",
    )
    parser.add_argument(
        "--moves",
        type=int,
        help="end after so many for preferred rules, and run only the seeds about those",
    )
    parser.add_argument(
        "--theme",
        choices=[*THEMES, SCALING, ANNOTATING],
        help="run only the seeds that are about it",
    )
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="processes")
    given = parser.parse_args(arguments)
    if given.seed is not None:
        return _again(given.seed, whole=given.lines)
    enough = _enough_binds(given.binds)
    if given.preemptions is not None:
        enough = _enough_preemptions(given.preemptions)
    if given.evictions is not None:
        enough = _enough_evictions(given.evictions)
    if given.moves is not None:
        enough = _enough_moves(given.moves)
    return _many(given, islice(_seeds(given), given.seeds), enough)


def _seeds(given: argparse.Namespace) -> Iterator[int]:
    """Yield the seeds of the runs that are about what is asked for."""
    theme = given.theme if given.preemptions is None else PREEMPTION
    for seed in count(given.first):
        setup = make_plan(seed).setup
        evicts = given.evictions is None or setup.evicting
        moves = given.moves is None or setup.repairing
        if theme in {None, setup.theme} and evicts and moves:
            yield seed


def _enough_binds(binds: int) -> Enough:
    return lambda tally: tally.contested >= binds


def _enough_preemptions(preemptions: int) -> Enough:
    return lambda tally: tally.preemptions["sets"] >= preemptions


def _enough_evictions(evictions: int) -> Enough:
    return lambda tally: tally.evictions["evicted"] >= evictions


def _enough_moves(moves: int) -> Enough:
    return lambda tally: tally.evictions["moved"] >= moves


def _again(seed: int, *, whole: bool) -> int:
    begun, so_far = time.monotonic(), ""
    for stop in INTERRUPTIONS:
        signal.signal(stop, signal.default_int_handler)
    try:
        outcome = run(make_plan(seed), keep_lines=True)
    except KeyboardInterrupt as interrupted:
        if not interrupted.args or not isinstance(interrupted.args[0], Outcome):
            raise
        outcome, so_far = interrupted.args[0], " so far, interrupted"
    if whole:
        _print(*outcome.lines)
    if outcome.broken is None:
        tally = Tally()
        tally.add(outcome)
        _print(f"seed {seed} holds{so_far}, digest {outcome.digest}")
        _print(tally.summary(time.monotonic() - begun))
        return 0
    _print(f"seed {seed} breaks, digest {outcome.digest}; making it smaller")
    _tell(shrink(outcome, run))
    return 1


def _many(given: argparse.Namespace, seeds: Iterator[int], enough: Enough) -> int:
    begun = shown = time.monotonic()
    tally = Tally()
    for stop in INTERRUPTIONS:
        # A shell has what it starts in the background ignore the first.
        signal.signal(stop, signal.default_int_handler)
    try:
        # From the first word on, an interruption ends with the report.
        _print(f"seeds from {given.first} on, in {given.jobs} processes")
        for outcome in run_seeds(seeds, given.jobs):
            tally.add(outcome)
            if outcome.broken is not None:
                _print(f"seed {outcome.plan.seed}: {outcome.broken}")
            now = time.monotonic()
            if now - begun > given.seconds or enough(tally):
                break
            if now - shown > PROGRESS_SECONDS:
                shown = now
                _report(tally, now - begun)
    except KeyboardInterrupt:
        _print("", "interrupted")
    _report(tally, time.monotonic() - begun)
    _print(tally.seeds_line())
    for broken in tally.broken[:1]:
        _print("", f"seed {broken.plan.seed}, made smaller:")
        _tell(shrink(broken, run))
    return 1 if tally.broken else 0


def _report(tally: Tally, seconds: float) -> None:
    _print(f"{seconds:6.0f} s  {tally.summary(seconds)}", f"{'':8}  {tally.faults_line()}")


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


def _print(*lines: str) -> None:
    sys.stdout.write("\n".join(lines) + "\n")
    sys.stdout.flush()
