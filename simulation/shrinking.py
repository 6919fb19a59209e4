"""Makes a plan that fails smaller: it leaves out what can be left out, again and again."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Final

from simulation.outcome import Outcome
from simulation.plan import Plan

MOST_RUNS: Final = 60


def shrink(failed: Outcome, run: Callable[[Plan], Outcome], most_runs: int = MOST_RUNS) -> Outcome:
    """Return the failure of the smallest plan found that breaks the same invariant."""
    best = failed
    invariant = _invariant(failed)
    size, runs = max(len(failed.plan.actions) // 2, 1), 0
    while runs < most_runs:
        smaller = False
        at = 0
        while at < len(best.plan.actions) and runs < most_runs:
            actions = best.plan.actions
            left = (*actions[:at], *actions[at + size :])
            runs += 1
            outcome = run(replace(best.plan, actions=left))
            if _invariant(outcome) == invariant:
                best, smaller = outcome, True
            else:
                at += size
        if size == 1 and not smaller:
            break
        size = max(size // 2, 1)
    return best


def _invariant(outcome: Outcome) -> str | None:
    return None if outcome.broken is None else outcome.broken.invariant
