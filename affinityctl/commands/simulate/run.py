"""Carries a simulation out."""

from __future__ import annotations

import argparse
import random
import time
from collections.abc import Mapping
from typing import Final

from affinityctl.commands.simulate.applied import SimulationReader, known_of
from affinityctl.commands.simulate.carrier import Carrier, read_files
from affinityctl.commands.simulate.changes import BY_CONTROLLERS, ChangeKind
from affinityctl.commands.simulate.report import write
from affinityctl.commands.simulate.whatif.deletion_order import Lives
from affinityctl.commands.simulate.whatif.outcome import Simulation, pending
from affinityctl.commands.simulate.whatif.placing import begin, keep_daemons
from affinityctl.commands.simulate.whatif.scheduling import Scheduler
from affinityctl.commands.simulate.whatif.successors import is_of_stateful_set
from affinityctl.reading.api_server import namespace_of
from affinityctl.reading.cluster import cluster_with_nodes, list_stateful_sets, list_workloads
from affinityctl.reading.limit_ranges import limit_ranges
from affinityctl.reading.priorities import priority_classes
from affinityctl.reading.workloads import WorkloadFiles
from affinityctl.scheduler.judging import EXIT, Judging, judging, note_ignored_rules
from affinityctl.terminal.printing import show
from affinityctl.terminal.progress import Progress
from extender.core.config.features import left_to_scheduler
from extender.core.model.keys import Key
from extender.core.model.workload import Identity
from extender.core.resources import BUDGETS
from extender.diagnosis.wire.workloads import Workload

REMOVING: Final = frozenset(
    (ChangeKind.DRAIN, ChangeKind.DRAIN_EACH, ChangeKind.LOSE, ChangeKind.LOSE_EACH)
)
"""Changes after which controllers make pods anew."""


OF_TEMPLATES: Final = frozenset(
    (ChangeKind.PLACE, ChangeKind.ROLL, ChangeKind.RESTART, ChangeKind.SCALE)
)
"""Changes that make pods of manifests and templates."""


def run(flags: argparse.Namespace) -> int:
    by = judging(flags.config, flags.scheduler_config, flags.scheduler_name)
    flags.namespace = namespace_of(flags)
    controlled = any(each.kind in BY_CONTROLLERS for each in flags.changes)
    # These are profiles of the same scheduler; its own file says how they judge.
    left = () if flags.scheduler_config else left_to_scheduler(by.config)
    pods = SimulationReader(by.gates, {*flags.scheduler_name, *left}, lives=controlled)
    files = read_files(flags.changes, flags.namespace)
    cluster, workloads = _cluster(flags, pods, by)
    state = cluster.state
    drawn = random.Random(flags.seed).random  # noqa: S311 - to be repeated, not to be a secret
    chance = (lambda: 0.0) if flags.seed is None else drawn
    known = {each.identity: known_of(each) for each in workloads.values()}
    lives = Lives(pods.lives, time.time())
    scheduler = Scheduler(state, chance, by.profile, known, lives)
    carrier = Carrier(scheduler, pods, files, workloads, namespace=flags.namespace, cluster=cluster)
    ignored = state.broken_rules.ignored
    keep_daemons(scheduler)
    progress = Progress()
    steps = []
    if scheduler.waiting:
        first = begin(scheduler)
        steps.append(progress.through("pods that wait already", len(scheduler.waiting), first))
    begun, waited = 0, frozenset[Key]()
    # Where nodes are added, or nothing is changed, the question is about the pods that wait.
    if any(each.kind is not ChangeKind.ADD for each in flags.changes):
        begun, waited = len(steps), frozenset(pod.key for pod in scheduler.waiting)
        scheduler.uncertain.clear()
    for change in flags.changes:
        what = f"{change.kind.value} {change.value}"
        for total, looks in carrier.steps(change):
            steps.append(progress.through(what, total, looks))
    # The namespaces of manifests may come with them.
    note_ignored_rules(state, carrier.templates(flags.changes), ignored)
    waiting = pending(state, scheduler.waiting, by.profile, waited, scheduler.held, steps=steps)
    found = Simulation(
        state,
        flags.seed,
        steps,
        waiting,
        begun,
        scheduler.beyond,
        is_certain=not scheduler.uncertain - waited,
    )
    show(write(found, flags.output), flags.output)
    return EXIT[found.verdict]


def _cluster(
    flags: argparse.Namespace, pods: SimulationReader, by: Judging
) -> tuple[WorkloadFiles, Mapping[Identity, Workload]]:
    changed = {each.kind for each in flags.changes}
    adding = (priority_classes(pods.priorities), limit_ranges(pods.limits))
    further = adding if changed & OF_TEMPLATES else ()
    cluster = cluster_with_nodes(flags, pods, BUDGETS, *further, by=by)
    if flags.cluster:
        return cluster, cluster.workloads.found
    if changed & {ChangeKind.SCALE, ChangeKind.RESTART}:
        return cluster, list_workloads(flags, by.selectors)
    if changed & REMOVING and any(map(is_of_stateful_set, cluster.state.pods.values())):
        return cluster, list_stateful_sets(flags, by.selectors)
    return cluster, {}
