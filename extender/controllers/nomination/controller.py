"""Nominates nodes that the scheduler did not ask about for pods that were refused.

The scheduler asks about a sample of the nodes. It also asks a moment before we hear of the very
event that makes it ask, and then not again until something else happens. In both cases a pod waits
though there is a node for it. Nominating that node makes the scheduler try it at once, alone. Users
know this as hints.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Collection, Hashable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from typing import NoReturn

from extender.cluster.state import ClusterState
from extender.controllers.history import History
from extender.controllers.nomination.nominations import Nominations, Patches, is_elses
from extender.controllers.nomination.record import Record, Refusal, State
from extender.controllers.nomination.records import MOST_KEPT, Records
from extender.controllers.nomination.search import Search
from extender.controllers.reconciling import LOOK_SECONDS, Reconciler, Words
from extender.controllers.refusals import SETTLING_SECONDS, is_whole_search, prospects
from extender.controllers.workqueue import WorkQueue
from extender.metrics import Metrics
from extender.model.objects import Pod
from extender.ports import Nominator
from extender.timing import TokenBucket
from extender.verbs.nominating import Observed, loses_victims, observe
from extender.verbs.plugins import Plugins, Refused
from extender.verbs.preempting import fits_without
from extender.warm_up import WarmUp

WORDS = Words("no hint", "hints failed unexpectedly")
PAUSE_FACTOR = 9.0
"""The search for nodes rests for so many times as long as it takes: it gets a tenth of the loop."""
WAKING_SECONDS = 1.0
"""Between two wishes to have a pod tried again: within a second the second one says nothing new."""
CLOSING_SECONDS = 2.0

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class NominationLimits:
    """How much is asked of the API server and the scheduler."""

    per_second: float
    most_outstanding: int
    patience: float
    """Seconds until a nomination that was not taken is withdrawn."""


class NominationController:
    """Nominates nodes, in a task of its own: no answer ever waits for it."""

    def __init__(
        self,
        state: ClusterState,
        nominator: Nominator,
        metrics: Metrics,
        limits: NominationLimits,
        plugins: Plugins,
        *,
        clock: Callable[[], float],
        chance: Callable[[], float],
        warm_up: WarmUp | None = None,
        history: History,
    ) -> None:
        self._warm_up = warm_up or WarmUp(state, metrics)
        self._state = state
        self._metrics = metrics
        self._plugins = plugins
        self._limits = limits
        self._clock = clock
        self._bucket = TokenBucket(limits.per_second, clock)
        self._search = Search(state, plugins, chance, clock)
        self._queue: WorkQueue[str] = WorkQueue(MOST_KEPT + limits.most_outstanding + 1, clock)
        """The uids of pods that have a record, and RESYNC."""
        self._records = Records(clock, self._queue.discard)
        self._patches = Patches(nominator, metrics, history)
        self._nominations = Nominations(
            state,
            self._records,
            self._patches,
            metrics,
            self._bucket,
            patience=limits.patience,
            clock=clock,
        )
        self._reconciler = Reconciler(
            state,
            self._queue,
            self.reconcile,
            waiting=self._waiting,
            begun=self._records.nominated,
            logger=_log,
            words=WORDS,
        )

    @property
    def outstanding(self) -> int:
        """Return how many nominations are neither taken nor withdrawn."""
        return len(self._nominations)

    def nominates(self, uid: str) -> bool:
        """Return whether a pod has a nomination of ours."""
        return uid in self._records.nominated

    # Told by filter

    def refused(self, pod: Pod, refused: Refused) -> None:
        """Note that a pod was refused on every node it was asked about; O(log n)."""
        record = self._records.refuse(pod)
        nomination = record.nomination
        if nomination is not None and pod.nominated == nomination.node:
            # A request from before the scheduler saw the nomination would say nothing about it.
            nomination.refused = True
        # Every node was tried in vain in a whole search; pointing to one would be of no use.
        if not is_whole_search(refused) or nomination is not None:
            self._queue.add_after(pod.uid, SETTLING_SECONDS)

    def admitted(self, pod: Pod) -> None:
        """Note that a pod was not refused everywhere."""
        record = self._records.get(pod.uid)
        if record is not None:
            self._records.admit(record)

    # Told by preempt

    async def release_nomination(self, pod: Pod, nodes: Collection[str]) -> frozenset[str]:
        """Leave a pod's nomination to the scheduler; return nodes where it cannot rely on one."""
        self._queue.add(pod.uid)
        return await self._nominations.release_nomination(pod, nodes)

    # The task

    async def run(self) -> NoReturn:
        """Set and withdraw nominations for as long as the program runs."""
        while True:
            await self._reconciler.process_one()
            await self._rest()

    async def process_next(self) -> bool:
        """Do what is due next, if anything is; return whether something was."""
        done = await self._reconciler.process_next()
        if done:
            await self._rest()
        return done

    async def _rest(self) -> None:
        await asyncio.sleep(PAUSE_FACTOR * self._search.time_spent())

    async def close(self) -> None:
        """Withdraw what is outstanding, as far as that goes quickly."""
        with suppress(TimeoutError):
            async with asyncio.timeout(CLOSING_SECONDS):
                await self._nominations.withdraw_all()

    def _waiting(self) -> Iterator[str]:
        """Yield the refused pods that are in no pause."""
        now = self._clock()
        return (each.uid for each in self._records.refused if each.may_be_helped(now))

    async def reconcile(self, uid: str) -> float | None:
        """Do what is due for a pod; return after how many seconds to look again, if at all."""
        record, now = self._records.get(uid), self._clock()
        if record is None:
            return None
        refusal = record.refusal
        match record.state(now):
            case State.REFUSED if refusal is not None:
                return await self._look_for_node(record, refusal)
            case State.NOMINATED | State.WITHDRAWING if record.nomination is not None:
                await self._nominations.look_after(record, record.nomination)
            case State.CLAIMED:
                # The scheduler is evicting for it, and nominates a node itself.
                self._metrics.hints.count("skipped", by=int(self._records.has_news(record)))
                after = None if refusal is None else await self._try_again(record, refusal)
                if after is not None:
                    return after
        return record.rest(now, self._clock())

    # Refused

    async def _look_for_node(self, record: Record, refusal: Refusal) -> float | None:
        """Nominate a node for a pod, if there is one for it and it is our turn."""
        now = self._clock()
        if refusal.settled_at > now:
            return refusal.settled_at - now
        seen = observe(self._state, refusal.pod)
        wait = refusal.wait_for_watch(now, known=seen.known)
        if wait is not None:
            return wait
        news = self._news(record, refusal, seen)
        if news is None:
            return await self._try_again(record, refusal)
        rest = refusal.pause.rest(now)
        if rest is None:
            rest = refusal.held(self._outlook(refusal), now)
        if rest is not None:
            return rest
        if not self._is_our_turn(news=news):
            return LOOK_SECONDS
        return await self._nominate(record, refusal, seen)

    def _news(self, record: Record, refusal: Refusal, seen: Observed) -> bool | None:
        """Return whether a pod was refused anew; None when nothing can be done for it now."""
        if not seen.known or seen.node is not None:
            self._records.admit(record)
            return None
        news = self._records.has_news(record)
        if is_elses(refusal, seen, (), news=news):
            # Others are being evicted there for this pod.
            self._metrics.hints.count("skipped", by=int(news))
            return None
        return news

    def _is_our_turn(self, *, news: bool) -> bool:
        if self._state.stale is not None:
            # Places that look free may be taken.
            return False
        if self.outstanding < self._limits.most_outstanding and self._bucket.left():
            return True
        self._metrics.hints.count("skipped", by=int(news))
        return False

    async def _nominate(self, record: Record, refusal: Refusal, seen: Observed) -> float | None:
        pod, now = refusal.pod, self._clock()
        await self._warm_up.prepare(pod)
        waits = record.refusal is refusal and record.state(self._clock()) is State.REFUSED
        if not waits or observe(self._state, pod) != seen:
            return 0.0
        node = self._search.choose(refusal, self._nominations.placements())
        if node is None:
            if refusal.tried:
                # What was of no use may be of some by the time of the next look.
                refusal.tried.clear()
                refusal.pause.begin(now)
        elif not self._bucket.take():
            return LOOK_SECONDS
        elif not await self._nominations.set(record, pod, node, self._outlook(refusal)):
            refusal.fail(node, self._clock())
        return record.rest(now, self._clock())

    def _outlook(self, refusal: Refusal) -> Hashable:
        """Return what a pod's chances hang on: itself, and everything but nominations."""
        changes = self._state.version - self._state.nominations
        return changes, prospects(refusal.pod)

    # Nominated by the scheduler

    async def _try_again(self, record: Record, refusal: Refusal) -> float | None:
        """Make the scheduler try a pod again that may go where it has nominated it.

        It was refused for victims that our watch showed longer than the scheduler's did.
        """
        now, pod = self._clock(), refusal.pod
        if refusal.settled_at > now:
            return refusal.settled_at - now
        await self._warm_up.prepare(pod)
        seen = observe(self._state, pod)
        node = seen.nominated
        waits = record.refusal is refusal and seen.node is None
        if not waits or node is None or node != pod.nominated:
            # It has a place, or has not been tried there yet.
            return None
        if loses_victims(self._state, pod, node) or self._state.stale is not None:
            return None
        if not fits_without(self._state, pod, node, (), self._plugins):
            return None
        rest = refusal.pause.rest(now)
        if rest is None and self._bucket.take():
            refusal.pause.begin(now, at_least=WAKING_SECONDS)
            await self._patches.wake(pod, node)
        return rest or LOOK_SECONDS
