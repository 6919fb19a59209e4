"""Moves pods that sit worse than they have to by preferred rules: few, seldom, never to and fro.

In rounds it looks for the pod of each controller that would gain most on another node. Where that
stays so, the pod is evicted, and its successor is given points for nothing but the nodes that suit
it best. One move of a controller at a time (`moves.py`).

Each move raises the sum of what all pods' places are worth, by the margin at least: what a term
says of a pair of pods counts in `total` whichever of them moves. Moves in one namespace that change
each other's gain wait for each other, for a minute at most. Two others may cancel each other's
gain. Then neither has landed (one that has keeps the margin beside the other, which raises the
sum), so both controllers rest, and longer each time.
"""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Callable, Iterable
from typing import Final, NoReturn

from extender.core.controllers.context import ControllerContext
from extender.core.model.objects import Controller, Pod
from extender.core.ports import Check
from extender.core.timing import LogThrottle
from extender.core.verbs.interaction import prefer
from extender.core.warm_up import OverBudgetError
from extender.features.moving.limits import EVERYBODY, share_of
from extender.features.moving.mover import EvictionLimits
from extender.features.moving.moves import DAY, REPLACED_SECONDS
from extender.features.moving.repair_mover import Prospect, RepairLimits, RepairMover
from extender.features.moving.rules.evicting import Outcome, is_only_replica
from extender.features.moving.rules.improving import Improvement, best_improvement
from extender.features.moving.shared import Shared
from extender.features.moving.turns import EvictionTurns

ROUND_SECONDS: Final = 1.0
SLICE_SECONDS: Final = 0.002
PAUSE: Final = 19
"""A pause lasts this many times as long as the work before it: a twentieth of a core. With 150,000
replicas of 500 apps on 5,000 nodes, a round takes 2.6 s of it, and so the better part of a
minute."""
MOST_CONTROLLERS: Final = 10_000
"""Controllers that are kept in mind; others come later."""

MOST_AT_ONCE: Final = 100
"""Of these, how many are considered between two turns for other work: a millisecond or two."""

_log = logging.getLogger(__name__)


