"""Evicts less important pods for those that only our rules keep from every node.

kube-scheduler preempts for what its own plugins refuse. Where only an extender refuses, its dry run
finds no pod that has to go, and the pod waits. So this is done here: in the scheduler's way, by its
preferences and with its effects on the cluster, among all nodes.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection

from msgspec import structs

from extender.core.controllers.context import ControllerContext
from extender.core.controllers.reconciling import BEGUN, LOOK_SECONDS
from extender.core.metrics.series import CounterRow
from extender.core.model import memory
from extender.core.model.disruption import Rank
from extender.core.model.objects import Pod
from extender.core.ports import ReleaseNomination
from extender.core.verbs.nominating import observe
from extender.core.verbs.plugins import Refused
from extender.core.verbs.victims import Candidate, ineligible, on_node, victims_waited_for
from extender.features.refused_pods.controller import RefusedPodController
from extender.features.refused_pods.evictions import Evictions, Evictor
from extender.features.refused_pods.patches import PREEMPTION, Nominator, Patches
from extender.features.refused_pods.record import LAG_SECONDS, Preemption, Record
from extender.features.refused_pods.records import Bounds
from extender.features.refused_pods.refusals import Refusal
from extender.features.refused_pods.search import Search, earlier_nodes
from extender.features.refused_pods.victim_sets import EXHAUSTED, VictimSets

FIRST_PAUSE_SECONDS = 0.5
"""After victims that were of no use, or could not be had; it doubles each time."""
MOST_REFUSED = 1024
"""Refused pods, within memory.PREEMPTORS."""
MOST_ACTIVE = 512
"""Pods that others are being evicted for at a time; the rest waits for its turn."""
CLAIM_SECONDS = 2.0
"""From the answer to /preempt until we may evict pods for the pod. By then the watch has shown whom
the scheduler evicts for it."""
CYCLE_SECONDS = 1.0
"""From filter's answer until the scheduler has asked /preempt in the same cycle."""

_log = logging.getLogger(__name__)


