"""Evicts pods that break a rule which is to hold for as long as they run.

It hears of them from events, waits for a grace period, makes sure that their controller and another
node would take over, and keeps to a limit. Of several replicas one acts.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterable
from itertools import islice
from typing import Final, NoReturn

from extender.core.collecting import pass_over_new
from extender.core.controllers.context import ControllerContext
from extender.core.controllers.reconciling import LOOK_SECONDS, Reconciler
from extender.core.model.keys import namespace_of
from extender.core.ports import Check
from extender.features.moving.event_recorder import EventRecorder
from extender.features.moving.limits import CircuitBreaker
from extender.features.moving.mover import REST_SECONDS, EvictionLimits, Mover
from extender.features.moving.record import BrokenRules, Record
from extender.features.moving.rules.evicting import Outcome, first_look
from extender.features.moving.rules.execution import Execution
from extender.features.moving.shared import Shared
from extender.features.moving.turns import EvictionTurns

MOST_A_SECOND: Final = 500
"""Pods that are looked at again, on average: at some 50 µs each, a fortieth of a core."""
MOST_WAITING: Final = 1_000_000
"""Pods that are waited for; each has a record anyway, and there are no more than pods."""
MOST_AT_ONCE: Final = 500
"""Pods that are put to the others that wait, between two turns for other work."""
UNSEEN_SECONDS: Final = 10.0
"""How long the watch may take to show that an evicted pod is being deleted."""
MOST_TOLD: Final = 10
"""Namespaces of whose pauses is told at a time."""


class EvictionController(Reconciler):
    """Moves pods by evicting them, in tasks of its own.

    A pod that stays is looked at after a pause, and when an event concerns it, not at each change.
    """

    too_costly = "the pod is left alone"
    failed = "an eviction failed unexpectedly"

    def __init__(
        self,
        context: ControllerContext,
        shared: Shared,
        turns: EvictionTurns,
        *,
        execution: Execution,
        limits: EvictionLimits,
        unready: Check,
    ) -> None:
        """While `unready` says why, or the state is stale, no pod is judged or evicted."""
        super().__init__(context, MOST_WAITING)
        clocks = context.clocks
        self._leadership, self._moves = turns.leadership, turns.moves
        self._watch, self._execution = shared.books.watch, execution
        self._limits = limits
        self._sleep = clocks.sleep
        self._unready = unready
        self.broken = BrokenRules(shared.books.watch, execution, clocks.clock, clocks.epoch)
        self._breaker = CircuitBreaker(limits.max_affected, lambda: shared.books.placed)
        self._recorder = EventRecorder(context, shared)
        self._mover = Mover(
            context,
            shared,
            turns,
            self._recorder,
            limits=limits,
            execution=execution,
            still=self._still,
        )
        self._led = False

    @property
    def paused(self) -> bool:
        return self._breaker.pauses.all

    @property
    def leads(self) -> bool:
        return self._leadership.leads

    # The tasks

    async def run(self) -> NoReturn:
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(self._detect())
            await self._work()

    async def _detect(self) -> NoReturn:
        while True:
            try:
                await self.look()
            except Exception as error:  # noqa: BLE001 - the next look may fare better
                self._throttle.log(logging.ERROR, type(error).__name__, self.failed, exc_info=error)
            await self._sleep(LOOK_SECONDS)

    async def look(self) -> None:
        """Judge the pods that events have named, and whether too many pods are affected."""
        if not self._is_sure():
            return
        for uid in self.broken.news():
            if uid is None:
                pass_over_new()
                await self._sleep(0)
            else:
                self._queue.add(uid)
        self._moves.look()
        await self._look_at_breaker()
        await self._look_at_lead()
        self._recorder.publish(
            self.broken.records.values(), self._breaker.pauses, leads=self._leadership.leads
        )

    def _is_sure(self) -> bool:
        return self._unready() is None and self._state.stale is None

    async def _look_at_breaker(self) -> None:
        going, acknowledged = self.broken.going, self._leadership.acknowledged
        before, now = self._breaker.look(going, acknowledged), self._breaker.pauses
        if before == now:
            return
        # What was left of their grace periods was not waited for yet.
        await self._look_again(
            self.broken.begin_again(lambda name: before.hold(name) and not now.hold(name))
        )
        if not self._leadership.leads:
            return
        total = sum(going.values())
        if now.all and not before.all:
            await self._recorder.paused(total, self._breaker.pods(), self._breaker.allowed)
        elif before.all and not now.all:
            await self._recorder.resumed(total)
        for name in islice(sorted(now.namespaces ^ before.namespaces), MOST_TOLD):
            pods = going.get(name, 0)
            if name in now.namespaces:
                allowed = self._breaker.allowed_of_one(acknowledged)
                await self._recorder.paused_in(name, pods, allowed)
            else:
                await self._recorder.resumed(pods, name)

    async def _look_at_lead(self) -> None:
        """Look at all that another replica has looked after until now."""
        led, self._led = self._led, self._leadership.leads
        if self._led and not led:
            await self._look_again(self.broken.records)

    async def _look_again(self, uids: Iterable[str]) -> None:
        """Have pods looked at now; a wrong label may be that of most nodes."""
        for number, uid in enumerate(list(uids), start=1):
            self._queue.add(uid)
            if number % MOST_AT_ONCE == 0:
                await self._sleep(0)

    # One pod

    async def reconcile(self, uid: str) -> float | None:
        """Do what is due for a pod; return after how many seconds to look again, if at all.

        Of very many pods, each is looked at less often.
        """
        after = await self._reconcile(uid)
        return None if after is None else max(after, len(self.broken) // MOST_A_SECOND)

    async def _reconcile(self, uid: str) -> float | None:
        known = self.broken.records.get(uid)
        if known is not None and not self._is_sure():
            return REST_SECONDS
        record = None if known is None else self.broken.judge(known.identity)
        pod = None if record is None else self._state.pod(*record.identity)
        if record is None or pod is None:
            return None
        wait = self._wait(record)
        if wait is not None:
            return wait
        if self._stands_by(record):
            return None
        first = first_look(self._watch, self._execution, pod, record.breaches)
        record.take_over(first)
        if record.outcome is Outcome.GOES and self._breaker.pauses.hold(pod.pod_class.namespace):
            record.outcome = Outcome.PAUSED
        if record.outcome is not Outcome.GOES:
            if record.outcome.stays:
                await self._recorder.stays(pod, record)
            return self._rest(record)
        return await self._mover.move(pod, record, first)

    def _rest(self, record: Record) -> float | None:
        """Return after how many seconds to look at a pod again that stays, or is about to go."""
        if record.outcome is Outcome.LEAVING:
            return REST_SECONDS
        if record.outcome not in {Outcome.OTHERS_GO, Outcome.BROKEN_BY_OTHERS}:
            return None
        record.pause.begin(self._clock())
        return record.pause.until - self._clock()

    def _wait(self, record: Record) -> float | None:
        """Return for how long a pod is left alone in any case, and note why."""
        now = self._clock()
        grace = record.since + self._limits.grace_seconds - now
        if record.evicted_at is not None and now - record.evicted_at < UNSEEN_SECONDS:
            return REST_SECONDS
        if grace > 0:
            record.outcome = Outcome.GRACE
            return grace
        return record.pause.rest(now)

    def _stands_by(self, record: Record) -> bool:
        if record.outcome is Outcome.DRY_RUN:
            return True
        if not self._leadership.leads:
            record.outcome = Outcome.STANDBY
            # The lead may be back before the next look, which then would miss that it was not here.
            self._led = False
            return True
        return False

    def holds(self, namespace: str) -> bool:
        """Return whether too many pods are affected at this moment for any of a namespace to go.

        O(1) if that was so at the last look, for thousands of controllers ask; else O(namespaces).
        """
        if self._breaker.pauses.hold(namespace):
            return True
        now = self._breaker.judge(self.broken.going, self._leadership.acknowledged)
        return now.hold(namespace)

    def _still(self, record: Record) -> bool:
        judged = self.broken.judge(record.identity)
        paused = self.holds(namespace_of(record.identity.key))
        return judged is record and record.goes and not paused and self._is_sure()
