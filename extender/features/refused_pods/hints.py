"""Nominates nodes that the scheduler did not ask about for pods that were refused.

The scheduler asks about a sample of the nodes. It also asks a moment before we hear of the very
event that makes it ask, and then not again until something else happens. In both cases a pod waits
though there is a node for it. Nominating that node makes the scheduler try it at once, alone. Users
know this as hints.
"""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Hashable, Iterator
from contextlib import suppress
from dataclasses import dataclass

from extender.core.controllers.context import ControllerContext
from extender.core.controllers.reconciling import LOOK_SECONDS
from extender.core.metrics.series import CounterRow
from extender.core.model import memory
from extender.core.model.objects import Pod
from extender.core.timing import TokenBucket
from extender.core.verbs.nominating import Chooser, Observed, loses_victims, observe
from extender.core.verbs.plugins import Refused
from extender.core.verbs.preempting import fits_without
from extender.features.refused_pods.controller import RefusedPodController
from extender.features.refused_pods.nominations import Nominations
from extender.features.refused_pods.patches import HINT, Nominator, Patches
from extender.features.refused_pods.record import Nomination, Record, State
from extender.features.refused_pods.records import MOST_CLAIMS, MOST_WITHDRAWALS, Bounds
from extender.features.refused_pods.refusals import (
    SETTLING_SECONDS,
    Refusal,
    UnschedulableCache,
    changes_for,
    is_whole_search,
    prospects,
)

MOST_REFUSED = 512
"""Refused pods, within memory.REFUSALS."""
MOST_KEPT = MOST_REFUSED + MOST_CLAIMS + MOST_WITHDRAWALS
"""Records, beside those of pods that have a nomination of ours."""
CLAIM_SECONDS = 30.0
"""From the answer to /preempt until we may nominate a node for the pod again. By then the scheduler
has asked for all evictions, or has failed to, and the watch has shown its nomination."""
FIRST_PAUSE_SECONDS = 0.25
"""After a nomination that was of no use; it doubles each time."""
PAUSE_FACTOR = 9.0
"""The search for nodes rests this many times as long as it took: it gets a tenth of the loop."""
WAKING_SECONDS = 1.0
"""Between two wishes to have a pod tried again: within a second the second one says nothing new."""
CLOSING_SECONDS = 2.0


def hint_bounds() -> Bounds:
    return Bounds(memory.REFUSALS, MOST_REFUSED, FIRST_PAUSE_SECONDS, CLAIM_SECONDS)


@dataclass(frozen=True, slots=True)
class HintLimits:
    """How much is asked of the API server and the scheduler."""

    per_second: float
    most_outstanding: int
    patience: float
    """Seconds until a nomination that was not taken is withdrawn."""


