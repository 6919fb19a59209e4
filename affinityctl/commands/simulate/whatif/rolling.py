"""Workloads scaled, and updated turn by turn, as their controllers do it: do they get stuck?"""

from __future__ import annotations

from collections import ChainMap
from collections.abc import Container, Generator, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice
from typing import TypeAlias

from msgspec import structs

from affinityctl.commands.simulate.whatif.deletion_order import Lives
from affinityctl.commands.simulate.whatif.nodes import UNREACHABLE, node_of_daemon, only_on
from affinityctl.commands.simulate.whatif.outcome import (
    After,
    Looks,
    Removal,
    Step,
    Update,
    UpdateStep,
    ended,
    explain,
)
from affinityctl.commands.simulate.whatif.placing import MakePod, daemons, replicas
from affinityctl.commands.simulate.whatif.scaling import CostGiver, scaled_down
from affinityctl.commands.simulate.whatif.scheduling import Scheduler
from affinityctl.commands.simulate.whatif.successors import as_made, is_of_stateful_set, ordinal
from affinityctl.commands.simulate.whatif.turns import (
    Member,
    Size,
    next_of_deployment,
    next_of_stateful_set,
)
from affinityctl.reading.rollouts import AS_BY_DEFAULT, Rollout
from affinityctl.scheduler.volumes.ledger import ledger_of
from extender.core.model.objects import Controller, Pod
from extender.core.model.wording import plural, some
from extender.core.model.workload import DAEMON_SET, STATEFUL_SET

_Turn: TypeAlias = tuple[Sequence[Pod], Sequence[Pod]]
"""Old pods to remove and then new pods to create."""


def scale(
    scheduler: Scheduler,
    what: str,
    old: Sequence[Pod],
    wanted: int,
    make: MakePod,
    *,
    rollout: Rollout = AS_BY_DEFAULT,
    givers: Sequence[CostGiver] = (),
) -> Looks:
    """Bring the pods of a workload to a number, and change the version of none.

    Say how it would be with costs of the `givers`.
    """
    step = Step(f"scale {what} from {len(old):,} to {plural(wanted, 'pod')}")
    since = scheduler.mark
    now = _State(scheduler, make, replace(rollout, replicas=wanted, rolling=False), list(old))
    if is_of_stateful_set(old[0] if old else make(0)):
        turns = _stateful_set(now)
    else:
        gone = scheduler.lives.by_deletion(old)[: max(0, len(old) - wanted)]
        if gone:
            given = [each.given_costs(scheduler.state, old) for each in givers]
            costs = ChainMap(*map(dict, given))
            would_go = scheduler.lives.by_deletion(old, costs=costs)[: len(gone)]
            by = ", ".join(each.field for each in givers)
            step.scaled = scaled_down(scheduler.state, old, gone, would_go, by)
        new = list(islice(replicas(scheduler, make), max(0, wanted - len(old))))
        turns = iter([(gone, new)])
    one = old[0] if old else make(0)
    scheduler.resize(one, len(old), wanted)
    done = Update()
    for turn in turns:
        yield from _take(now, done, *turn)
    step.removed = [each for took in done.steps for each in took.removed]
    if now.held_by is not None:
        step.stopped = True
        step.notes.append(f"stopped there: {held_up(now.held_by)}")
    return ended(scheduler, step, since, [pod.key for pod in now.new])


def remove(scheduler: Scheduler, pod: Pod) -> Removal:
    """Take a pod away for which no other one is made."""
    scheduler.remove(pod)
    return Removal(pod.key, pod.node, After.REPLACED)


@dataclass(frozen=True, slots=True)
class Version:
    what: str
    kind: str
    make: MakePod
    rollout: Rollout


@dataclass(slots=True)
class _State:
    scheduler: Scheduler
    make: MakePod
    rollout: Rollout
    old: list[Pod]
    new: list[Pod] = field(default_factory=list)
    held_by: Pod | None = None
    """Of a StatefulSet that has not come to its end: the pod that is not ready."""

    @property
    def waiting(self) -> list[Pod]:
        return [pod for pod in self.new if self.scheduler.waits(pod.key)]

    def available(self, pods: Iterable[Pod]) -> int:
        return sum(map(self.scheduler.lives.is_available, pods))

    def refresh(self) -> None:
        """Take the pods as they are by now: placed, or preempted and made anew."""
        pods = self.scheduler.state.pods
        self.old = [pods[pod.key] for pod in self.old if pod.key in pods]
        self.new = [pods[pod.key] for pod in self.new if pod.key in pods]


