"""Workloads scaled, and updated turn by turn, as their controllers do it: do they get stuck?"""

from __future__ import annotations

from collections import ChainMap, Counter
from collections.abc import Generator, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from types import MappingProxyType
from typing import Final, TypeAlias

from msgspec import structs

from affinityctl.deletion_cost import DELETION_COST
from affinityctl.rollouts import Rollout
from affinityctl.whatif.nodes import only_on
from affinityctl.whatif.outcome import (
    After,
    Looks,
    Removal,
    Step,
    Update,
    UpdateStep,
    ended,
    explain,
)
from affinityctl.whatif.placing import MakePod, replicas
from affinityctl.whatif.scaling import CostGiver, scaled_down
from affinityctl.whatif.scheduling import Scheduler
from affinityctl.whatif.successors import ordinal
from extender.model.keys import Key
from extender.model.objects import Pod
from extender.model.wording import plural, some
from extender.model.workload import DAEMON_SET, STATEFUL_SET

NO_COSTS: Final[Mapping[Key, int]] = MappingProxyType({})

_Turn: TypeAlias = tuple[Sequence[Pod], Sequence[Pod]]
"""Old pods to remove and then new pods to create."""


def scale(
    scheduler: Scheduler,
    what: str,
    old: Sequence[Pod],
    wanted: int,
    make: MakePod,
    *,
    givers: Sequence[CostGiver] = (),
) -> Looks:
    """Bring the pods of a workload to a number; say how it would be with costs of the `givers`."""
    step = Step(f"scale {what} from {len(old):,} to {plural(wanted, 'pod')}")
    since = scheduler.mark
    fewer = max(0, len(old) - wanted)
    gone = expendable(scheduler, old)[:fewer]
    if gone and not _by_ordinal(old):
        given = [each.given_costs(scheduler.state, old) for each in givers]
        would_go = expendable(scheduler, old, costs=ChainMap(*map(dict, given)))[:fewer]
        by = ", ".join(each.field for each in givers)
        step.scaled = scaled_down(scheduler.state, old, gone, would_go, by)
    step.removed += [remove(scheduler, pod) for pod in gone]
    new = list(islice(replicas(scheduler, make), max(0, wanted - len(old))))
    if one := next(iter(new or gone), None):
        scheduler.disruptions.scaled(one, wanted - scheduler.wanted(one.workload, len(old)))
    for pod in new:
        scheduler.add(pod)
    yield from scheduler.settle()
    return ended(scheduler, step, since, [pod.key for pod in new])


def remove(scheduler: Scheduler, pod: Pod) -> Removal:
    """Take a pod away for which no other one is made."""
    scheduler.remove(pod)
    return Removal(pod.key, pod.node, After.REPLACED)


def expendable(
    scheduler: Scheduler,
    pods: Sequence[Pod],
    beside: Iterable[Pod] = (),
    costs: Mapping[Key, int] = NO_COSTS,
) -> list[Pod]:
    """Sort pods, those first that a controller would delete first.

    A StatefulSet starts with the highest ordinal. A ReplicaSet with pods that wait, then those of
    the lowest deletion cost, on nodes with most pods of the workload, then the youngest
    (ActivePodsWithRanks); `beside` are its pods of other versions. `costs` are in place of those
    that some pods have.
    """
    if _by_ordinal(pods):
        return sorted(pods, key=lambda pod: -ordinal(pod))
    together = Counter(pod.node for pod in (*pods, *beside))
    return sorted(
        pods,
        key=lambda pod: (
            not scheduler.waits(pod.key),
            costs.get(pod.key, pod.facet(DELETION_COST) or 0),
            -together[pod.node],
            -(pod.started or 0),
            pod.key,
        ),
    )


def _by_ordinal(pods: Sequence[Pod]) -> bool:
    owner = pods[0].spec.owner if pods else None
    return owner is not None and owner.kind == STATEFUL_SET


@dataclass(frozen=True, slots=True)
class Version:
    """A new version of a workload."""

    what: str
    kind: str
    make: MakePod
    rollout: Rollout


@dataclass(slots=True)
class _State:
    """One update under way."""

    scheduler: Scheduler
    make: MakePod
    rollout: Rollout
    old: list[Pod]
    new: list[Pod] = field(default_factory=list)

    @property
    def waiting(self) -> list[Pod]:
        """Return the new pods that have no node."""
        return [pod for pod in self.new if self.scheduler.waits(pod.key)]


def roll(scheduler: Scheduler, version: Version, old: Sequence[Pod]) -> Looks:
    """Replace the pods of a workload by those of a new template.

    A pod counts as available once it has a node. Each turn is one step of the update.
    """
    step = Step(f"update {version.what}, {plural(len(old), 'pod')}")
    update = step.update = Update()
    since = scheduler.mark
    now = _State(scheduler, version.make, version.rollout, list(old))
    for gone, new in _turns(now, version.kind):
        yield from _take(now, update, gone, new)
    step.removed = [each for turn in update.steps for each in turn.removed]
    _judge(now, update)
    return ended(scheduler, step, since, [pod.key for pod in now.new])


