"""Points pods that were refused to nodes that the scheduler did not ask about.

The scheduler asks about a sample of the nodes. It also asks a moment before we hear of the very
event that makes it ask, and then not again until something else happens. In both cases a pod waits
though there is a node for it. Nominating that node makes the scheduler try it at once, alone.
"""

from __future__ import annotations

import asyncio
import logging
import math
from collections.abc import Callable, Collection
from contextlib import suppress
from dataclasses import dataclass
from itertools import islice
from typing import NoReturn

import msgspec

from extender.cluster.state import ClusterState
from extender.cluster.whereabouts import Whereabouts
from extender.controllers.nomination.nominations import Nominations
from extender.controllers.nomination.outstanding import Outstanding
from extender.controllers.nomination.refusals import MOST_REFUSED, Refusals, Refused
from extender.controllers.nomination.search import Search
from extender.errors import ObjectError
from extender.metrics import Metrics
from extender.model.objects import Pod
from extender.ports import Nominator
from extender.preparing import OverBudgetError, Preparer
from extender.timing import LogThrottle, TokenBucket
from extender.verbs.plugins import Plugins

TICK_SECONDS = 0.25
"""Between two looks at what became of hints, and at the refused pods after something changed."""
WHOLE_SEARCH = 100
"""The scheduler never stops looking before it has found as many nodes. When it asks about fewer, it
has tried every other in vain, and pointing it there would be of no use."""
PAUSE_FACTOR = 9.0
"""The search for nodes rests for so many times as long as it takes: it gets a tenth of the loop."""
UNKNOWN_SECONDS = 5.0
"""How long a refused pod that no watch has shown is taken to be there all the same."""
CLOSING_SECONDS = 2.0
LOG_SECONDS = 10.0
"""Between two lines about the same kind of failure."""

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class HintLimits:
    """How much is asked of the API server and the scheduler."""

    per_second: float
    most_outstanding: int
    patience: float
    """Seconds until a hint that was not taken is withdrawn."""


