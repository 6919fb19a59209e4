"""Pod groups in the scheduling queue: one entry for all members that wait."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from enum import Enum
from math import sqrt

from simulation.loop import now
from simulation.scheduler.queued import LONGEST_BACKOFF, Queued, back_off


class Ended(Enum):
    """How the cycle of a group ended."""

    WELL = "members are bound"
    REFUSED = "too few members have a place"
    BROKEN = "an error"


@dataclass(slots=True, eq=False)
class QueuedGroup:
    name: str
    """Its key."""
    members: dict[str, Queued]
    """Those that wait, by uid."""
    since: float
    refusals: int = 0
    errors: int = 0
    """How often in a row its cycle ended so."""
    ready_at: float = 0.0

    @property
    def priority(self) -> int:
        return max(each.priority for each in self.members.values())

    @property
    def in_order(self) -> list[Queued]:
        """Return the members in the order of a cycle (PodGroupMemberPodsOrderingFunc)."""
        return sorted(
            self.members.values(),
            key=lambda each: (
                -each.priority,
                -each.attempts,
                max(each.failed_at, each.since),
                each.pod.key,
            ),
        )

    def back_off(self) -> None:
        longest = LONGEST_BACKOFF * sqrt(len(self.members))
        self.ready_at = now() + back_off(self.errors or self.refusals, longest)


class GroupQueue:
    """What kube-scheduler 1.37 does with members of pod groups (scheduling_queue.go).

    A cycle without success is followed by a back-off, and no event ends that. A member whose bind
    failed waits for nothing: it joins its group where that waits, and is tried at once where not.
    """

    def __init__(self, has_quorum: Callable[[str], bool]) -> None:
        self._has_quorum = has_quorum
        self._waiting: dict[str, QueuedGroup] = {}
        self._in_cycle = ""
        self._pending: dict[str, Queued] = {}
        """Members of the group in the cycle that have come, or come back, since it began."""

    def find(self, uid: str) -> Queued | None:
        parts = [self._pending, *(each.members for each in self._waiting.values())]
        return next((part[uid] for part in parts if uid in part), None)

    def add(self, queued: Queued) -> None:
        uid, name = queued.pod.uid, queued.pod.group
        if name == self._in_cycle:
            self._pending[uid] = queued
        elif name in self._waiting:
            self._waiting[name].members[uid] = queued
        else:
            self._waiting[name] = QueuedGroup(name, {uid: queued}, now())

    def remove(self, uid: str) -> None:
        self._pending.pop(uid, None)
        for name, group in [*self._waiting.items()]:
            if group.members.pop(uid, None) is not None and not group.members:
                del self._waiting[name]

    def ready(self) -> list[QueuedGroup]:
        """Return the groups that may be tried; one that lacks members is gated."""
        moment = now()
        waiting = self._waiting.values()
        return [each for each in waiting if each.ready_at <= moment and self._has_quorum(each.name)]

    def later(self) -> Iterator[float]:
        moment = now()
        return (each.ready_at for each in self._waiting.values() if each.ready_at > moment)

    def begin(self, group: QueuedGroup) -> None:
        del self._waiting[group.name]
        self._in_cycle = group.name

    def end(self, group: QueuedGroup, ended: Ended) -> None:
        """Put the members back that have no node, those first that came meanwhile."""
        self._in_cycle = ""
        pending, self._pending = self._pending, {}
        if not pending:
            return
        again = QueuedGroup(group.name, pending, now())
        match ended:
            case Ended.REFUSED:
                again.refusals = group.refusals + 1
                again.back_off()
            case Ended.BROKEN:
                again.refusals, again.errors = group.refusals, group.errors + 1
                again.back_off()
            case Ended.WELL:
                pass
        self._waiting[group.name] = again
