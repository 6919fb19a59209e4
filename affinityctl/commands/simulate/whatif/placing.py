"""Pods that come: those that wait already, those of a manifest, or as many as find room."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from itertools import count, islice
from typing import Final, TypeAlias

from affinityctl.commands.simulate.whatif.nodes import node_of_daemon, only_on
from affinityctl.commands.simulate.whatif.outcome import Looks, Step, ended, pending
from affinityctl.commands.simulate.whatif.scheduling import Mark, Scheduler
from affinityctl.commands.simulate.whatif.successors import kept_to
from extender.core.model.objects import Pod
from extender.core.model.wording import plural
from extender.core.model.workload import DAEMON_SET, Identity
from extender.core.verbs.nominating import suitable
from extender.diagnosis.verbs.waiting import is_not_made

MOST_UNTIL_FULL: Final = 20_000
"""Pods that are placed until none fits any more: some minutes with 5,000 nodes."""

MakePod: TypeAlias = Callable[[int], Pod]
"""Makes one of the pods of a template, by its number."""


def begin(scheduler: Scheduler) -> Looks:
    waiting = [pod.key for pod in scheduler.waiting]
    which = "waits already" if len(waiting) == 1 else "wait already"
    missing = sum(map(is_not_made, scheduler.waiting))
    if missing:
        are = "is" if len(waiting) == 1 else "are"
        wait_or = f"{which} or " * (missing < len(waiting))
        which = f"{wait_or}{are} not made yet by controllers"
    step = Step(f"place {plural(len(waiting), 'pod')} that {which}")
    scheduler.is_as_found = True
    yield from scheduler.settle()
    scheduler.is_as_found = False
    return ended(scheduler, step, Mark(0, 0), waiting)


def place(scheduler: Scheduler, what: str, pods: Iterable[Pod]) -> Looks:
    new = list(pods)
    step = Step(f"place {plural(len(new), 'pod')} of {what}")
    since = scheduler.mark
    for pod in new:
        scheduler.disruptions.scaled(pod, 1)
        scheduler.add(pod)
    yield from scheduler.settle()
    return ended(scheduler, step, since, [pod.key for pod in new])


def fill(scheduler: Scheduler, what: str, make: MakePod, most: int = MOST_UNTIL_FULL) -> Looks:
    """Place pods of a template until one finds no node; that one is not there afterwards."""
    step = Step(f"place pods of {what} until none fits")
    since = scheduler.mark
    for pod in islice(replicas(scheduler, make), most):
        scheduler.disruptions.scaled(pod, 1)
        scheduler.add(pod)
        placed = scheduler.place(pod)
        yield
        if not placed:
            (step.full,) = pending(scheduler.state, [pod], scheduler.profile)
            scheduler.remove(pod)
            scheduler.disruptions.scaled(pod, -1)
            break
    else:
        step.notes.append(f"stopped after {plural(most, 'pod')}: more would fit")
    return ended(scheduler, step, since, ())


def replicas(scheduler: Scheduler, make: MakePod) -> Iterator[Pod]:
    """Make pods of a template, one after the other, with names that no pod has."""
    pods = scheduler.state.pods
    for number in count():
        pod = make(number)
        if pod.key not in pods:
            yield pod


def keep_daemons(scheduler: Scheduler) -> None:
    """Keep pods that DaemonSets have not made yet to the nodes that lack one; O(pods).

    Those that no node wants are taken away.
    """
    missing: dict[Identity, list[Pod]] = {}
    for pod in scheduler.waiting:
        of = pod.workload
        if of is not None and of.kind == DAEMON_SET and is_not_made(pod):
            missing.setdefault(of, []).append(pod)
    state = scheduler.state
    there = {
        (pod.workload, node_of_daemon(pod))
        for pod in (state.pods.values() if missing else ())
        if pod.workload in missing
    }
    for of, pods in missing.items():
        suits = suitable(state, pods[0], ())
        lacking = (name for name in sorted(state.nodes) if (of, name) not in there and suits(name))
        for pod in pods:
            scheduler.remove(pod)
            if (name := next(lacking, None)) is not None:
                scheduler.add(kept_to(pod, name))


def daemons(scheduler: Scheduler, template: Pod) -> Iterator[Pod]:
    """Make the pods of a DaemonSet: one for each node that its template may go to."""
    state = scheduler.state
    suits = suitable(state, template, ())
    for name in state.nodes:
        if suits(name):
            yield only_on(template, name)
