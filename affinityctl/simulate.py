"""Carries a simulation out, and shows how far it is."""

from __future__ import annotations

import argparse
import random
import sys
from collections.abc import Callable, Generator, Mapping
from time import monotonic
from typing import Final, TypeVar

from affinityctl.applied import reader
from affinityctl.changes import ChangeKind
from affinityctl.cluster import cluster_with_nodes, list_workloads
from affinityctl.judging import EXIT, Judging, judging, note_ignored_annotations
from affinityctl.simulated_changes import Carrier, read_files
from affinityctl.simulation_report import write
from affinityctl.whatif.outcome import Simulation, pending
from affinityctl.whatif.placing import begin
from affinityctl.whatif.scheduling import Scheduler
from extender.cluster.state import ClusterState
from extender.command_line import complain, say
from extender.model.workload import Identity
from extender.resources import BUDGETS
from extender.wire.objects import PodReader
from extender.wire.workloads import Workload

T = TypeVar("T")
WIDTH: Final = 30
REDRAWN_SECONDS: Final = 0.1
SAID_SECONDS: Final = 5.0
"""Between two lines, where standard error is no terminal; what is shorter says nothing."""


def run(flags: argparse.Namespace) -> int:
    """Carry the command out and return its exit code."""
    by = judging(flags.config)
    files = read_files(flags.changes, flags.namespace)
    pods = reader(by.gates)
    state, workloads = _cluster(flags, pods, by)
    note_ignored_annotations(state)
    chance = random.Random(flags.seed).random  # noqa: S311 - to be repeated, not to be a secret
    scheduler = Scheduler(state, chance, by.profile)
    progress = Progress()
    steps = []
    if scheduler.waiting:
        first = begin(scheduler)
        steps.append(progress.through("pods that wait already", len(scheduler.waiting), first))
    carrier = Carrier(scheduler, pods, files, workloads, flags.namespace)
    for change in flags.changes:
        what = f"{change.kind.value} {change.value}"
        for total, looks in carrier.steps(change):
            steps.append(progress.through(what, total, looks))
    waiting = pending(state, scheduler.waiting, by.profile)
    found = Simulation(
        state,
        flags.seed,
        steps,
        waiting,
        scheduler.preemptions,
        scheduler.beyond,
        is_certain=not scheduler.is_uncertain,
    )
    say(write(found, flags.output))
    return EXIT[found.verdict]


def _cluster(
    flags: argparse.Namespace, pods: PodReader, by: Judging
) -> tuple[ClusterState, Mapping[Identity, Workload]]:
    state, found = cluster_with_nodes(flags, pods, BUDGETS, by=by)
    if found is not None:
        return state, found
    named = any(each.kind in {ChangeKind.SCALE, ChangeKind.RESTART} for each in flags.changes)
    return state, list_workloads(flags) if named else {}


class Progress:
    """Shows how many pods were looked at, on standard error."""

    def __init__(self, clock: Callable[[], float] = monotonic) -> None:
        self._clock = clock
        self._drawn = 0
        """Characters of the bar that is shown."""

    def through(self, what: str, total: int, looks: Generator[None, None, T]) -> T:
        """Go through all looks and return their result; `total` 0 for a number nobody knows."""
        bar = sys.stderr.isatty()
        last, done = self._clock(), 0
        while True:
            try:
                next(looks)
            except StopIteration as end:
                self._wipe()
                result: T = end.value
                return result
            done += 1
            now = self._clock()
            if now - last >= (REDRAWN_SECONDS if bar else SAID_SECONDS):
                last = now
                (self._draw if bar else self._say)(what, done, total)

    def _draw(self, what: str, done: int, total: int) -> None:
        filled = WIDTH * min(done, total) // total if total else 0
        bar = f"[{'#' * filled}{'.' * (WIDTH - filled)}] " if total else ""
        line = f"{bar}{_count(done, total)}: {what}"
        sys.stderr.write("\r" + line.ljust(self._drawn))
        sys.stderr.flush()
        self._drawn = len(line)

    def _say(self, what: str, done: int, total: int) -> None:
        complain(f"{what}: {_count(done, total)}")

    def _wipe(self) -> None:
        if self._drawn:
            sys.stderr.write("\r" + " " * self._drawn + "\r")
            sys.stderr.flush()
            self._drawn = 0


def _count(done: int, total: int) -> str:
    return f"{done:,} of {total:,} pods" if total > done else f"{done:,} pods"
