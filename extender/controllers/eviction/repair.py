"""Moves pods that sit worse than they have to by preferred rules: few, seldom, never to and fro.

In rounds it looks for the pod of each controller that would gain most on another node. Where that
stays so, the pod is evicted, and its successor is given points for nothing but the nodes that suit
it best. One move of a controller at a time; after it, the controller rests, and longer after each
successor that did not find a better place.
"""

from __future__ import annotations

import logging
from collections import deque
from typing import Final, NoReturn

from extender.cluster.ledgers.successors import Succession
from extender.controllers.context import ControllerContext
from extender.controllers.eviction.moving import EvictionLimits
from extender.controllers.eviction.owner_locks import EVERYBODY, REPLACED_SECONDS, EvictionTurns
from extender.controllers.eviction.repair_mover import Prospect, RepairLimits, RepairMover
from extender.controllers.history import HOUR, Kind
from extender.model.objects import Controller, PodClass
from extender.ports import Check, PodMover
from extender.timing import LogThrottle
from extender.verbs.evicting import Outcome
from extender.verbs.interaction import prefer
from extender.verbs.repair import Improvement, best_improvement
from extender.warm_up import OverBudgetError

ROUND_SECONDS: Final = 1.0
"""Between two rounds."""
SLICE_SECONDS: Final = 0.002
PAUSE: Final = 19
"""After so long, a pause so many times as long: a twentieth of a core. With 150,000 replicas of 500
apps on 5,000 nodes, a round takes 2.6 s of it, and so the better part of a minute."""
MOST_CONTROLLERS: Final = 10_000
"""Controllers that are kept in mind; others come later."""
LONGEST_REST_SECONDS: Final = 86_400.0
MISS: Final = 4
"""How many times longer a controller rests after each move that was for nothing."""

_log = logging.getLogger(__name__)


