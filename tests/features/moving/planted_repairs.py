"""Bugs of moves for preferred rules, planted to see whether they are found."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

import extender.features.moving.part
import extender.features.moving.rules.improving
from extender.core.controllers.rates import RateLimiter, Turn
from extender.core.kube.lease import Lease
from extender.core.verbs.nominating import Chooser
from extender.features.moving.moves import Moves, Refusal
from extender.features.moving.repair import RepairController
from extender.features.moving.repair_mover import RepairLimits
from extender.features.moving.rules.evicting import Outcome
from simulation.plan import Plan, make_repairing_plan
from tests.simulation.planting import Planted

if TYPE_CHECKING:
    from extender.core.model.objects import Controller
    from extender.features.moving.repair_mover import Prospect
Patch = pytest.MonkeyPatch


def _refuses_all_but(patch: Patch, *left_out: Outcome) -> None:
    refusal = Moves.refusal

    def refuses(self: Moves, owner: Controller) -> Refusal | None:
        found = refusal(self, owner)
        return None if found is None or found.outcome in left_out else found

    patch.setattr(Moves, "refusal", refuses)


def _never_rests(patch: Patch) -> None:
    _refuses_all_but(patch, Outcome.RESTS)


def _never_settles(patch: Patch) -> None:
    def at_once(min_gain: int, _: float, rest: float) -> RepairLimits:
        return RepairLimits(min_gain, 0.0, rest)

    patch.setattr(extender.features.moving.part, "RepairLimits", at_once)


def _keeps_what_it_knew_without_the_lead(patch: Patch) -> None:
    def look(self: RepairController) -> None:
        self._led = self._leadership.leads

    patch.setattr(RepairController, "_look_at_lead", look)


def _takes_no_lock(patch: Patch) -> None:
    patch.setattr(Moves, "refusal", lambda *_: None)


def _sees_nobody_leave(patch: Patch) -> None:
    _refuses_all_but(patch, Outcome.OWNER_BUSY)


def _forgets_with_the_lead(patch: Patch) -> None:
    patch.setattr(Moves, "inherit", lambda *_: None)


def _takes_no_turn(patch: Patch) -> None:
    patch.setattr(RateLimiter, "take", lambda _: Turn(0.0))


def _counts_no_hour(patch: Patch) -> None:
    patch.setattr(RepairController, "_moved_enough", lambda *_: False)


def _moves_anybody(patch: Patch) -> None:
    patch.setattr(extender.features.moving.rules.improving, "stays", lambda _: None)


def _leaves_others_alone(patch: Patch) -> None:
    patch.setattr(extender.features.moving.rules.improving, "keys_to_keep", lambda *_: ())


def _looks_for_no_room(patch: Patch) -> None:
    def first(*_: object, among: list[str], **__: object) -> str:
        return among[0]

    patch.setattr(Chooser, "choose", first)
    patch.setattr(Chooser, "takers", lambda self, *_: self.everywhere().names)


def _takes_any_gain(patch: Patch) -> None:
    def any_gain(_: int, settle: float, rest: float) -> RepairLimits:
        return RepairLimits(-100, settle, rest)

    patch.setattr(extender.features.moving.part, "RepairLimits", any_gain)


def _confirms_nothing(patch: Patch) -> None:
    async def confirm(self: Lease) -> bool:
        return self._valid_until > 0.0

    patch.setattr(Lease, "leads", property(lambda self: self._valid_until > 0.0))
    patch.setattr(Lease, "confirm", confirm)


def _begins_anew_each_round(patch: Patch) -> None:
    consider = RepairController._consider

    async def later(self: RepairController, owner: Any, known: Prospect) -> None:
        known.since = self._clock()
        await consider(self, owner, known)

    patch.setattr(RepairController, "_consider", later)


GAIN = "moved without a gain"
RESTED = "moved before it rested"
SETTLED = "moved before it settled"
TWO = "two pods of an owner"
TWICE = "two replicas evict"
MISSING = "another is missing"
HOURLY = "too many moves in an hour"
MANY = "too many evictions in a minute"


def _counts_hours(plan: Plan) -> bool:
    repairing = plan.setup.repairing
    return repairing is not None and repairing.percent < 100


def _has_few_turns(plan: Plan) -> bool:
    repairing = plan.setup.repairing
    return repairing is not None and repairing.per_minute <= 4


REPAIRS: Mapping[str, Planted] = {
    name: replace(planted, plan=make_repairing_plan)
    for name, planted in {
        "never rests": Planted(_never_rests, {RESTED}),
        "moves at once": Planted(_never_settles, {SETTLED}),
        "keeps what it knew without the lead": Planted(
            _keeps_what_it_knew_without_the_lead, {SETTLED}
        ),
        "takes no lock of an owner": Planted(_takes_no_lock, {TWO, RESTED, MISSING}),
        "sees nobody leave or wait": Planted(_sees_nobody_leave, {TWO, MISSING}),
        "forgets all with the lead": Planted(
            _forgets_with_the_lead, {HOURLY, RESTED, MISSING}, _counts_hours
        ),
        "takes no turn": Planted(_takes_no_turn, {MANY}, _has_few_turns),
        "counts no moves of an hour": Planted(_counts_no_hour, {HOURLY}, _counts_hours),
        "moves pods that have to stay": Planted(_moves_anybody, {"moved though it has to stay"}),
        "leaves others without company": Planted(_leaves_others_alone, {GAIN}),
        "looks for no room": Planted(_looks_for_no_room, {"moved with nowhere to go"}),
        "moves for any gain": Planted(_takes_any_gain, {GAIN}),
        "moves without the lead": Planted(
            _confirms_nothing, {"two replicas evict", SETTLED, TWO, MANY, MISSING}
        ),
        "begins to wait anew": Planted(_begins_anew_each_round, {"left where it is"}),
    }.items()
}