class Hints:
    """Nominates nodes, in a task of its own: no answer ever waits for it."""

    def __init__(
        self,
        state: ClusterState,
        nominator: Nominator,
        metrics: Metrics,
        limits: HintLimits,
        plugins: Plugins,
        *,
        clock: Callable[[], float],
        chance: Callable[[], float],
        preparer: Preparer | None = None,
    ) -> None:
        self._preparer = preparer or Preparer(state, metrics)
        self._state = state
        self._metrics = metrics
        self._limits = limits
        self._clock = clock
        self._whereabouts = Whereabouts(state)
        self._allowance = TokenBucket(limits.per_second, clock)
        self._search = Search(state, plugins, chance)
        self._refused = Refusals()
        self._hints = Outstanding(
            self._whereabouts,
            Nominations(nominator, metrics),
            metrics,
            self._allowance,
            patience=limits.patience,
            clock=clock,
        )
        self._due: dict[str, None] = {}
        """Pods that were just refused, by uid."""
        self._again: dict[str, None] = {}
        """Pods to look at again because something has changed."""
        self._swept = state.version
        self._sweep_at = math.inf
        """When a pod may be pointed somewhere again though nothing has changed."""
        self._looked = clock()
        self._log = LogThrottle(_log, seconds=LOG_SECONDS)
        self._woken = asyncio.Event()

    @property
    def outstanding(self) -> int:
        """Return how many hints are neither taken nor withdrawn."""
        return len(self._hints)

    # Told by filter

    def refused(self, pod: Pod, pod_json: msgspec.Raw, asked: int) -> None:
        """Note that a pod was refused on every node it was asked about; O(1)."""
        self._refused.note(pod, pod_json, self._clock())
        hint = self._hints.of(pod.uid)
        if hint is not None and pod.nominated == hint.promise.node:
            # A request from before the scheduler saw the hint would say nothing about it.
            hint.refused = True
        if asked >= WHOLE_SEARCH or hint is not None:
            self._due.pop(pod.uid, None)
            self._due[pod.uid] = None
            if len(self._due) > 2 * MOST_REFUSED:
                # Most have been pushed out by others since; going over all is rare enough.
                remembered = frozenset(self._refused)
                self._due = {uid: None for uid in self._due if uid in remembered}
            self._woken.set()

    def admitted(self, pod: Pod) -> None:
        """Note that a pod was not refused everywhere."""
        self._refused.drop(pod.uid)

    # Told by preempt

    async def give_way(self, pod: Pod, nodes: Collection[str]) -> str | None:
        """Leave a pod's nomination to the scheduler; return a node where it cannot rely on one."""
        return await self._hints.give_way(pod, nodes)

    # The task

    async def run(self) -> NoReturn:
        """Set and withdraw hints for as long as the program runs."""
        while True:
            with suppress(TimeoutError):
                async with asyncio.timeout(self._rest()):
                    await self._woken.wait()
            self._woken.clear()
            try:
                await self.step()
            except OverBudgetError as error:
                self._log.log(logging.DEBUG, "budget", "no hint: %s", error)
            except Exception as error:  # noqa: BLE001 - the next pod may fare better
                kind = type(error).__name__
                self._log.log(logging.ERROR, kind, "hints failed unexpectedly", exc_info=error)
                await asyncio.sleep(TICK_SECONDS)

    async def step(self) -> None:
        """Look at what is outstanding, if it is time, and at the next refused pod."""
        if self._clock() - self._looked >= TICK_SECONDS:
            self._looked = self._clock()
            await self._follow_up()
            changed = self._swept != self._state.version or self._sweep_at <= self._clock()
            if changed and not self._again:
                self._swept, self._sweep_at = self._state.version, math.inf
                self._again = dict.fromkeys(self._refused)
        refused = self._next()
        if refused is not None:
            await self._consider(refused)
        await asyncio.sleep(PAUSE_FACTOR * self._search.time_spent())

    async def close(self) -> None:
        """Withdraw what is outstanding, as far as that goes quickly."""
        with suppress(TimeoutError):
            async with asyncio.timeout(CLOSING_SECONDS):
                await self._hints.withdraw_all()

    def _rest(self) -> float:
        """Return how long there is nothing to do, as far as we know."""
        if self._again:
            return 0.0
        ripe = min((self._ripe_at(uid) for uid in islice(self._due, 1)), default=math.inf)
        return max(0.0, min(ripe, self._looked + TICK_SECONDS) - self._clock())

    def _next(self) -> Refused | None:
        for uid in islice(self._due, 1):
            if self._ripe_at(uid) <= self._clock():
                del self._due[uid]
                return self._refused.get(uid)
        for uid in islice(self._again, 1):
            del self._again[uid]
            return self._refused.get(uid)
        return None

    def _ripe_at(self, uid: str) -> float:
        refused = self._refused.get(uid)
        return -math.inf if refused is None else refused.ripe

    async def _consider(self, refused: Refused) -> None:
        """Point a refused pod somewhere, if there is a node for it and it is our turn."""
        news = self._news(refused)
        if news is None:
            return
        pod = refused.pod
        claimed = self._hints.claimed_until(pod.uid)
        if claimed is not None:
            # The scheduler is evicting for it, and will nominate a node itself.
            refused.not_before = max(refused.not_before, claimed)
            self._sweep_after_pause(refused)
            self._metrics.count_hint("skipped", int(news))
            return
        hint = self._hints.of(pod.uid)
        ours = None if hint is None else hint.promise.node
        nominated = self._whereabouts.nominated(pod)
        if nominated not in {None, ours} or (news and pod.nominated not in {None, ours}):
            # Others are being evicted there for this pod.
            self._metrics.count_hint("skipped", int(news))
            self._hints.drop(pod.uid)
            return
        if hint is not None:
            if hint.refused:
                self._fail(refused, hint.promise.node)
                await self._hints.end(hint, "refused")
        elif self._is_our_turn(refused, news=news):
            if self._preparer.takes_long(pod):
                await self._preparer.prepare(pod)
            node = self._choose(refused)
            if node is None or not self._allowance.take():
                return
            if not await self._hints.set(pod, node):
                self._fail(refused, node)

    def _news(self, refused: Refused) -> bool | None:
        """Tell whether a pod was refused anew; None when nothing can be done for it now."""
        pod = refused.pod
        if self._whereabouts.is_known(pod):
            if self._whereabouts.place(pod) is None:
                try:
                    return self._refused.read(refused)
                except ObjectError as error:
                    _log.debug("no hints for %s: %s", pod.key, error)
        elif self._clock() - refused.heard < UNKNOWN_SECONDS:
            self._postpone(refused)
            return None
        self._refused.drop(pod.uid)
        return None

    def _is_our_turn(self, refused: Refused, *, news: bool) -> bool:
        if self._state.doubt is not None:
            # Places that look free may be taken.
            self._postpone(refused)
            return False
        if self._clock() < refused.not_before:
            # This sweep came too early for it, and it may have been the last one in sight.
            self._sweep_after_pause(refused)
            return False
        if len(self._hints) < self._limits.most_outstanding and self._allowance.left():
            return True
        self._metrics.count_hint("skipped", int(news))
        self._postpone(refused)
        return False

    def _postpone(self, refused: Refused) -> None:
        refused.ripe = self._clock() + TICK_SECONDS
        self._due[refused.pod.uid] = None

    def _choose(self, refused: Refused) -> str | None:
        node = self._search.choose(refused, self._hints.promises())
        if node is None and refused.tried:
            # What was of no use may be of some by the time of the next look.
            refused.tried.clear()
            self._pause(refused)
        return node

    def _fail(self, refused: Refused, node: str) -> None:
        refused.tried.append(node)
        self._pause(refused)

    def _pause(self, refused: Refused) -> None:
        refused.pause(self._clock())
        self._sweep_after_pause(refused)

    def _sweep_after_pause(self, refused: Refused) -> None:
        self._sweep_at = min(self._sweep_at, refused.not_before)

    async def _follow_up(self) -> None:
        """Look at what became of hints."""
        async for promise, result in self._hints.ended():
            if result != "withdrawn":
                self._refused.drop(promise.pod.uid)
                continue
            refused = self._refused.get(promise.pod.uid)
            if refused is not None:
                self._fail(refused, promise.node)