class RepairController:
    """Looks for such pods in a task of its own, and moves them."""

    def __init__(
        self,
        context: ControllerContext,
        mover: PodMover,
        turns: EvictionTurns,
        *,
        limits: RepairLimits,
        eviction: EvictionLimits,
        unready: Check,
    ) -> None:
        """Of `eviction`, the limits hold for these moves as well; `turns` are shared with it."""
        state, clocks = context.state, context.clocks
        self._state = state
        self._clock, self._sleep = clocks.clock, clocks.sleep
        self._metrics, self._history = context.metrics, context.history
        self._warm_up = context.warm_up
        self._leadership = turns.leadership
        self._turns = turns
        self._limits, self._eviction = limits, eviction
        self._unready = unready
        self._mover = RepairMover(
            context,
            mover,
            turns,
            lambda: self._leadership.leads and self._is_sure(),
            min_gain=limits.min_gain,
            dry_run=eviction.dry_run,
        )
        self._prospects: dict[Controller, Prospect] = {}
        self._moves: dict[Controller, tuple[Succession, Improvement]] = {}
        self._hour: deque[tuple[float, str]] = deque()
        """When a pod was moved in the last hour, and in which namespace."""
        self._likely: dict[Controller, float] = {}
        """The controllers of which a pod may be moved, and until when."""
        self._led = False
        self._throttle = LogThrottle(_log)

    @property
    def prospects(self) -> list[tuple[Improvement, Prospect]]:
        """Return for which pod of each controller another node is better, and what keeps it."""
        known = self._prospects.values()
        return [(each.found, each) for each in known if each.found is not None]

    async def run(self) -> NoReturn:
        """Look, and move, for as long as the program runs."""
        while True:
            try:
                await self.round()
            except Exception as error:  # noqa: BLE001 - the next round may fare better
                self._throttle.log(
                    logging.ERROR, type(error).__name__, "a round of moves failed", exc_info=error
                )
            await self._sleep(ROUND_SECONDS)

    async def round(self) -> None:
        """Look at every class once, and move whoever is due."""
        if not self._is_sure():
            return
        self._look_at_lead()
        self._end_moves()
        found = await self._look()
        now = self._clock()
        for owner, known in list(self._prospects.items()):
            known.found = found.get(owner)
            if known.found is None:
                known.since = now
                # Who has missed is remembered: while it is replaced there is nothing to be found.
                kept = LONGEST_REST_SECONDS if known.misses else 0.0
                if owner not in self._moves and known.rests_until + kept <= now:
                    del self._prospects[owner]
        for owner, best in found.items():
            if owner in self._prospects or len(self._prospects) < MOST_CONTROLLERS:
                self._prospects.setdefault(owner, Prospect(now)).found = best
        self._look_out()
        for owner in self._in_turn():
            await self._consider(owner, self._prospects[owner])
        self._publish()

    def _look_out(self) -> None:
        """Have successors scored here, too, of pods that another replica moves.

        The scheduler may ask any replica, and only the one with the lead knows when it evicts.
        """
        now = self._clock()
        for owner, each in self._prospects.items():
            if each.found is not None and now - each.since >= self._limits.settle_seconds:
                self._likely[owner] = now + REPLACED_SECONDS
        self._likely = {owner: until for owner, until in self._likely.items() if until > now}
        likely = () if self._led or self._eviction.dry_run else self._likely
        self._state.expect_successors_of(frozenset(likely))

    async def _look(self) -> dict[Controller, Improvement]:
        """Return the best move for each controller; in steps, for others have their turns."""
        found: dict[Controller, Improvement] = {}
        began = self._clock()
        for placed in list(self._state.placed_classes):
            for each in best_improvement(
                self._state, self._mover.chooser, placed, self._limits.min_gain
            ):
                owner = None if each is None else each.pod.controller
                if each is not None and owner is not None:
                    known = found.get(owner)
                    if known is None or each.rank > known.rank:
                        found[owner] = each
                spent = self._clock() - began
                if spent >= SLICE_SECONDS:
                    await self._sleep(PAUSE * spent)
                    began = self._clock()
        return found

    def _in_turn(self) -> list[Controller]:
        """Return whom to look at; first those whose namespace has had no move for the longest."""
        due = [owner for owner, each in self._prospects.items() if each.found is not None]
        served = {name: at for at, name in self._hour}
        return sorted(due, key=lambda owner: served.get(owner.namespace, 0.0))

    def _is_sure(self) -> bool:
        return self._unready() is None and self._state.stale is None

    def _look_at_lead(self) -> None:
        """Begin to wait anew with the lead: nobody knows whom the last leader has moved."""
        leads = self._leadership.leads
        if leads and not self._led:
            if self._turns.window.recent < self._leadership.inherited:
                self._turns.window.fill(self._leadership.inherited)
            for each in self._prospects.values():
                each.since = self._clock()
        self._led = leads

    # What became of moves

    def _end_moves(self) -> None:
        for owner, (succession, move) in list(self._moves.items()):
            if self._turns.locks.busy(owner):
                continue
            del self._moves[owner]
            self._state.end_succession(owner)
            known = self._prospects.setdefault(owner, Prospect(self._clock()))
            known.misses = 0 if self._mover.has_landed(succession, move) else known.misses + 1
            result = "missed" if known.misses else "landed"
            self._metrics.repairs.count(result)
            self._history.note(Kind.EVICTION, result, move.pod.key, move.target)
            known.outcome = Outcome.RESTS
            self._rest(known)

    def _rest(self, known: Prospect) -> None:
        seconds = self._limits.rest_seconds * MISS**known.misses
        known.rests_until = self._clock() + min(seconds, LONGEST_REST_SECONDS)

    # One controller

    async def _consider(self, owner: Controller, known: Prospect) -> None:
        found = known.found
        if found is None:
            return
        outcome = self._whether(owner, known, found)
        if outcome is Outcome.RESTS:
            # What came of the last attempt says more.
            return
        known.outcome, known.why = outcome, ""
        if outcome is not Outcome.GOES:
            return
        try:
            await self._warm_up.prepare(found.pod)
        except OverBudgetError as error:
            known.outcome, known.why = Outcome.FAILED, str(error)
            self._rest(known)
            return
        # Of all that has passed meanwhile, the moves of others among it.
        again = self._mover.better_place(found.pod)
        if again is None:
            known.outcome = Outcome.UNCONFIRMED
            return
        await self._move(owner, known, again)

    def _whether(self, owner: Controller, known: Prospect, found: Improvement) -> Outcome:
        """Say whether a pod goes now, and why not."""
        now = self._clock()
        if not (self._led and self._leadership.leads):
            return Outcome.STANDBY
        if now - known.since < self._limits.settle_seconds:
            return Outcome.GRACE
        return Outcome.RESTS if now < known.rests_until else self._turn(owner, found.pod.pod_class)

    def _turn(self, owner: Controller, mine: PodClass) -> Outcome:
        """Say whether a pod of a controller may go beside what else is moved."""
        locks = self._turns.locks
        others = (move.pod.pod_class for _, move in self._moves.values())
        if locks.busy(owner) or any(prefer(self._state, each, mine) for each in others):
            return Outcome.OWNER_BUSY
        if locks.paused(owner):
            return Outcome.BUDGET
        if self._turns.window.recent >= max(1, self._eviction.per_minute // 2):
            return Outcome.TURN
        return Outcome.PAUSED if self._moved_enough(owner.namespace) else Outcome.GOES

    def _moved_enough(self, namespace: str) -> bool:
        """Return whether in the last hour as many were moved as may be; half of it in one place.

        So whoever owns some namespaces does not take the moves of all others.
        """
        while self._hour and self._hour[0][0] <= self._clock() - HOUR:
            self._hour.popleft()
        share = self._eviction.max_affected
        if share >= EVERYBODY:
            return False
        most = max(1, int(share * len(self._state.pods)))
        own = sum(name == namespace for _, name in self._hour)
        return len(self._hour) >= most or own >= (most + 1) // 2

    async def _move(self, owner: Controller, known: Prospect, move: Improvement) -> None:
        """Evict a pod; its turn is taken before anything is awaited, and given back if need be."""
        window, locks, pod = self._turns.window, self._turns.locks, move.pod
        window.take()
        locks.begin(owner, pod, move.target)
        succession = self._state.expect_successor(pod)
        kept = False
        try:
            kept = await self._mover.carry_out(owner, known, move)
        finally:
            if kept:
                window.done()
            else:
                window.give_back()
            if not kept or self._eviction.dry_run:
                locks.end(owner)
                self._state.end_succession(owner)
        if kept:
            self._hour.append((self._clock(), owner.namespace))
            if self._eviction.dry_run:
                # What would be moved is told once a day, not once a rest.
                known.rests_until = self._clock() + LONGEST_REST_SECONDS
            else:
                self._moves[owner] = succession, move
        elif known.rests_until <= self._clock():
            self._rest(known)

    def _publish(self) -> None:
        self._metrics.repairable.set(len(self.prospects))
        self._metrics.evictions_leader.set(self._leadership.leads)
