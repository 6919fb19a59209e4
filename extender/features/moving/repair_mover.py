"""Evicts one pod for its preferred rules, after a last look, and tells how its successor fared."""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from extender.core.controllers.context import ControllerContext
from extender.core.controllers.history import EVICTION
from extender.core.errors import ApiError, ExtenderError
from extender.core.model.objects import Controller, Pod
from extender.core.ports import Occurrence
from extender.core.timing import LogThrottle
from extender.features.moving.last_look import LastLookAtMoves
from extender.features.moving.mover import WENT_WRONG
from extender.features.moving.moves import End, Move
from extender.features.moving.ports import Evicted, Eviction
from extender.features.moving.rows import MOVES
from extender.features.moving.rules.evicting import Outcome, is_only_replica
from extender.features.moving.rules.improving import (
    Improvement,
    chooser_of_places,
    gain_on,
    improvement,
)
from extender.features.moving.shared import Shared
from extender.features.moving.turns import EvictionTurns

REASON: Final = "PreferredDuringExecution"
"""The name under which evictions are counted, as of a plugin."""

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class RepairLimits:
    """What is worth a move, and how soon and how often."""

    min_gain: int
    settle_seconds: float
    rest_seconds: float


@dataclass(slots=True, eq=False)
class Prospect:
    """What is known of a controller with a pod that would sit better elsewhere."""

    since: float
    """From when on there was such a pod in each round."""
    found: Improvement | None = None
    """As the last round had it; None while it rests and no pod would sit better."""
    outcome: Outcome = Outcome.GRACE
    why: str = ""
    rests_until: float = 0.0
    """After an attempt that evicted no pod; after one that did, `Moves` says for how long."""


class RepairMover:
    """Evicts pods one after the other; whose turn it is, is not for it to say."""

    def __init__(
        self,
        context: ControllerContext,
        shared: Shared,
        turns: EvictionTurns,
        may_go: Callable[[str], bool],
        *,
        limits: RepairLimits,
        dry_run: bool,
    ) -> None:
        """`may_go` is asked about a namespace at the last moment before an eviction is sent."""
        self._state, self._watch = context.state, shared.books.watch
        self._port = shared.port
        self._turns = turns
        self.chooser = chooser_of_places(context.state, context.plugins)
        self._may_go = may_go
        self._min_gain, self._rest = limits.min_gain, limits.rest_seconds
        self._dry_run = dry_run
        self._evictions, self._repairs = context.metrics.evictions, shared.rows.repairs
        self._history = context.history
        self._last_look = LastLookAtMoves(shared.books.watch, shared.port.objects)
        self._throttle = LogThrottle(_log)
        self._evictions.begin((REASON,), MOVES)

    def begin(self, move: Improvement) -> bool:
        """Note that a pod goes, and that its successor is to sit better; False if it may not go."""
        begun = self._turns.moves.begin(
            move.pod,
            move.target,
            rest=self._rest,
            steered=True,
            ended=self._ended,
            landed=self._has_landed,
        )
        return begun is not None

    def _ended(self, move: Move, end: End) -> None:
        result = {End.LANDED: "landed", End.UNDONE: "undone"}.get(end, "missed")
        self._repairs.count(result)
        note = end.words if end.misses else ""
        self._history.note(EVICTION, result, move.pod.key, move.target, note)

    def _has_landed(self, move: Move) -> bool:
        """Return whether the successor sits better than it would where the pod was."""
        seen = move.succession.successor
        known = None if seen is None else self._state.pod(seen.key, seen.uid)
        if known is None or known.node is None:
            return False
        back = gain_on(self._state, self.chooser, known, move.pod.node or "")
        return back is None or back <= -self._min_gain

    def better_place(self, pod: Pod) -> Improvement | None:
        """Return where a pod would sit better now, beside those that are expected somewhere."""
        placements = self._turns.moves.placements()
        return improvement(self._state, self.chooser, pod, self._min_gain, placements=placements)

    async def confirm(self, known: Prospect, move: Improvement) -> str | None:
        """Confirm the lead, and then what the API server has of a pod and its nodes.

        Return the version of the pod for which it may go, None where it may not.
        """
        if not await self._turns.leadership.confirm():
            known.outcome = Outcome.STANDBY
            return None
        looked = await self._last_look.at_move(move.pod, move.target)
        if looked.why is not None:
            known.outcome, known.why = Outcome.UNCONFIRMED, looked.why
            self._count("unconfirmed", move, looked.why)
            return None
        return looked.version

    async def evict(
        self, owner: Controller, known: Prospect, move: Improvement, version: str
    ) -> bool:
        """Have the API server evict a pod; False when that has certainly not happened."""
        try:
            answer = await self._port.evict(
                move.pod,
                version=version,
                dry_run=self._dry_run,
                may_go=lambda: self._may_go(owner.namespace) and self._still(move),
            )
        except ExtenderError as error:
            known.outcome, known.why = Outcome.FAILED, str(error)
            self._count("failed", move, str(error))
            return not (isinstance(error, ApiError) and error.status < WENT_WRONG)
        return await self._take_over(owner, known, move, answer)

    def _still(self, move: Improvement) -> bool:
        known = self._state.pod(move.pod.key, move.pod.uid)
        if known is None or known.status.deleting or known.node != move.pod.node:
            return False
        if is_only_replica(self._watch, known):
            return False
        return self.better_place(known) is not None

    async def _take_over(
        self, owner: Controller, known: Prospect, move: Improvement, answer: Eviction
    ) -> bool:
        """Note what the API server has said; return whether it may have evicted, or would have."""
        match answer.became:
            case Evicted.REFUSED:
                known.outcome, known.why = Outcome.BUDGET, answer.why
                self._count("refused", move, answer.why)
                self._turns.moves.pause(owner, answer.retry_after or 0.0)
                return False
            case Evicted.GONE | Evicted.CHANGED:
                self._count(answer.became.value, move, answer.why)
                return answer.became is Evicted.GONE
            case Evicted.NOT_SENT:
                return False
            case Evicted.DONE:
                dry = self._dry_run
                self._turns.moves.pardon(owner)
                self._turns.moves.carry_out(owner)
                known.outcome = Outcome.DRY_RUN if dry else Outcome.EVICTED
                self._count("dryRun" if dry else "evicted", move, said(move))
                await self._tell(move)
                return True

    async def _tell(self, move: Improvement) -> None:
        dry = self._dry_run
        note = f"{said(move)}; {'would be evicted (dry run)' if dry else 'evicted'} now"
        reason = "WouldEvict" if dry else "Evicted"
        _log.info("%s: %s, for node %s", move.pod.key, note, move.target)
        occurrence = Occurrence(f"{reason}ByPreferredRule", "Evicting", note)
        try:
            await self._port.report(move.pod, occurrence)
        except ExtenderError as error:
            self._throttle.log(logging.WARNING, type(error).__name__, "no Event: %s", error)

    def _count(self, result: str, move: Improvement, note: str) -> None:
        self._evictions.count(REASON, result)
        self._history.note(EVICTION, result, move.pod.key, move.pod.node, note)


def said(move: Improvement) -> str:
    """Say what a pod gains, in words that name no node."""
    return (
        f"its preferred rules are met better on another node, by {move.own} in their weights "
        f"({move.total} with those of other pods)"
    )