class PreemptionController(RefusedPodController[Preemption]):
    """Evicts pods for others; most of it is waiting for the API server."""

    too_costly = "nobody is evicted"
    failed = "preemption failed unexpectedly"
    workers = 8

    def __init__(
        self,
        context: ControllerContext,
        counters: CounterRow,
        nominator: Nominator,
        evictor: Evictor,
        *,
        release_nomination: ReleaseNomination | None = None,
        is_hint: Callable[[str], bool] = lambda _: False,
    ) -> None:
        """`release_nomination` tells who else nominates nodes; `is_hint` knows theirs by uid."""
        bounds = Bounds(memory.PREEMPTORS, MOST_REFUSED, FIRST_PAUSE_SECONDS, CLAIM_SECONDS)
        super().__init__(context, bounds, MOST_REFUSED + MOST_ACTIVE)
        self.preemptor = self
        self._is_hint = is_hint
        self._evictions = Evictions(context, evictor)
        patches = Patches(context, nominator, PREEMPTION, counters)
        self._victim_sets = VictimSets(
            context, patches, self._records, self._evictions, release_nomination
        )
        self._search = Search(context.state, context.plugins, context.clocks)
        context.state.pod_observers.append(self._shown)

    # Told by the watch

    def _shown(self, uid: str) -> None:
        """Look after a pod of which the watch is about to show something new."""
        if (record := self._records.get(uid)) is None:
            return
        refusal = record.refusal
        if record.begun is not None:
            self._queue.add(uid, BEGUN)
        elif refusal is not None and self._state.pod(refusal.pod.key, uid) is not None:
            refusal.note_end(self._clock())
            self._queue.add(uid)

    # Told by filter

    def refused(self, pod: Pod, refused: Refused) -> None:
        """Note that a pod was refused on every node it was asked about; O(log n)."""
        record = self._records.get(pod.uid)
        if record is not None and record.begun is not None:
            record.begun.unwanted = False
        elif pod.spec.group is not None or not self._state.has_less_important(pod.spec.priority):
            return
        record = self._records.refuse(pod, refused)
        if pod.status.nominated is not None and not self._is_hint(pod.uid):
            record.remember(pod.status.nominated, self._clock())
        refusal = record.refusal
        if refusal is not None and record.begun is None:
            self._queue.add_after(pod.uid, refusal.settled_at - self._clock())

    def admitted(self, pod: Pod) -> None:
        if (begun := self._records.begun.get(pod.uid)) is not None:
            begun.unwanted = True
        super().admitted(pod)

    # Told and asked by preempt

    def going(self, pod: Pod) -> Collection[str] | None:
        preemption = self._records.begun.get(pod.uid)
        return None if preemption is None else preemption.victims.keys()

    async def has_better_ones(self, pod: Pod, rank: Rank) -> bool:
        refusal = self._latest(pod)
        grouped = pod.spec.group is not None
        if refusal is None or grouped or self._evictions.denied_until > self._clock():
            return False
        if self._victim_sets.is_exhausted(pod.uid):
            return False
        return await self._search.beats(refusal, pod, rank)

    def leaving(self, pod: Pod) -> Collection[str] | None:
        if (preemption := self._records.begun.get(pod.uid)) is None:
            return None
        lagging = self._clock() - max(preemption.began, preemption.evicted_at) < LAG_SECONDS
        return preemption.victims.keys() if lagging else None

    def unhelped(self, pod: Pod) -> None:
        """Note that no candidate of the scheduler's helps a pod; it looks at a tenth of all."""
        if self._latest(pod) is None:
            self.refused(pod, ())

    def defer_to_scheduler(self, pod: Pod) -> None:
        self._records.claim(pod)

    def _latest(self, pod: Pod) -> Refusal | None:
        """Return the refusal of a pod in the scheduling cycle that preempts for it now."""
        record = self._records.get(pod.uid)
        refusal = None if record is None else record.refusal
        if refusal is None or self._clock() - refusal.heard >= CYCLE_SECONDS:
            return None
        return refusal

    async def _look_after(self, record: Record[Preemption], begun: Preemption) -> float | None:
        return await self._victim_sets.look_after(record, begun)

    # Refused

    async def _help(self, record: Record[Preemption], refusal: Refusal) -> float | None:
        wait = self._wait(record, refusal)
        if wait is not None:
            return wait
        refusal.take_up()
        self._records.keep_refusal(record, refusal)
        preemptor = self._preemptor(record, refusal)
        candidate = None
        if preemptor is not None:
            await self._warm_up.prepare(preemptor)
            candidate = await self._choose(record, refusal, preemptor)
        if candidate is None or record.refusal is not refusal:
            return None
        return await self._begin(record, refusal, candidate)

    async def _begin(
        self, record: Record[Preemption], refusal: Refusal, candidate: Candidate
    ) -> float | None:
        """Evict the victims of a candidate, if it is still one that is as good."""
        # Nothing is awaited from here to the nomination.
        preemptor, wait = self._preemptor(record, refusal), self._wait(record, refusal)
        if preemptor is None or wait is not None:
            return wait
        found = on_node(self._state, preemptor, self._plugins, candidate.node)
        if found is None or found.rank > candidate.rank:
            return 0.0
        return await self._victim_sets.begin(record, preemptor, found)

    def _wait(self, record: Record[Preemption], refusal: Refusal) -> float | None:
        """Return for how many seconds a pod has to wait for its turn, None when it is there."""
        now = self._clock()
        times = (
            refusal.settled_at,
            refusal.pause.until,
            0.0 if record.claim is None else record.claim.until,
            self._evictions.denied_until,
        )
        if max(times) > now:
            return max(times) - now
        # Places that look taken may be free.
        busy = len(self._records.begun) >= MOST_ACTIVE or self._state.stale is not None
        known = self._state.pod(refusal.pod.key, refusal.pod.uid) is not None
        return LOOK_SECONDS if busy else refusal.wait_for_watch(now, known=known)

    def _preemptor(self, record: Record[Preemption], refusal: Refusal) -> Pod | None:
        """Return a pod as it is now, None when no pod is to be evicted for it."""
        seen = observe(self._state, refusal.pod)
        if not seen.known or seen.node is not None:
            self._records.admit(record)
            return None
        pod = structs.replace(refusal.pod, node=None).with_status(nominated=seen.nominated)
        why = ineligible(self._state, pod, self._plugins)
        if self._victim_sets.is_exhausted(pod.uid):
            why = EXHAUSTED
        if why is None:
            return pod
        _log.debug("nobody is evicted for %s: %s", pod.key, why)
        return None

    async def _choose(
        self, record: Record[Preemption], refusal: Refusal, preemptor: Pod
    ) -> Candidate | None:
        """Return whose eviction is best, None when none helps or is needed.

        Where victims were to make room for the pod before, they do: those that are left.
        """
        hint = self._is_hint(record.uid)
        for node in earlier_nodes(self._state, record, preemptor, self._clock(), is_hint=hint):
            before = on_node(self._state, preemptor, self._plugins, node)
            if before is not None:
                return before
        if victims_waited_for(self._state, preemptor, self._plugins):
            # Until they are gone, or marked no more, there must be no others.
            return None
        found = await self._search.choose(refusal, preemptor)
        return found if found is not None and found.victims else None
