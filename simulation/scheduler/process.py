"""One kube-scheduler: one scheduling cycle at a time, binding cycles beside it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from random import Random
from typing import Final

from simulation.apiserver.store import Change, Json, is_live, patched_status
from simulation.apiserver.verbs import DISRUPTION_TARGET, Meant, delete, mark
from simulation.caller import Caller
from simulation.loop import spawn
from simulation.scheduler.cache import Cache
from simulation.scheduler.extender import CallError, Extender
from simulation.scheduler.informer import Informer
from simulation.scheduler.objects import NodeInfo, PodInfo, pod_info
from simulation.scheduler.preemption import answered, candidates, choose, may_preempt
from simulation.scheduler.queue import Queue, Queued
from simulation.trace import Trace

HIGHEST_SCORE: Final = 100


@dataclass(frozen=True, slots=True)
class Settings:
    name: str
    least_sampled: int = 100
    """Nodes to find before it stops to look (minFeasibleNodesToFind)."""
    own_only: bool = False
    """Whether it leaves alone the pods of other schedulers, as it should."""

    def responsible(self, pod: PodInfo) -> bool:
        return not self.own_only or pod.scheduler == self.name


class NoNode(Exception):  # noqa: N818 - what happens every day
    """No node fits; `resolvable` are those where preemption may help."""

    def __init__(self, resolvable: list[str], *, by_extender: bool) -> None:
        super().__init__()
        self.resolvable = resolvable
        self.by_extender = by_extender


class Scheduler:
    def __init__(
        self, settings: Settings, caller: Caller, extender: Extender, chance: Random, trace: Trace
    ) -> None:
        self.settings = settings
        self.queue = Queue()
        self.cache = Cache()
        self._caller = caller
        self._extender = extender
        self._chance = chance
        self._trace = trace
        self._next_node = 0
        self.on_preemption: Callable[[Json, str, tuple[str, ...]], None] = lambda *_: None
        """Hears of a pod, a node and the uids of the victims before they are evicted."""
        self._informer = Informer(caller.server.store, caller.link, self._take)

    async def run(self) -> None:
        self._informer.start()
        while True:
            queued = await self.queue.pop()
            await asyncio.sleep(self._chance.uniform(0.0003, 0.003))
            await self._schedule(queued)

    def stop(self) -> None:
        self._informer.stop()

    # Scheduling

    async def _schedule(self, queued: Queued) -> None:
        pod = queued.pod
        if pod.node or pod.deleting or self.cache.has(pod.uid):
            self.queue.done(queued)
            return
        try:
            node = await self._choose(pod)
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
            spawn(self._bind(queued, node), self.settings.name)

    async def _choose(self, pod: PodInfo) -> str:
        nominated = self.cache.nodes.get(pod.nominated)
        if nominated is not None and self.cache.fits(pod, nominated):
            # What goes wrong here is logged, and all nodes are tried in the same cycle.
            with suppress(CallError):
                fits, _ = await self._extender.filter(pod, [nominated.name])
                if fits:
                    return nominated.name
        found, resolvable = self._sample(pod)
        if not found:
            raise NoNode(resolvable, by_extender=False)
        fits, failed = await self._extender.filter(pod, found)
        if not fits:
            raise NoNode(resolvable + failed, by_extender=True)
        if len(fits) == 1:
            return fits[0]
        scores = await self._extender.prioritize(pod, fits)
        own = {name: self._score(self.cache.nodes.get(name)) for name in fits}
        best = max(own[name] + 10 * scores.get(name, 0) for name in fits)
        return self._chance.choice(
            [name for name in fits if own[name] + 10 * scores.get(name, 0) == best]
        )

    def _sample(self, pod: PodInfo) -> tuple[list[str], list[str]]:
        """Return some nodes that in-tree's filters accept, and those they refuse for lack of room.

        The next search begins where this one stopped.
        """
        names = self.cache.names
        wanted = min(max(self.settings.least_sampled, len(names) // 2), len(names))
        found: list[str] = []
        resolvable: list[str] = []
        looked = 0
        for looked in range(1, len(names) + 1):
            node = self.cache.nodes[names[(self._next_node + looked - 1) % len(names)]]
            if self.cache.fits(pod, node):
                found.append(node.name)
            elif node.takes(pod):
                resolvable.append(node.name)
            if len(found) == wanted:
                break
        self._next_node = (self._next_node + looked) % max(len(names), 1)
        return found, resolvable

    @staticmethod
    def _score(node: NodeInfo | None) -> int:
        return 0 if node is None else HIGHEST_SCORE * (node.cpu - node.used) // max(node.cpu, 1)

    async def _bind(self, queued: Queued, node: str) -> None:
        pod = queued.pod
        try:
            await self._extender.bind(pod, node)
        except CallError as failure:
            self._say("not bound", f"{pod.key} {node} {failure}")
            self.cache.forget(pod.uid)
            self.queue.something_happened(more_room=True)
            self.queue.failed(queued, error=True)
            await self._tell(pod, "SchedulerError", "")
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
            case _:
                return
        self.queue.something_happened(more_room=True)

    def _take_pod(self, change: Change) -> None:
        if change.new is None or not is_live(change.new):
            uid = (change.new or change.old or {})["metadata"]["uid"]
            self.queue.remove(uid)
            self.cache.nominated.pop(uid, None)
            self.cache.assumed.pop(uid, None)
            if self.cache.has(uid):
                self.cache.unplace(uid)
                self.queue.something_happened(more_room=True)
            return
        pod = pod_info(change.new)
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
