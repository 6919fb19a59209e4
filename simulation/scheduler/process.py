"""One kube-scheduler: one scheduling cycle at a time, binding cycles beside it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from random import Random
from typing import Final

from simulation.apiserver.store import Change, Json, is_live, patched_status
from simulation.apiserver.verbs import DISRUPTION_TARGET, Meant, delete, mark
from simulation.caller import Caller
from simulation.loop import resolve, spawn, the_loop
from simulation.scheduler.cache import Cache
from simulation.scheduler.choosing import Chooser, NoNode, Settings
from simulation.scheduler.extender import CallError, Extender
from simulation.scheduler.group_cycle import Attempt, GroupCycle
from simulation.scheduler.group_queue import Ended, QueuedGroup
from simulation.scheduler.informer import Informer
from simulation.scheduler.objects import GroupInfo, PodInfo, group_info, pod_info
from simulation.scheduler.permits import Permits
from simulation.scheduler.preemption import answered, candidates, choose, may_preempt
from simulation.scheduler.queue import Queue
from simulation.scheduler.queued import Queued
from simulation.trace import Trace

PERMIT_SECONDS: Final = 300.0
"""For so long, a member of a gang waits for others before it is bound."""


class Scheduler:
    def __init__(
        self, settings: Settings, caller: Caller, extender: Extender, chance: Random, trace: Trace
    ) -> None:
        self.settings = settings
        self.cache = Cache()
        self.queue = Queue(self.cache.has_quorum)
        self._caller = caller
        self._extender = extender
        self._chance = chance
        self._trace = trace
        self._chooser = Chooser(settings, extender, chance)
        self._groups = GroupCycle(self._chooser, chance)
        self._permits = Permits()
        self.on_preemption: Callable[[Json, str, tuple[str, ...]], None] = lambda *_: None
        """Hears of a pod, a node and the uids of the victims before they are evicted."""
        self._informer = Informer(caller.server.store, caller.link, self._take)

    async def run(self) -> None:
        self._informer.start()
        while True:
            queued = await self.queue.pop()
            await asyncio.sleep(self._chance.uniform(0.0003, 0.003))
            if isinstance(queued, QueuedGroup):
                await self._schedule_group(queued)
            else:
                await self._schedule(queued)

    def stop(self) -> None:
        self._informer.stop()

    # Scheduling

    def _is_over(self, queued: Queued) -> bool:
        """Tell whether a pod needs no node any more, and then be done with it."""
        pod = queued.pod
        over = bool(pod.node) or pod.deleting or self.cache.has(pod.uid)
        if over:
            self.queue.done(queued)
        return over

    async def _schedule(self, queued: Queued) -> None:
        pod = queued.pod
        if self._is_over(queued):
            return
        try:
            node = await self._chooser.choose(pod, self.cache)
        except CallError as failure:
            self._say("cycle failed", f"{pod.key} {failure}")
            self.queue.failed(queued, error=True)
            await self._tell(pod, "SchedulerError", "")
        except NoNode as refused:
            self._say("no node", pod.key)
            nominated = await self._make_room(pod, refused.resolvable)
            self.queue.failed(queued, error=False, by_extender=refused.by_extender)
            await self._tell(pod, "Unschedulable", nominated)
        else:
            self.cache.assume(pod, node)
            self.cache.nominated.pop(pod.uid, None)
            spawn(self._bind(queued, queued.pod, node), self.settings.name)

    async def _schedule_group(self, queued: QueuedGroup) -> None:
        """Place as many members of a group as have a node, if it needs no more than these."""
        members = [(each, each.pod) for each in queued.in_order if not self._is_over(each)]
        group = self.cache.groups.get(queued.name)
        attempt = Attempt(error="" if group else "the group is gone")
        if members and group is not None:
            pods = [pod for _, pod in members]
            attempt = await self._groups.run(group, pods, self.cache)
        if attempt.error:
            self._say("group cycle failed", f"{queued.name} {attempt.error}")
        for each, pod in members:
            node = attempt.places.get(pod.uid) if attempt.fits else None
            if node is None:
                self.queue.failed(each, error=bool(attempt.error))
                reason = "SchedulerError" if attempt.error else "Unschedulable"
                spawn(self._tell(pod, reason, ""), self.settings.name)
            else:
                self.cache.assume(pod, node)
                self.cache.nominated.pop(pod.uid, None)
                waits = not self._is_permitted(group)
                permit = self._permits.ask(queued.name, permitted=not waits)
                spawn(self._bind_member(each, pod, node, permit, waits=waits), self.settings.name)
        ended = Ended.WELL if attempt.fits or not members else Ended.REFUSED
        self.queue.groups.end(queued, Ended.BROKEN if attempt.error else ended)

    def _is_permitted(self, group: GroupInfo | None) -> bool:
        """Tell whether as many members of a group have a node as must have one (Permit)."""
        if group is None or not self.settings.permits:
            return True
        return len(self.cache.scheduled(group.key)) >= group.least

    async def _bind_member(
        self,
        queued: Queued,
        pod: PodInfo,
        node: str,
        permit: asyncio.Future[bool],
        *,
        waits: bool,
    ) -> None:
        """Bind a member of a gang once enough of the others have a node as well."""
        if waits:
            # As since 1.35 it is nominated first, however short the wait is.
            await self._tell(pod, "", node)
        alarm = the_loop().call_later(PERMIT_SECONDS, resolve, permit, False)  # noqa: FBT003
        permitted = await permit
        alarm.cancel()
        if permitted:
            await self._bind(queued, pod, node)
        else:
            self.cache.forget(pod.uid)
            self.queue.failed(queued, error=False)

    async def _bind(self, queued: Queued, pod: PodInfo, node: str) -> None:
        try:
            await self._extender.bind(pod, node)
        except CallError as failure:
            self._say("not bound", f"{pod.key} {node} {failure}")
            self.cache.forget(pod.uid)
            self.queue.something_happened(more_room=True)
            self.queue.failed(queued, error=True)
            await self._tell(queued.pod, "SchedulerError", "")
        else:
            self._say("bound", f"{pod.key} {node}")
            self.queue.done(queued)

    # Preemption

    async def _make_room(self, pod: PodInfo, resolvable: list[str]) -> str | None:
        """Evict less important pods for a pod; return its nomination, None to leave it as it is."""
        if not may_preempt(self.cache, pod):
            return None
        nodes = [self.cache.nodes[name] for name in resolvable if name in self.cache.nodes]
        found = candidates(self.cache, pod, nodes)
        if not found:
            # After an error the nomination stays.
            return None if found is None else ""
        there = {node.name: {**node.pods} for node in nodes}
        try:
            chosen = choose(answered(there, await self._extender.preempt(pod, found)))
        except (CallError, KeyError, ValueError):
            return None
        if chosen is None:
            return None
        self._say("preempts", f"{pod.key} {chosen.node} {[each.key for each in chosen.victims]}")
        uids = tuple(each.uid for each in chosen.victims)
        self.on_preemption(pod.raw, chosen.node, uids)
        for victim in chosen.victims:
            spawn(self._evict(victim), self.settings.name)
        for other in [*self.cache.nominated.values()]:
            if other.nominated == chosen.node and other.priority < pod.priority:
                spawn(self._tell(other, "", ""), self.settings.name)
        return chosen.node

    async def _evict(self, victim: PodInfo) -> None:
        store = self._caller.server.store
        by = self.settings.name
        condition = {
            "type": DISRUPTION_TARGET,
            "status": "True",
            "reason": "PreemptionByScheduler",
            "message": f"{by}: preempting to accommodate a higher priority pod",
        }
        if await self._caller.try_to(
            lambda: mark(store, victim.key, [condition], by, uid=victim.uid)
        ):
            await self._caller.try_to(
                lambda: delete(store, victim.key, f"{by}/preempts", Meant(victim.uid))
            )

    async def _tell(self, pod: PodInfo, reason: str, nominated: str | None = None) -> None:
        """Patch the pod's condition and nomination, where they differ from what was known.

        The patch names no uid, so that it may hit a namesake.
        """
        fields: dict[str, object] = {}
        if reason and pod.raw["status"].get("reason") != reason:
            fields["reason"] = reason
        if nominated is not None and nominated != pod.nominated:
            fields["nominatedNodeName"] = nominated or None
        if not fields:
            return
        store = self._caller.server.store
        await self._caller.try_to(
            lambda: store.update(
                "pods",
                pod.key,
                lambda found: patched_status(found, **fields),
                self.settings.name,
            )
        )

    # What the informers tell

    def _take(self, change: Change) -> None:
        match change.resource:
            case "nodes" if change.new is None:
                self.cache.drop_node(change.key)
            case "nodes" if change.new is not None:
                self.cache.set_node(change.new)
            case "poddisruptionbudgets":
                if change.new is None:
                    self.cache.budgets.pop(change.key, None)
                else:
                    self.cache.budgets[change.key] = change.new
                return
            case "pods":
                self._take_pod(change)
                return
            case "podgroups":
                self._take_group(change)
                return
            case "namespaces":
                labels = None if change.new is None else change.new["metadata"].get("labels", {})
                self.cache.set_space(change.key, labels)
                return
            case _:
                return
        self.queue.something_happened(more_room=True)

    def _take_group(self, change: Change) -> None:
        if change.new is None:
            self.cache.groups.pop(change.key, None)
        else:
            self.cache.groups[change.key] = group_info(change.new)
            self.queue.something_happened(more_room=False)

    def _take_pod(self, change: Change) -> None:
        if change.new is None or not is_live(change.new):
            uid = (change.new or change.old or {})["metadata"]["uid"]
            self.cache.drop_member(uid)
            self.queue.remove(uid)
            self.cache.nominated.pop(uid, None)
            self.cache.assumed.pop(uid, None)
            if self.cache.has(uid):
                self.cache.unplace(uid)
                self.queue.something_happened(more_room=True)
            return
        pod = pod_info(change.new)
        if pod.group:
            self.cache.add_member(pod)
        if pod.node:
            arrived = pod.uid in self.cache.assumed or not self.cache.has(pod.uid)
            self.cache.assumed.pop(pod.uid, None)
            self.cache.nominated.pop(pod.uid, None)
            self.cache.place(pod, pod.node)
            self.queue.remove(pod.uid)
            if arrived:
                self.queue.something_happened(more_room=False)
        elif self.settings.responsible(pod):
            self.cache.nominated.pop(pod.uid, None)
            if pod.nominated:
                self.cache.nominated[pod.uid] = pod
            if pod.deleting:
                self.queue.remove(pod.uid)
            else:
                self.queue.put(pod)

    def _say(self, what: str, about: str) -> None:
        self._trace.say(self.settings.name, what, about)
