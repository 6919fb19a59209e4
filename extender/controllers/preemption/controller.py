"""Evicts less important pods for those that only our rules keep from every node.

kube-scheduler preempts for what its own plugins refuse. Where only an extender refuses, its dry run
finds nobody who has to go, and the pod waits. So this is done here: in the scheduler's way, by its
preferences and with its effects on the cluster, among all nodes.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Collection, Iterator
from dataclasses import replace
from typing import NoReturn

from extender.cluster.state import ClusterState
from extender.controllers.history import History
from extender.controllers.preemption.evictions import Evictions
from extender.controllers.preemption.preemptions import LAG_SECONDS, Preemptions
from extender.controllers.preemption.record import MOST_ACTIVE, MOST_KEPT, Record, Records, Refusal
from extender.controllers.preemption.search import Search, earlier_nodes
from extender.controllers.reconciling import BEGUN, LOOK_SECONDS, Reconciler, Words
from extender.controllers.workqueue import WorkQueue
from extender.metrics import Metrics
from extender.model.objects import Pod
from extender.ports import Evictor, Nominator, ReleaseNomination
from extender.verbs.nominating import observe
from extender.verbs.plugins import Plugins, Refused, leading
from extender.verbs.preempting import Rank
from extender.verbs.victims import Candidate, ineligible, on_node
from extender.warm_up import WarmUp

WORDS = Words("nobody is evicted", "preemption failed unexpectedly")
WORKERS = 8
"""Pods that are looked after at a time: most of it is waiting for the API server."""

_log = logging.getLogger(__name__)


class PreemptionController:
    """Evicts pods for others, in tasks of its own: no answer ever waits for it."""

    def __init__(
        self,
        state: ClusterState,
        nominator: Nominator,
        evictor: Evictor,
        metrics: Metrics,
        plugins: Plugins,
        *,
        clock: Callable[[], float],
        chance: Callable[[], float],
        warm_up: WarmUp | None = None,
        release_nomination: ReleaseNomination | None = None,
        is_hint: Callable[[str], bool] = lambda _: False,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
        history: History,
    ) -> None:
        """`release_nomination` tells who else nominates nodes; `is_hint` knows theirs by uid."""
        self._warm_up = warm_up or WarmUp(state, metrics)
        self._state = state
        self._plugins = plugins
        self._clock = clock
        self._is_hint = is_hint
        self._queue: WorkQueue[str] = WorkQueue(MOST_KEPT + 1, clock)
        """The uids of pods that have a record, and RESYNC."""
        self._records = Records(clock, self._queue.discard)
        self._evictions = Evictions(
            state, evictor, metrics, leading(plugins), clock=clock, history=history
        )
        self._preemptions = Preemptions(
            state,
            self._records,
            self._evictions,
            nominator,
            metrics=metrics,
            plugins=plugins,
            release_nomination=release_nomination,
            clock=clock,
            history=history,
        )
        self._search = Search(state, plugins, chance, clock, sleep)
        self._reconciler = Reconciler(
            state,
            self._queue,
            self.reconcile,
            waiting=self._waiting,
            begun=self._records.active,
            logger=_log,
            words=WORDS,
        )
        state.pod_observers.append(self._shown)

    # Told by the watch

    def _shown(self, uid: str) -> None:
        """Look after a pod of which the watch is about to show something new."""
        if (record := self._records.get(uid)) is None:
            return
        refusal = record.refusal
        if record.preemption is not None:
            self._queue.add(uid, BEGUN)
        elif refusal is not None and self._state.pod(refusal.pod.key, uid) is not None:
            refusal.note_end(self._clock())
            self._queue.add(uid)

    # Told by filter

    def refused(self, pod: Pod, refused: Refused) -> None:
        """Note that a pod was refused on every node it was asked about; O(log n)."""
        record = self._records.get(pod.uid)
        if record is not None and record.preemption is not None:
            record.preemption.unwanted = False
        elif pod.group is not None or not self._state.has_less_important(pod.priority):
            return
        record = self._records.refuse(pod, refused)
        if pod.nominated is not None and not self._is_hint(pod.uid):
            record.remember(pod.nominated, self._clock())
        refusal = record.refusal
        if refusal is not None and record.preemption is None:
            self._queue.add_after(pod.uid, refusal.settled_at - self._clock())

    def admitted(self, pod: Pod) -> None:
        """Note that a pod was not refused everywhere: nobody more is evicted for it."""
        record = self._records.get(pod.uid)
        if record is not None:
            if record.preemption is not None:
                record.preemption.unwanted = True
            self._records.admit(record)

    # Told and asked by preempt

    def going(self, pod: Pod) -> Collection[str] | None:
        """Return the uids of the pods that are evicted for a pod; None when none are, by us."""
        preemption = self._records.active.get(pod.uid)
        return None if preemption is None else preemption.victims.keys()

    async def has_better_ones(self, pod: Pod, rank: Rank) -> bool:
        """Return whether victims on a node that only we refuse are better than some of a rank."""
        refusal = self._records.latest(pod.uid)
        if refusal is None or pod.group is not None or self._evictions.denied_until > self._clock():
            return False
        return await self._search.beats(refusal, pod, rank)

    def leaving(self, pod: Pod) -> Collection[str] | None:
        """Return the uids of those of whose deletion the watch should tell any moment, if any."""
        if (preemption := self._records.active.get(pod.uid)) is None:
            return None
        lagging = self._clock() - max(preemption.began, preemption.evicted_at) < LAG_SECONDS
        return preemption.victims.keys() if lagging else None

    def unhelped(self, pod: Pod) -> None:
        """Note that no candidate of the scheduler's helps a pod; it looks at a tenth of all."""
        if self._records.latest(pod.uid) is None:
            self.refused(pod, ())

    def defer_to_scheduler(self, pod: Pod) -> None:
        """Leave a pod to the scheduler, which is about to evict others for it."""
        self._records.claim(pod.uid)

    # The tasks

    async def run(self) -> NoReturn:
        """Look after refused pods for as long as the program runs."""
        async with asyncio.TaskGroup() as workers:
            for _ in range(WORKERS - 1):
                workers.create_task(self._work())
            await self._work()

    async def _work(self) -> NoReturn:
        while True:
            await self._reconciler.process_one()

    async def process_next(self) -> bool:
        """Do what is due next, if anything is; return whether something was."""
        return await self._reconciler.process_next()

    def _waiting(self) -> Iterator[str]:
        """Yield the refused pods that are in no pause, and that nobody is evicted for yet."""
        now = self._clock()
        for record in self._records.refused:
            refusal = record.refusal
            if record.preemption is None and refusal and refusal.pause.rest(now) is None:
                yield record.uid

    async def reconcile(self, uid: str) -> float | None:
        """Do what is due for a pod; return after how many seconds to look again, if at all."""
        if (record := self._records.get(uid)) is None:
            return None
        if record.preemption is not None:
            after = await self._preemptions.look_after(record, record.preemption)
        elif record.refusal is not None:
            after = await self._look_for_victims(record, record.refusal)
        else:
            return None
        if after is None and record.refusal is not None:
            return record.refusal.pause.rest(self._clock())
        return after

    # Refused

    async def _look_for_victims(self, record: Record, refusal: Refusal) -> float | None:
        """Evict for a pod, if that helps it and it is our turn."""
        wait = self._wait(record, refusal)
        if wait is not None:
            return wait
        refusal.take_up()
        self._records.keep_refusal(record)
        preemptor = self._preemptor(record, refusal)
        candidate = None
        if preemptor is not None:
            await self._warm_up.prepare(preemptor)
            candidate = await self._choose(record, refusal, preemptor)
        if candidate is None or record.refusal is not refusal:
            return None
        return await self._begin(record, refusal, candidate)

    async def _begin(self, record: Record, refusal: Refusal, candidate: Candidate) -> float | None:
        """Evict the victims of a candidate, if it is still one that is as good."""
        # Nothing is awaited from here to the nomination.
        preemptor, wait = self._preemptor(record, refusal), self._wait(record, refusal)
        if preemptor is None or wait is not None:
            return wait
        found = on_node(self._state, preemptor, self._plugins, candidate.node)
        if found is None or found.rank > candidate.rank:
            return 0.0
        return await self._preemptions.begin(record, preemptor, found)

    def _wait(self, record: Record, refusal: Refusal) -> float | None:
        """Return for how many seconds a pod has to wait for its turn, None when it is there."""
        now = self._clock()
        times = (
            refusal.settled_at,
            refusal.pause.until,
            self._records.claimed_until(record.uid),
            self._evictions.denied_until,
        )
        if max(times) > now:
            return max(times) - now
        # Places that look taken may be free.
        busy = len(self._records.active) >= MOST_ACTIVE or self._state.stale is not None
        known = self._state.pod(refusal.pod.key, refusal.pod.uid) is not None
        return LOOK_SECONDS if busy else refusal.wait_for_watch(now, known=known)

    def _preemptor(self, record: Record, refusal: Refusal) -> Pod | None:
        """Return a pod as it is now, None when nobody is to be evicted for it."""
        seen = observe(self._state, refusal.pod)
        if not seen.known or seen.node is not None:
            self._records.admit(record)
            return None
        pod = replace(refusal.pod, node=None, nominated=seen.nominated)
        why = ineligible(self._state, pod, self._plugins)
        if why is None:
            return pod
        _log.debug("nobody is evicted for %s: %s", pod.key, why)
        return None

    async def _choose(self, record: Record, refusal: Refusal, preemptor: Pod) -> Candidate | None:
        """Return whose eviction is best, None when nobody's helps or is needed.

        Where victims were to make room for the pod before, they do: those that are left.
        """
        hint = self._is_hint(record.uid)
        for node in earlier_nodes(self._state, record, preemptor, self._clock(), is_hint=hint):
            before = on_node(self._state, preemptor, self._plugins, node)
            if before is not None:
                return before
        if self._state.victims_of(record.uid):
            # Until they are gone, or marked no more, there must be no others.
            return None
        found = await self._search.choose(refusal, preemptor)
        return found if found is not None and found.victims else None
