"""Moves one pod: takes its turn, confirms the lead, looks once more, and has it evicted."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from extender.core.controllers.context import ControllerContext
from extender.core.errors import ApiError, ExtenderError
from extender.core.model.objects import Controller, Pod
from extender.core.timing import LONGEST_PAUSE_SECONDS
from extender.core.verbs.nominating import Chooser
from extender.features.moving.event_recorder import EventRecorder
from extender.features.moving.last_look import LastLookAtMoves
from extender.features.moving.limits import FairTurns
from extender.features.moving.ports import Evicted, Eviction
from extender.features.moving.record import Record
from extender.features.moving.rules.evicting import (
    Assessment,
    EvictionCause,
    Outcome,
    is_only_replica,
    second_look,
)
from extender.features.moving.rules.execution import Execution
from extender.features.moving.shared import Shared
from extender.features.moving.turns import EvictionTurns

REST_SECONDS: Final = 1.0
"""Between two looks at a pod that waits for something that no event tells of."""


WENT_WRONG: Final = 500
"""From this status on an answer says that something went wrong, a timeout of etcd for one."""


@dataclass(frozen=True, slots=True)
class EvictionLimits:
    per_minute: int
    grace_seconds: float
    max_affected: float
    """The share of all pods beyond which nothing is done."""
    dry_run: bool = True


class Mover:
    def __init__(
        self,
        context: ControllerContext,
        shared: Shared,
        turns: EvictionTurns,
        recorder: EventRecorder,
        *,
        limits: EvictionLimits,
        execution: Execution,
        still: Callable[[Record], bool],
    ) -> None:
        """`still` tells whether a pod is to go at this very moment."""
        state, clock = context.state, context.clocks.clock
        self._state, self._watch = state, shared.books.watch
        self._port = shared.port
        self._leadership = turns.leadership
        self._recorder = recorder
        self._chooser = Chooser(state, context.plugins)
        self._dry_run = limits.dry_run
        self._chance = context.clocks.chance
        self._clock = clock
        self._still = still
        self._execution = execution
        self._last_look = LastLookAtMoves(shared.books.watch, shared.port.objects)
        self._warm_up = context.warm_up
        self._window, self._moves = turns.window, turns.moves
        self._fair, self._fruitless = FairTurns(clock), turns.fruitless

    async def move(self, pod: Pod, record: Record, first: Assessment) -> float | None:
        owner = pod.controller
        if owner is None:
            return None
        wait = self._wait_for_turn(record, owner)
        if wait is not None:
            return wait
        await self._warm_up.prepare(pod)
        found = second_look(
            self._watch,
            self._chooser,
            pod,
            first,
            placements=self._moves.placements(),
            chance=self._chance(),
        )
        record.take_over(found)
        if found.target is None:
            self._fair.pass_over(owner.namespace)
            record.pause.begin(self._clock())
            await self._recorder.stays(pod, record)
            return record.pause.until - self._clock()
        # While it was prepared, another one of its controller may have gone.
        wait = self._wait_for_turn(record, owner)
        if wait is not None:
            return wait
        return await self._carry_out(pod, record, owner, found.cause, found.target)

    def _wait_for_turn(self, record: Record, owner: Controller) -> float | None:
        refusal = self._moves.refusal(owner)
        if refusal is not None:
            record.outcome = refusal.outcome
            return min(max(refusal.rest or REST_SECONDS, REST_SECONDS), LONGEST_PAUSE_SECONDS)
        record.outcome = Outcome.TURN
        rest = self._fruitless.rest(owner.namespace)
        if rest > 0:
            return max(rest, REST_SECONDS)
        rest = self._window.rest()
        if rest <= 0:
            if self._fair.has(owner.namespace):
                return None
            rest = REST_SECONDS
        self._fair.wait(owner.namespace, rest)
        return rest

    async def _carry_out(
        self, pod: Pod, record: Record, owner: Controller, cause: EvictionCause, target: str
    ) -> float | None:
        """Evict a pod; the turn is taken before anything is awaited, and given back if need be."""
        if self._moves.begin(pod, target, ended=self._recorder.ended) is None:
            return REST_SECONDS
        self._fair.take(owner.namespace)
        turn, kept, began = self._window.take(), False, self._clock()
        try:
            version = await self._may_go(pod, record, cause, target)
            if version is not None:
                kept = True  # Whatever ends this before there is an answer.
                kept = await self._ask(pod, record, target, version)
        finally:
            if kept:
                self._window.done(turn)
            else:
                self._window.give_back(turn)
                self._fruitless.note(owner.namespace, began)
            self._moves.settle(owner, kept=kept and not self._dry_run)
        if record.outcome in {Outcome.EVICTED, Outcome.DRY_RUN}:
            await self._recorder.went(pod, record, target, dry_run=self._dry_run)
            return REST_SECONDS
        if record.outcome in {Outcome.BUDGET, Outcome.UNCONFIRMED}:
            await self._recorder.stays(pod, record)
        return max(record.pause.until - self._clock(), REST_SECONDS)

    async def _may_go(
        self, pod: Pod, record: Record, cause: EvictionCause, target: str
    ) -> str | None:
        """Confirm the lead, and that the pod has to go by what the API server has after that.

        Return the version of the pod for which that is so, None when it is not.
        """
        if not await self._leadership.confirm():
            return None
        looked = await self._last_look.at_breach(self._execution, pod, cause, target)
        if looked.why is not None:
            record.outcome, record.why = Outcome.UNCONFIRMED, looked.why
            record.pause.begin(self._clock())
            self._recorder.count("unconfirmed", pod, record)
            return None
        return looked.version

    async def _ask(self, pod: Pod, record: Record, target: str, version: str) -> bool:
        """Have the API server evict a pod; False when that has certainly not happened."""
        try:
            answer = await self._port.evict(
                pod,
                version=version,
                dry_run=self._dry_run,
                # It may have to wait until it can be sent.
                may_go=lambda: self._leadership.leads and self._may_still_go(pod, record, target),
            )
        except ExtenderError as error:
            record.outcome, record.why = Outcome.FAILED, str(error)
            self._recorder.count("failed", pod, record)
            self._recorder.complain(pod, error)
            record.pause.begin(self._clock())
            # Without a clear no it may have been done, or be done in a while.
            return not (isinstance(error, ApiError) and error.status < WENT_WRONG)
        return self._take_over(pod, record, answer)

    def _may_still_go(self, pod: Pod, record: Record, target: str) -> bool:
        known, choose = self._state.pod(pod.key, pod.uid), self._chooser.choose
        return (
            known is not None
            and not is_only_replica(self._watch, known)
            and self._still(record)
            and choose(known, avoid=(), placements=(), among=[target]) is not None
        )

    def _take_over(self, pod: Pod, record: Record, answer: Eviction) -> bool:
        """Note what the API server has said; return whether it may have evicted, or would have."""
        record.why = answer.why
        owner = pod.controller
        if owner is None:
            return False
        match answer.became:
            case Evicted.REFUSED:
                record.outcome = Outcome.BUDGET
                self._recorder.count("refused", pod, record)
                self._moves.pause(owner, answer.retry_after or 0.0)
                record.pause.begin(self._clock(), answer.retry_after or 0.0)
                return False
            case Evicted.GONE | Evicted.CHANGED:
                self._recorder.count(answer.became.value, pod, record)
                return answer.became is Evicted.GONE
            case Evicted.NOT_SENT:
                return False
            case Evicted.DONE:
                self._moves.pardon(owner)
                self._moves.carry_out(owner)
                record.outcome = Outcome.DRY_RUN if self._dry_run else Outcome.EVICTED
                record.evicted_at = None if self._dry_run else self._clock()
                self._recorder.count("dryRun" if self._dry_run else "evicted", pod, record)
                return True