def _turns(now: _State, kind: str) -> Iterator[_Turn]:
    if kind == DAEMON_SET:
        return _daemon_set(now)
    if kind == STATEFUL_SET:
        return _stateful_set(now)
    return _deployment(now) if now.rollout.rolling else _at_once(now)


def _take(
    now: _State, update: Update, gone: Sequence[Pod], new: Sequence[Pod]
) -> Generator[None, None, None]:
    scheduler = now.scheduler
    before = len(scheduler.placements)
    removed: list[Removal] = []
    for pod in gone:
        now.old.remove(pod)
        removed.append(remove(scheduler, pod))
    for pod in new:
        now.new.append(pod)
        scheduler.add(pod)
    yield from scheduler.settle()
    placed = scheduler.placements[before:]
    update.steps.append(UpdateStep(removed, [pod.key for pod in new], placed))


def _at_once(now: _State) -> Iterator[_Turn]:
    """Recreate: all old pods go before any new one comes."""
    wanted = _wanted(now)
    yield list(now.old), ()
    yield (), list(islice(replicas(now.scheduler, now.make), wanted))


def _deployment(now: _State) -> Iterator[_Turn]:
    """Yield the turns of a Deployment: new pods up to maxSurge, then old ones away."""
    rollout, scheduler = now.rollout, now.scheduler
    wanted = _wanted(now)
    names = replicas(scheduler, now.make)
    least = wanted - rollout.unavailable
    while True:
        more = min(wanted, wanted + rollout.surge - len(now.old)) - len(now.new)
        created = list(islice(names, max(0, more)))
        if created:
            yield (), created
        gone = _deletable(now, least)
        if gone:
            yield gone, ()
        if not created and not gone:
            return


def _wanted(now: _State) -> int:
    """Return how many pods there are to be; to be asked before the first of them goes."""
    return len(now.old) if now.rollout.replicas is None else now.rollout.replicas


def _deletable(now: _State, least: int) -> list[Pod]:
    """Return the old pods that a Deployment takes away in one go.

    It may take those that wait even where too few are available. They come first, and none that
    runs is taken before all that wait are: so one number is enough for both.
    """
    scheduler = now.scheduler
    most = max(0, len(now.old) + len(now.new) - least - len(now.waiting))
    beside = [scheduler.state.pods[pod.key] for pod in now.new]
    return expendable(scheduler, now.old, beside)[:most]


def _stateful_set(now: _State) -> Iterator[_Turn]:
    """Yield the turns of a StatefulSet: from the highest ordinal, each pod under its old name."""
    for number, pod in enumerate(sorted(now.old, key=lambda each: -ordinal(each))):
        if ordinal(pod) < now.rollout.partition:
            continue
        new = structs.replace(now.make(number), key=pod.key, uid=f"{pod.uid}'")
        yield [pod], [new]
        if len(now.waiting) >= now.rollout.unavailable:
            return


def _daemon_set(now: _State) -> Iterator[_Turn]:
    """Yield the turns of a DaemonSet, node by node: the new pod first where it may surge."""
    surge, template = now.rollout.surge, now.make(0)
    for pod in list(now.old):
        node = str(pod.node)
        new = only_on(template, node)
        if not surge:
            yield [pod], [new]
        else:
            yield (), [new]
            if not now.scheduler.waits(new.key):
                yield [pod], ()
        if len(now.waiting) >= (surge or now.rollout.unavailable):
            return


def _judge(now: _State, update: Update) -> None:
    """Say who waits for whom, if new pods wait."""
    waiting = now.waiting
    if not waiting:
        return
    first = waiting[0]
    kept = {pod.key for pod in now.old if pod.node is not None}
    found = explain(now.scheduler.state, first, now.scheduler.profile)
    behind = {pod.key for each in found.refusals for pod in each.pods} & kept
    update.waits = [pod.key for pod in waiting]
    update.kept = sorted(behind or kept)
    turns = plural(len(update.steps), "step")
    if (until := now.scheduler.held.get(first.key)) is not None:
        update.stuck = f"after {turns}: {first.key} is created once {until} is ready"
        return
    if not kept:
        update.stuck = f"after {turns}: {first.key} finds no node, and no old pod is left"
        return
    stay = f"{some(update.kept, len(update.kept))} {'stay' if len(update.kept) > 1 else 'stays'}"
    waits = f"waits for {'them' if len(update.kept) > 1 else 'it'} to go" if behind else "waits"
    update.stuck = f"after {turns}: {stay} until {first.key} runs, and {first.key} {waits}"