def roll(scheduler: Scheduler, version: Version, old: Sequence[Pod]) -> Looks:
    """Replace the pods of a workload by those of a new template.

    A pod that gets a node is available. Each turn is one step of the update.
    """
    step = Step(f"update {version.what}, {plural(len(old), 'pod')}")
    update = step.update = Update(surges=version.rollout.surge > 0)
    since = scheduler.mark
    now = _State(scheduler, version.make, version.rollout, list(old))
    for gone, new in _turns(now, version.kind):
        yield from _take(now, update, gone, new)
    step.removed = [each for turn in update.steps for each in turn.removed]
    _judge(now, update)
    if version.kind == "Deployment" and update.surges and update.waits and update.kept:
        update.eased = yield from _is_eased(now)
    return ended(scheduler, step, since, [pod.key for pod in now.new])


def _is_eased(now: _State) -> Generator[None, None, bool]:
    """Return whether a Deployment's update would come to its end if pods went first from here."""
    scheduler = now.scheduler
    uncertain = {*scheduler.uncertain}
    beyond = {field: dict(pods) for field, pods in scheduler.beyond.items()}
    with scheduler.trial(()):
        limits = replace(now.rollout, surge=0, unavailable=1)
        rest = replace(now, rollout=limits, old=[*now.old], new=[*now.new])
        for gone, new in _deployment(rest):
            yield from _take(rest, Update(), gone, new)
        eased = not (rest.old or rest.waiting)
    scheduler.uncertain, scheduler.beyond = uncertain, beyond
    return eased


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
    names = {pod.key for pod in gone}
    now.old = [pod for pod in now.old if pod.key not in names]
    removed = [remove(scheduler, pod) for pod in gone]
    for pod in new:
        now.new.append(pod)
        scheduler.add(pod)
    yield from scheduler.settle()
    now.refresh()
    placed = scheduler.placements[before:]
    update.steps.append(UpdateStep(removed, [pod.key for pod in new], placed))


def _at_once(now: _State) -> Iterator[_Turn]:
    """Recreate: all old pods go before any new one comes, and those that are being deleted."""
    wanted, of = _wanted(now), {pod.workload for pod in now.old}
    pods = now.scheduler.state.pods.values()
    going = [pod for pod in pods if pod.status.deleting and pod.workload in of]
    yield [*now.old, *sorted(going, key=lambda pod: pod.key)], ()
    yield (), list(islice(replicas(now.scheduler, now.make), wanted))


def _deployment(now: _State) -> Iterator[_Turn]:
    """Yield the turns of a Deployment: new pods up to maxSurge, then old ones away."""
    wanted, names = _wanted(now), replicas(now.scheduler, now.make)
    owners = _oldest_first(now.scheduler.lives, now.old)
    while True:
        old = [[pod for pod in now.old if pod.controller == each] for each in owners]
        sizes = [Size(len(each), now.available(each)) for each in old]
        new = Size(len(now.new), now.available(now.new))
        grown, shrunk = next_of_deployment(now.rollout, wanted, new, sizes)
        created = list(islice(names, grown - len(now.new)))
        gone = [
            pod
            for each, size in zip(old, shrunk, strict=True)
            for pod in _first_to_go(now, each)[: len(each) - size]
        ]
        if not created and not gone:
            return
        yield gone, created


def _oldest_first(lives: Lives, pods: Iterable[Pod]) -> list[Controller | None]:
    """Return the ReplicaSets of pods, by the age of the oldest of them."""
    ages: dict[Controller | None, float] = {}
    for pod in pods:
        created = lives.of(pod).created
        ages[pod.controller] = min(created, ages.get(pod.controller, created))
    return sorted(ages, key=lambda each: ages[each])


def _first_to_go(now: _State, pods: Sequence[Pod]) -> list[Pod]:
    """Sort the pods of one ReplicaSet of a Deployment as its controller would delete them."""
    mine = {pod.key for pod in pods}
    beside = [pod for pod in (*now.old, *now.new) if pod.key not in mine]
    return now.scheduler.lives.by_deletion(pods, beside)


def _wanted(now: _State) -> int:
    """Return how many pods there are to be; to be asked before the first of them goes."""
    return len(now.old) if now.rollout.replicas is None else now.rollout.replicas


def _stateful_set(now: _State) -> Iterator[_Turn]:
    """Yield the turns of a StatefulSet; a pod that is replaced keeps its name."""
    wanted, lives = _wanted(now), now.scheduler.lives
    ordinals = range(now.rollout.start, now.rollout.start + wanted)
    while True:
        there = {ordinal(pod): pod for pod in (*now.old, *now.new)}
        if going := [pod for pod in there.values() if pod.status.deleting]:
            yield going, ()
            continue
        outdated = {pod.key for pod in now.old} if now.rollout.rolling else ()
        members = {
            each: Member(lives.is_available(pod), pod.key in outdated)
            for each, pod in there.items()
        }
        gone, created = next_of_stateful_set(now.rollout, wanted, members)
        if not gone and not created:
            break
        members |= dict.fromkeys(created, Member(available=False))
        left = {each: member for each, member in members.items() if each not in gone}
        created += next_of_stateful_set(now.rollout, wanted, left).created
        yield [there[each] for each in gone], [_made(now, each, there) for each in created]
        for condemned in (there[each] for each in gone if each not in ordinals):
            if not now.scheduler.known(condemned).keeps_claims:
                ledger_of(now.scheduler.state).forget_claims(condemned)
    updated = ordinals[now.rollout.partition :] if now.rollout.rolling else ()
    if there.keys() != {*ordinals} or any(members[each].outdated for each in updated):
        held = sorted(there, key=lambda each: (each not in ordinals, each))
        now.held_by = next((there[each] for each in held if not members[each].available), None)


