"""Runs seeds in several processes, each seed in one of them."""

from __future__ import annotations

import multiprocessing
import queue
import signal
from collections.abc import Generator, Iterable
from typing import Final

from simulation.outcome import Outcome
from simulation.plan import Plan, make_plan
from simulation.world import run

SEEDS_OF_A_PROCESS: Final = 200
"""Then another one takes its place, so that hours leave nothing behind."""
LONGEST_SECONDS: Final = 3600.0
"""Without a result for so long, a process must have been killed."""
INTERRUPTIONS: Final = signal.SIGINT, signal.SIGTERM


def run_seed(seed: int) -> Outcome:
    return run(make_plan(seed))


def run_seeds(seeds: Iterable[int], jobs: int) -> Generator[Outcome, None, None]:
    """Run seeds, a few at a time, and yield how each went, in whatever order they end."""
    return run_plans(map(make_plan, seeds), jobs)


def run_plans(plans: Iterable[Plan], jobs: int) -> Generator[Outcome, None, None]:
    """Run plans in the same way."""
    if jobs == 1:
        yield from map(run, plans)
        return
    left = iter(plans)
    ended: queue.SimpleQueue[Outcome | BaseException] = queue.SimpleQueue()
    fork = multiprocessing.get_context("fork")
    # A process that has just been forked must not be interrupted before it knows what to do then,
    # nor this one while it forks: it would not notice.
    signal.pthread_sigmask(signal.SIG_BLOCK, INTERRUPTIONS)
    with fork.Pool(jobs, _begin_process, maxtasksperchild=SEEDS_OF_A_PROCESS) as pool:
        signal.pthread_sigmask(signal.SIG_UNBLOCK, INTERRUPTIONS)

        def begin() -> int:
            plan = next(left, None)
            if plan is None:
                return 0
            pool.apply_async(run, (plan,), callback=ended.put, error_callback=ended.put)
            return 1

        # One more each, so that nobody waits for the next.
        running = sum(begin() for _ in range(2 * jobs))
        while running:
            outcome = ended.get(timeout=LONGEST_SECONDS)
            if isinstance(outcome, BaseException):
                raise outcome
            running += begin() - 1
            yield outcome


def _begin_process() -> None:
    # Whoever interrupts wants to hear how far it came, and the pool ends its processes itself.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, INTERRUPTIONS)
