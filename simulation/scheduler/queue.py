"""The scheduling queue: active, backing off, or unschedulable until something happens."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable
from typing import Final, TypeVar

from simulation.apiserver.store import Json
from simulation.loop import now
from simulation.scheduler.group_queue import GroupQueue, QueuedGroup
from simulation.scheduler.objects import PodInfo
from simulation.scheduler.queued import Queued

T = TypeVar("T", bound=Queued | QueuedGroup)

FLUSH_SECONDS: Final = 300.0
"""An unschedulable pod is tried again after this long though nothing has happened."""


class Queue:
    """kube-scheduler's PriorityQueue.

    There are no queueing hints for what an extender refused: any event wakes such a pod. A pod
    that only lacks room is woken when there is more of it.
    """

    def __init__(self, has_quorum: Callable[[str], bool] = lambda _: False) -> None:
        """`has_quorum` says of a pod group whether it can be tried at all."""
        self.groups = GroupQueue(has_quorum)
        self.active: dict[str, Queued] = {}
        self.backing_off: dict[str, Queued] = {}
        self.unschedulable: dict[str, Queued] = {}
        self.in_flight: dict[str, Queued] = {}
        self._events = 0
        self._more_room = 0
        self._next_flush = 0.0
        self._seen: dict[str, tuple[int, int]] = {}
        self._changed = asyncio.Event()
        self.on_cycle: Callable[[Json], None] = lambda _: None
        """Hears of a pod when its scheduling cycle starts."""
        self.on_end: Callable[[str], None] = lambda _: None
        """Hears the uid when a pod is in flight no more."""

    def find(self, uid: str) -> Queued | None:
        for part in (self.active, self.backing_off, self.unschedulable, self.in_flight):
            if uid in part:
                return part[uid]
        return self.groups.find(uid)

    def put(self, pod: PodInfo) -> None:
        """Add a pod, or take over what changed; a change brings an unschedulable one back."""
        queued = self.find(pod.uid)
        if queued is None and pod.group:
            self.groups.add(Queued(pod, now()))
        elif queued is None:
            self.active[pod.uid] = Queued(pod, now())
        else:
            queued.pod = pod
            if pod.uid in self.unschedulable and queued.by_extender:
                self._bring_back(pod.uid)
            elif pod.uid in self.in_flight:
                self._seen[pod.uid] = -1, self._seen[pod.uid][1]
        self._changed.set()

    def remove(self, uid: str) -> None:
        for part in (self.active, self.backing_off, self.unschedulable, self.in_flight):
            part.pop(uid, None)
        self.groups.remove(uid)
        self._seen.pop(uid, None)
        self.on_end(uid)

    def something_happened(self, *, more_room: bool) -> None:
        """Bring unschedulable pods back for which it may be of use; those in flight do so later."""
        self._events += 1
        self._more_room += more_room
        for uid, queued in [*self.unschedulable.items()]:
            if more_room or queued.by_extender:
                self._bring_back(uid)
        self._changed.set()

    async def pop(self) -> Queued | QueuedGroup:
        """Wait for the next to try: the most important, then the one that waits longest."""
        while True:
            self._flush()
            ready: list[Queued | QueuedGroup] = [*self.active.values(), *self.groups.ready()]
            queued = _best(ready) or self._early()
            if isinstance(queued, QueuedGroup):
                self.groups.begin(queued)
                for each in queued.members.values():
                    self._begin(each)
                return queued
            if queued is not None:
                for part in (self.active, self.backing_off):
                    part.pop(queued.pod.uid, None)
                self._begin(queued)
                return queued
            self._changed.clear()
            later = [each.ready_at for each in self.backing_off.values()]
            pause = min((*later, *self.groups.later()), default=now() + 30.0)
            loop = asyncio.get_running_loop()
            alarm = loop.call_later(max(pause - now(), 0.0) + 0.001, self._changed.set)
            try:
                await self._changed.wait()
            finally:
                alarm.cancel()

    def _begin(self, queued: Queued) -> None:
        uid = queued.pod.uid
        self.in_flight[uid] = queued
        self._seen[uid] = self._events, self._more_room
        self.on_cycle(queued.pod.raw)

    def done(self, queued: Queued) -> None:
        self.in_flight.pop(queued.pod.uid, None)
        self._seen.pop(queued.pod.uid, None)
        self.on_end(queued.pod.uid)

    def failed(self, queued: Queued, *, error: bool, by_extender: bool = True) -> None:
        """Put a pod back for which there was no place, or whose attempt broke."""
        uid = queued.pod.uid
        if self.in_flight.pop(uid, None) is None:
            return
        self.on_end(uid)
        queued.fail(error=error, by_extender=by_extender)
        events, more_room = self._seen.pop(uid, (-1, -1))
        if queued.pod.group:
            self.groups.add(queued)
            self._changed.set()
            return
        missed = (events != self._events) if by_extender else (more_room != self._more_room)
        (self.backing_off if error or missed else self.unschedulable)[uid] = queued
        self._changed.set()

    def _bring_back(self, uid: str) -> None:
        queued = self.unschedulable.pop(uid)
        queued.after_error = False
        part = self.active if queued.ready_at <= now() else self.backing_off
        part[uid] = queued

    def _flush(self) -> None:
        moment = now()
        ready = [uid for uid, queued in self.backing_off.items() if queued.ready_at <= moment]
        for uid in ready:
            self.active[uid] = self.backing_off.pop(uid)
        if moment < self._next_flush:
            return
        self._next_flush = moment + 1.0
        for uid, queued in [*self.unschedulable.items()]:
            if queued.failed_at + FLUSH_SECONDS <= moment:
                self._bring_back(uid)

    def _early(self) -> Queued | None:
        # As since 1.33 (SchedulerPopFromBackoffQ): who has nothing to do does not wait.
        return _best(each for each in self.backing_off.values() if not each.after_error)


def _best(some: Iterable[T]) -> T | None:
    return min(some, key=lambda each: (-each.priority, each.since, each.name), default=None)