def _made(now: _State, number: int, there: Mapping[int, Pod]) -> Pod:
    """Make the pod of an ordinal; of the old version where the partition says so."""
    old, index = there.get(number), number - now.rollout.start
    new = now.make(index)
    if now.rollout.rolling and index < now.rollout.partition and now.old:
        like = ledger_of(now.scheduler.state).with_templates(as_made(now.old[0]))
        new = structs.replace(like, key=new.key, uid=new.uid)
    return new if old is None else structs.replace(new, key=old.key, uid=f"{old.uid}'")


def _daemon_set(now: _State) -> Iterator[_Turn]:
    """Yield the turns of a DaemonSet (rollingUpdate): the new pod first where it may surge.

    First, its pods leave the nodes that it does not want any more, and come to those that it wants
    besides. Pods that are not available are replaced whatever the limits are.
    """
    scheduler, template = now.scheduler, now.make(0)
    made = {node_of_daemon(pod): pod for pod in daemons(scheduler, template)}
    leaving = [pod for pod in now.old if not _is_kept(scheduler, pod, made)]
    there = {node_of_daemon(pod) for pod in now.old}
    if coming := [pod for node, pod in made.items() if node not in there]:
        yield leaving, coming
    elif leaving:
        yield leaving, ()
    surge = now.rollout.surge
    for pod in sorted(now.old, key=scheduler.lives.is_available):
        sound, node = scheduler.lives.is_available(pod), node_of_daemon(pod)
        olds = {node_of_daemon(each) for each in now.old}
        late = [each for each in now.waiting if not surge or node_of_daemon(each) in olds]
        if sound and len(late) >= (surge or now.rollout.unavailable):
            return
        new = made.get(node) or only_on(template, str(node))
        if not (surge and sound):
            yield [pod], [new]
        else:
            yield (), [new]
            if not scheduler.waits(new.key):
                yield [pod], ()


def _is_kept(scheduler: Scheduler, pod: Pod, made: Container[str | None]) -> bool:
    """Return whether a DaemonSet's pod stays until its turn: its node is wanted, or has it still.

    A pod that is deleted on a node that does not answer does not go.
    """
    node = node_of_daemon(pod)
    taints = () if node is None else scheduler.state.node_resources.allocatable(node).taints
    return node in made or any(each.key == UNREACHABLE.key for each in taints)


def _judge(now: _State, update: Update) -> None:
    """Say who waits for whom, if the update has not come to its end."""
    waiting, turns = now.waiting, plural(len(update.steps), "step")
    kept = {pod.key for pod in now.old if pod.node is not None and _is_to_go(now, pod)}
    if not waiting:
        if now.held_by is not None:
            update.kept = sorted(kept)
            # In its place comes one of the new version.
            cure = "; delete that pod" if _is_to_go(now, now.held_by) else ""
            update.stuck = f"after {turns}: {held_up(now.held_by)}{cure}"
        elif asleep := [pod.key for pod in now.new if pod.key in now.scheduler.not_started]:
            update.kept = sorted(kept)
            held = now.scheduler.not_started[asleep[0]]
            update.stuck = f"after {turns}: {asleep[0]} does not start, for {held}"
        return
    first = waiting[0]
    found = explain(now.scheduler.state, first, now.scheduler.profile)
    behind = {pod.key for each in found.refusals for pod in each.pods} & kept
    update.waits = [pod.key for pod in waiting]
    update.kept = sorted(behind or kept)
    if (until := now.scheduler.held.get(first.key)) is not None:
        update.stuck = f"after {turns}: {first.key} is created once {until} is ready"
        return
    if not kept:
        update.stuck = f"after {turns}: {first.key} finds no node, and no old pod is left"
        return
    stay = f"{some(update.kept, len(update.kept))} {'stay' if len(update.kept) > 1 else 'stays'}"
    waits = f"waits for {'them' if len(update.kept) > 1 else 'it'} to go" if behind else "waits"
    update.stuck = f"after {turns}: {stay} until {first.key} runs, and {first.key} {waits}"


def _is_to_go(now: _State, pod: Pod) -> bool:
    return not is_of_stateful_set(pod) or ordinal(pod) >= now.rollout.start + now.rollout.partition


def held_up(by: Pod) -> str:
    """Say what the StatefulSet controller waits for."""
    why = "has no node" if by.node is None else "is not ready"
    return f"the StatefulSet controller waits for {by.key}, which {why}"