class RepairController:
    """Looks for such pods in a task of its own, and moves them."""

    def __init__(
        self,
        context: ControllerContext,
        shared: Shared,
        turns: EvictionTurns,
        *,
        limits: RepairLimits,
        eviction: EvictionLimits,
        asks: Callable[[str], bool],
        holds: Callable[[str], bool],
        unready: Check,
    ) -> None:
        """Of `eviction`, the limits hold for these moves as well; `turns` are shared with it.

        `asks` tells whether a scheduler, which would place the successor, asks for scores; `holds`
        whether no pod of a namespace goes, as too many break rules that hold during execution.
        """
        state, clocks = context.state, context.clocks
        self._state, self._books = state, shared.books
        self._clock, self._sleep = clocks.clock, clocks.sleep
        self._rows = shared.rows
        self._warm_up = context.warm_up
        self._leadership, self._moves = turns.leadership, turns.moves
        self._turns = turns
        self._asks, self._holds = asks, holds
        self._limits, self._eviction = limits, eviction
        self._unready = unready
        self._mover = RepairMover(
            context,
            shared,
            turns,
            lambda space: self._leadership.leads and self._is_sure() and not holds(space),
            limits=limits,
            dry_run=eviction.dry_run,
        )
        self._prospects: dict[Controller, Prospect] = {}
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
        while True:
            try:
                await self.round()
            except Exception as error:  # noqa: BLE001 - the next round may fare better
                self._throttle.log(
                    logging.ERROR, type(error).__name__, "a round of moves failed", exc_info=error
                )
            await self._sleep(ROUND_SECONDS)

    async def round(self) -> None:
        if not self._is_sure():
            return
        self._look_at_lead()
        self._moves.look()
        found = await self._look()
        now = self._clock()
        for owner, known in list(self._prospects.items()):
            known.found = found.get(owner)
            if known.found is None:
                known.since = now
                if known.rests_until <= now:
                    del self._prospects[owner]
        for owner in self._kept(found):
            self._prospects.setdefault(owner, Prospect(now)).found = found[owner]
        self._look_out()
        for number, owner in enumerate(self._in_turn(), start=1):
            await self._consider(owner, self._prospects[owner])
            if number % MOST_AT_ONCE == 0:
                await self._sleep(0)
        self._publish()

    def _kept(self, found: Iterable[Controller]) -> Iterable[Controller]:
        """Return those that are kept in mind; of too many, as many of each namespace."""
        known = sorted(found, key=lambda owner: owner not in self._prospects)
        if len(known) <= MOST_CONTROLLERS:
            return known
        beside = Counter[str]()
        places: dict[Controller, int] = {}
        for owner in known:
            places[owner] = beside[owner.namespace]
            beside[owner.namespace] += 1
        kept = sorted(known, key=lambda owner: places[owner])[:MOST_CONTROLLERS]
        for owner in self._prospects.keys() - set(kept):
            if self._prospects[owner].rests_until <= self._clock():
                del self._prospects[owner]
        return kept

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
        self._books.successors.expect_of(frozenset(likely))

    async def _look(self) -> dict[Controller, Improvement]:
        """Return the best move for each controller; in steps, for others have their turns."""
        found: dict[Controller, Improvement] = {}
        began = self._clock()
        for placed in list(self._state.placed_classes):
            for each in best_improvement(
                self._state, self._mover.chooser, placed, self._limits.min_gain, self._may_move
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

    def _may_move(self, pod: Pod) -> bool:
        return self._asks(pod.spec.requirements.scheduler)

    def _in_turn(self) -> list[Controller]:
        """Return whom to look at; first those whose namespace has had no move for the longest."""
        due = [owner for owner, each in self._prospects.items() if each.found is not None]
        served = self._moves.hour.latest
        return sorted(due, key=lambda owner: served.get(owner.namespace, 0.0))

    def _is_sure(self) -> bool:
        return self._unready() is None and self._state.stale is None

    def _look_at_lead(self) -> None:
        """Begin to wait anew with the lead: what is better now may be so because of a move."""
        leads = self._leadership.leads
        if leads and not self._led:
            for each in self._prospects.values():
                each.since = self._clock()
        self._led = leads

    # One controller

    async def _consider(self, owner: Controller, known: Prospect) -> None:
        found = known.found
        if found is None:
            return
        if self._clock() < known.rests_until:
            # What came of the last attempt says more.
            return
        outcome = self._whether(owner, known, found.pod)
        known.outcome, known.why = outcome, ""
        if outcome is not Outcome.GOES:
            return
        try:
            await self._warm_up.prepare(found.pod)
        except OverBudgetError as error:
            known.outcome, known.why = Outcome.FAILED, str(error)
            known.rests_until = self._clock() + self._limits.rest_seconds
            return
        # Of all that has passed meanwhile, the moves of others among it.
        again = self._mover.better_place(found.pod)
        known.outcome = Outcome.UNCONFIRMED if again is None else self._turn(owner, again.pod)
        if again is not None and known.outcome is Outcome.GOES:
            await self._move(owner, known, again)

    def _whether(self, owner: Controller, known: Prospect, pod: Pod) -> Outcome:
        if not (self._led and self._leadership.leads):
            return Outcome.STANDBY
        if self._clock() - known.since < self._limits.settle_seconds:
            return Outcome.GRACE
        return self._turn(owner, pod)

    def _turn(self, owner: Controller, pod: Pod) -> Outcome:
        """Say whether a pod of a controller may go beside what else is moved."""
        refusal = self._moves.refusal(owner)
        if refusal is not None:
            return refusal.outcome
        mine = pod.pod_class
        others = (each.pod_class for each in self._moves.unplaced(owner.namespace))
        if any(prefer(self._state, each, mine) for each in others):
            return Outcome.OWNER_BUSY
        if is_only_replica(self._books.watch, pod):
            return Outcome.ONLY_REPLICA
        if (
            self._turns.window.recent >= max(1, self._eviction.per_minute // 2)
            or self._turns.fruitless.rest(owner.namespace) > 0
        ):
            return Outcome.TURN
        paused = self._holds(owner.namespace) or self._moved_enough(owner.namespace)
        return Outcome.PAUSED if paused else Outcome.GOES

    def _moved_enough(self, namespace: str) -> bool:
        """Return whether in the last hour as many were moved as may be; half of it in one place.

        So a tenant with some namespaces does not take the moves of all others.
        """
        share = self._eviction.max_affected
        if share >= EVERYBODY:
            return False
        hour, most = self._moves.hour.moves, max(1, share_of(self._books.placed, share))
        return sum(hour.values()) >= most or hour.get(namespace, 0) >= (most + 1) // 2

    async def _move(self, owner: Controller, known: Prospect, move: Improvement) -> None:
        """Evict a pod; its turn is taken before anything is awaited, and given back if need be."""
        window = self._turns.window
        if not self._mover.begin(move):
            return
        # The lead is confirmed after this: should it pass on, the next leader has heard of it.
        turn, kept, began = window.take(), False, self._clock()
        move_of_hour = self._moves.hour.take(owner.namespace)
        try:
            version = await self._mover.confirm(known, move)
            if version is not None:
                kept = True  # Whatever ends this before there is an answer.
                kept = await self._mover.evict(owner, known, move, version)
        finally:
            if kept:
                window.done(turn)
            else:
                window.give_back(turn)
                self._moves.hour.give_back(move_of_hour)
                self._turns.fruitless.note(owner.namespace, began)
            self._moves.settle(owner, kept=kept and not self._eviction.dry_run)
        if kept and self._eviction.dry_run:
            # What would be moved is told once a day, not once a rest.
            known.rests_until = self._clock() + DAY
        elif not kept and known.rests_until <= self._clock():
            known.rests_until = self._clock() + self._limits.rest_seconds

    def _publish(self) -> None:
        self._rows.repairable.set(len(self.prospects))
        self._rows.leader.set(self._leadership.leads)
