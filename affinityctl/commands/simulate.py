"""The command simulate: what would become of a cluster if something changed."""

from __future__ import annotations

import random
import sys
from collections.abc import Callable, Generator
from time import monotonic
from typing import TYPE_CHECKING, Final, TypeVar

from affinityctl.changes import Kind, add_changes
from affinityctl.flags import config_flag, output_flag, whole_cluster_group
from extender.command_line import DONE, NOT_FINE, Commands, command, complain, exit_codes, say

if TYPE_CHECKING:
    import argparse
    from collections.abc import Mapping

    from affinityctl.judging import Judging
    from affinityctl.noting import NotingReader
    from extender.cluster.state import ClusterState
    from extender.model.workload import Identity
    from extender.wire.workloads import Workload

DESCRIPTION = """\
Say what would become of a cluster if something changed: which pods would land where, which would
stay pending and why, which rule is the bottleneck, and whether an update would get stuck. Changes
apply in the order in which they are given. Nothing is changed in the cluster.

Pods are placed one by one, as the scheduler would by inter-pod affinity, node affinity, taints,
requests, host ports and quotas on cross-namespace affinity; a pod that evicts less important ones
does so here as well. Volumes, topology spread constraints, devices and scheduling gates are not
looked at; pods that use them are named.
"""

EPILOG = f"""\
output:
  text   what each change did, and why pods wait
  wide   the same, with each pod and its node, and each turn of an update
  json   one object with everything
  yaml   the same

  docs/simulate.md says what is modelled and what is not.

cluster:
  By default the one of kubectl's current context ($KUBECONFIG, or ~/.kube/config); in a pod, that
  of its service account. Needs the right to list nodes, namespaces and pods; without that to list
  poddisruptionbudgets and resourcequotas, these are not looked at. --cluster reads a file instead.

examples:
  affinity-extender simulate -f web.yaml --replicas 12
      would twelve of these find a place, and where?
  affinity-extender simulate -f web.yaml --until-full --cluster dump.json
      how many of them does this cluster take?
  affinity-extender simulate --lose zone=b
      where would the pods of zone b go, and who would wait?
  affinity-extender simulate --drain pool=old --add-nodes 3 --like node-17
      is there room for what is on the old nodes, and do three more nodes help?
  affinity-extender simulate --roll web.yaml -n shop
      would this update get stuck?
  affinity-extender simulate --roll web.yaml -n shop --config extender.yaml
      and with the addedAffinity, hardPodAffinityWeight ... of that extender?
  kubectl get nodes,namespaces,pods,deployments,statefulsets,daemonsets,pdb -A -o json > dump.json
  affinity-extender simulate --restart deployment/web -n shop --cluster dump.json

{exit_codes("pods wait, a budget blocks a drain, or an update gets stuck")}"""

T = TypeVar("T")

WIDTH: Final = 30
REDRAWN_SECONDS: Final = 0.1
SAID_SECONDS: Final = 5.0
"""Between two lines, where standard error is no terminal; what is shorter says nothing."""


def add_to(commands: Commands) -> None:
    """Add the command."""
    simulate = command(
        commands,
        "simulate",
        "say what would happen if pods came, nodes went or a workload was updated",
        description=DESCRIPTION,
        epilog=EPILOG,
    )
    simulate.set_defaults(run=_run)
    add_changes(simulate)
    simulate.add_argument(
        *("-n", "--namespace"),
        default="default",
        metavar="NAME",
        help="namespace of workloads that are named, and of manifests that name none (default: "
        "%(default)s)",
    )
    simulate.add_argument(
        "--seed",
        type=int,
        default=0,
        metavar="N",
        help="seed of the choice between nodes that are equally good (default: %(default)s)",
    )
    config_flag(simulate, "the plugins' arguments and feature gates", "the scheduler's defaults")
    output_flag(simulate, "text", "wide", "json", "yaml")
    whole_cluster_group(simulate)


def _run(flags: argparse.Namespace) -> int:
    from affinityctl import simulate  # noqa: PLC0415 - see the head of this package
    from affinityctl.judging import judging, note_ignored_annotations  # noqa: PLC0415
    from affinityctl.noting import NotingReader  # noqa: PLC0415
    from affinityctl.simulated_changes import Carrier, read_files  # noqa: PLC0415
    from affinityctl.whatif.outcome import Simulation, pending  # noqa: PLC0415
    from affinityctl.whatif.placing import begin  # noqa: PLC0415
    from affinityctl.whatif.scheduling import Scheduler  # noqa: PLC0415

    by = judging(flags.config)
    files = read_files(flags.changes, flags.namespace)
    pods = NotingReader(by.gates)
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
    found = Simulation(state, flags.seed, steps, waiting, scheduler.preemptions, pods.beyond)
    say(simulate.write(found, flags.output))
    return DONE if found.is_fine else NOT_FINE


def _cluster(
    flags: argparse.Namespace, pods: NotingReader, by: Judging
) -> tuple[ClusterState, Mapping[Identity, Workload]]:
    """Return the cluster that the flags name, and the workloads that are known."""
    from affinityctl.cluster import cluster_with_nodes, list_workloads  # noqa: PLC0415 - see above
    from extender.resources import BUDGETS  # noqa: PLC0415

    state, found = cluster_with_nodes(flags, pods, BUDGETS, by=by)
    if found is not None:
        return state, found
    named = any(each.kind in {Kind.SCALE, Kind.RESTART} for each in flags.changes)
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