class HintController(RefusedPodController[Nomination]):
    """Nominates nodes; what was in vain is tried again when something changes."""

    too_costly = "no hint"
    failed = "hints failed unexpectedly"

    def __init__(
        self,
        context: ControllerContext,
        counters: CounterRow,
        nominator: Nominator,
        limits: HintLimits,
    ) -> None:
        super().__init__(context, hint_bounds(), MOST_KEPT + limits.most_outstanding)
        self.pointer = self
        self._chance = context.clocks.chance
        self._bucket = TokenBucket(limits.per_second, context.clocks.clock)
        self._chooser = Chooser(context.state, context.plugins)
        self._unschedulable = UnschedulableCache(memory.FRUITLESS)
        context.state.forgetful.append(self._unschedulable.forgetting)
        self._searched = 0.0
        """Seconds of searching since the last rest."""
        patches = Patches(context, nominator, HINT, counters)
        self._nominations = Nominations(
            context,
            patches,
            self._records,
            self._bucket,
            patience=limits.patience,
            most=limits.most_outstanding,
        )

    @property
    def outstanding(self) -> int:
        """Return how many nominations are neither taken nor withdrawn."""
        return len(self._records.begun)

    def nominates(self, uid: str) -> bool:
        return uid in self._records.begun

    # Told by filter

    def refused(self, pod: Pod, refused: Refused) -> None:
        """Note that a pod was refused on every node it was asked about; O(log n)."""
        record = self._records.refuse(pod)
        nomination = record.begun
        if nomination is not None and pod.status.nominated == nomination.node:
            # A request from before the scheduler saw the nomination would say nothing about it.
            nomination.refused = True
        # Every node was tried in vain, in a whole search or by us; to point to one is of no use.
        in_vain = is_whole_search(refused) or self._is_in_vain(record)
        if nomination is not None or not in_vain:
            self._queue.add_after(pod.uid, SETTLING_SECONDS)

    # Told by bind

    def point(self, pod: Pod, node: str) -> None:
        """Nominate a node, once the scheduler has ended its attempt, for a pod that was not bound.

        If that is of no use, nothing else is done: the pod has a place without us.
        """
        refusal = self._records.refuse(pod).refusal
        if refusal is not None:
            refusal.towards = node
            self._queue.add_after(pod.uid, SETTLING_SECONDS)

    # Told by preempt

    async def release_nomination(self, pod: Pod, nodes: Collection[str]) -> frozenset[str]:
        self._queue.add(pod.uid)
        return await self._nominations.release_nomination(pod, nodes)

    # The task

    async def _process(self, uid: str) -> None:
        await super()._process(uid)
        searched, self._searched = self._searched, 0.0
        await asyncio.sleep(PAUSE_FACTOR * searched)

    async def close(self) -> None:
        """Withdraw what is outstanding, as far as that goes quickly."""
        with suppress(TimeoutError):
            async with asyncio.timeout(CLOSING_SECONDS):
                await self._nominations.withdraw_all()

    async def _look_after(self, record: Record[Nomination], begun: Nomination) -> None:
        await self._nominations.look_after(record, begun)

    # Refused

    def _waiting(self) -> Iterator[str]:
        records = map(self._records.get, super()._waiting())
        return (each.uid for each in records if each is not None and not self._is_in_vain(each))

    def _is_in_vain(self, record: Record[Nomination]) -> bool:
        """Return whether all nodes were looked through, and nothing has changed that may help."""
        refusal = record.refusal
        if refusal is None or refusal.towards is not None or refusal.tried:
            return False
        pod = refusal.pod
        changes = changes_for(self._state, pod)
        return pod.status.nominated is None and self._unschedulable.knows(prospects(pod), changes)

    async def _help(self, record: Record[Nomination], refusal: Refusal) -> float | None:
        now = self._clock()
        if refusal.settled_at > now:
            return refusal.settled_at - now
        claimed, seen = record.state(now) is State.CLAIMED, observe(self._state, refusal.pod)
        if not claimed:
            wait = refusal.wait_for_watch(now, known=seen.known)
            if wait is not None:
                return wait
            if not seen.known or seen.node is not None:
                self._records.admit(record)
                return None
        news = refusal.has_news(now)
        if claimed or refusal.is_elses(seen, (), news=news):
            # Others are being evicted for it, and whoever does so nominates a node.
            self._nominations.skip(news=news)
            return await self._try_again(record, refusal)
        rest = refusal.pause.rest(now)
        if rest is None:
            rest = refusal.held(self._outlook(refusal), now)
        if rest is not None or not self._is_our_turn(news=news):
            return LOOK_SECONDS if rest is None else rest
        return await self._nominate(record, refusal, seen)

    def _is_our_turn(self, *, news: bool) -> bool:
        if self._state.stale is not None:
            # Places that look free may be taken.
            return False
        if self._nominations.has_room and self._bucket.left():
            return True
        self._nominations.skip(news=news)
        return False

    async def _nominate(
        self, record: Record[Nomination], refusal: Refusal, seen: Observed
    ) -> float | None:
        if self._is_in_vain(record):
            return None
        pod, now = refusal.pod, self._clock()
        await self._warm_up.prepare(pod)
        waits = record.refusal is refusal and record.state(self._clock()) is State.REFUSED
        if not waits or observe(self._state, pod) != seen:
            return 0.0
        node = self._choose(refusal)
        if node is None:
            if refusal.tried:
                # What was of no use may be of some by the time of the next look.
                refusal.tried = ()
                refusal.pause.begin(now)
        elif not self._bucket.take():
            return LOOK_SECONDS
        elif not await self._nominations.set(record, pod, node, self._outlook(refusal)):
            refusal.fail(node, self._clock())
        return record.rest(now, self._clock())

    def _choose(self, refusal: Refusal) -> str | None:
        if refusal.towards is not None:
            return None if refusal.towards in refusal.tried else refusal.towards
        pod, key, placements = refusal.pod, prospects(refusal.pod), self._nominations.placements()
        changes = changes_for(self._state, pod)
        if self._unschedulable.knows(key, changes):
            return None
        start = self._clock()
        node = self._chooser.choose(
            pod, avoid=refusal.tried, placements=placements, chance=self._chance()
        )
        self._searched += self._clock() - start
        whole = not (refusal.tried or placements) and self._chooser.looks_everywhere(pod)
        if node is None and whole:
            self._unschedulable.note(key, changes, pod.size)
        return node

    def _outlook(self, refusal: Refusal) -> Hashable:
        """Return what a pod's chances hang on: itself, and everything but nominations."""
        changes = self._state.version - self._state.nominations
        return changes, prospects(refusal.pod)

    # Nominated by the scheduler

    async def _try_again(self, record: Record[Nomination], refusal: Refusal) -> float | None:
        """Make the scheduler try a pod again that may go where it has nominated it.

        It was refused for victims that our watch showed longer than the scheduler's did.
        """
        now, pod = self._clock(), refusal.pod
        await self._warm_up.prepare(pod)
        seen = observe(self._state, pod)
        node = seen.nominated
        waits = record.refusal is refusal and seen.node is None
        if not waits or node is None or node != pod.status.nominated:
            # It has a place, or has not been tried there yet.
            return None
        if loses_victims(self._state, pod, node) or self._state.stale is not None:
            return None
        if not fits_without(self._state, pod, node, (), self._plugins):
            return None
        rest = refusal.pause.rest(now)
        if rest is None and self._bucket.take():
            refusal.pause.begin(now, at_least=WAKING_SECONDS)
            await self._nominations.wake(pod, node)
        return rest or LOOK_SECONDS
