"""More pods of a workload, or fewer: which ones its controller takes away."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import islice

from extender.model.objects import Pod
from extender.model.workload import STATEFUL_SET
from extender.verbs.explaining.words import plural
from extender.whatif.outcome import After, Looks, Removal, Step, ended
from extender.whatif.placing import MakePod, replicas
from extender.whatif.scheduling import Scheduler, owner_of


def scale(scheduler: Scheduler, what: str, old: Sequence[Pod], wanted: int, make: MakePod) -> Looks:
    """Bring the pods of a workload to a number."""
    step = Step(f"scale {what} from {len(old):,} to {plural(wanted, 'pod')}")
    before = len(scheduler.placements)
    for pod in expendable(scheduler, old)[: max(0, len(old) - wanted)]:
        step.removed.append(remove(scheduler, pod))
    new = list(islice(replicas(scheduler, make), max(0, wanted - len(old))))
    for pod in new:
        scheduler.add(pod)
    yield from scheduler.settle()
    return ended(scheduler, step, before, [pod.key for pod in new])


def remove(scheduler: Scheduler, pod: Pod) -> Removal:
    """Take a pod away for which no other one is made."""
    scheduler.remove(pod)
    return Removal(pod.key, pod.node, After.REPLACED)


def expendable(scheduler: Scheduler, pods: Sequence[Pod], beside: Iterable[Pod] = ()) -> list[Pod]:
    """Sort pods, those first that a controller would delete first.

    A StatefulSet starts with the highest ordinal. A ReplicaSet with pods that wait, then those on
    nodes with most pods of the workload, then the youngest (ActivePodsWithRanks); `beside` are its
    pods of other versions.
    """
    owner = owner_of(pods[0]) if pods else None
    if owner is not None and owner.kind == STATEFUL_SET:
        return sorted(pods, key=lambda pod: -ordinal(pod))
    together = Counter(pod.node for pod in (*pods, *beside) if not scheduler.waits(pod.key))
    return sorted(
        pods,
        key=lambda pod: (
            not scheduler.waits(pod.key),
            -together[pod.node],
            -(pod.started or 0),
            pod.key,
        ),
    )


def ordinal(pod: Pod) -> int:
    """Return the number at the end of a StatefulSet's pod; 0 where there is none."""
    number = pod.key.rpartition("-")[2]
    return int(number) if number.isdecimal() else 0
