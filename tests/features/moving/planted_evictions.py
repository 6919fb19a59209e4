"""Bugs of evictions by rules that hold during execution, planted to see whether they are found."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from http import HTTPStatus
from typing import TYPE_CHECKING, Any

import msgspec

import extender.features.moving.mover
import extender.features.moving.part
import extender.features.moving.record
import extender.features.moving.rules.evicting
from extender.core.controllers.last_look import Looked
from extender.core.controllers.rates import RateLimiter, Turn
from extender.core.kube.calls import pod_path, took_effect
from extender.core.kube.lease import Lease
from extender.core.kube.limits import WITHIN
from extender.core.model.objects import Controller, Pod
from extender.features.moving.eviction import EvictionController
from extender.features.moving.evictor import ApiMover
from extender.features.moving.last_look import LastLookAtMoves
from extender.features.moving.limits import CircuitBreaker, Pauses
from extender.features.moving.mover import EvictionLimits, Mover
from extender.features.moving.moves import Moves
from extender.features.moving.ports import Evicted, Eviction
from extender.features.moving.record import BrokenRules
from extender.features.moving.rules.evicting import Assessment, Fate, Outcome, fate
from extender.features.moving.turns import Notes
from simulation.plan import Plan
from tests.simulation.planting import Planted

if TYPE_CHECKING:
    import pytest

    from extender.core.verbs.nominating import Chooser
    from extender.features.moving.rules.rule_watch import RuleWatch

    Patch = pytest.MonkeyPatch


def _leads_for_ever(patch: Patch) -> None:
    async def confirm(self: Lease) -> bool:
        return self._valid_until > 0.0

    patch.setattr(Lease, "leads", property(lambda self: self._valid_until > 0.0))
    patch.setattr(Lease, "confirm", confirm)


def _confirms_nothing(patch: Patch) -> None:
    async def confirm(self: Lease) -> bool:
        return self.leads

    patch.setattr(Lease, "confirm", confirm)


def _deletes(patch: Patch) -> None:
    async def evict(
        self: ApiMover, pod: Pod, *, version: str, dry_run: bool, may_go: Callable[[], bool]
    ) -> Eviction:
        del version, may_go
        options = {"dryRun": ["All"]} if dry_run else {}
        body = msgspec.json.encode({"preconditions": {"uid": pod.uid}, **options})
        sent = self.client.delete(pod_path(pod.key), body, within=WITHIN.deletion)
        done = await took_effect(sent, unless=frozenset((HTTPStatus.NOT_FOUND,)))
        return Eviction(Evicted.DONE if done else Evicted.GONE)

    patch.setattr(ApiMover, "evict", evict)


def _limits_each_replica(patch: Patch) -> None:
    patch.setattr(Notes, "learn", lambda *_, **__: None)


def _counts_what_is_sure(patch: Patch) -> None:
    patch.setattr(extender.features.moving.mover, "WENT_WRONG", 1_000)


def _counts_nothing(patch: Patch) -> None:
    patch.setattr(RateLimiter, "take", lambda _: Turn(0.0))


def _looks_once(patch: Patch) -> None:
    patch.setattr(EvictionController, "_still", lambda *_: True)
    judge = BrokenRules.judge

    def remembered(self: BrokenRules, identity: object) -> object:
        known = self.records.get(identity.uid)  # type: ignore[attr-defined]
        return known or judge(self, identity)  # type: ignore[arg-type]

    async def trusts(*_: object) -> Looked:
        return Looked()

    patch.setattr(BrokenRules, "judge", remembered)
    patch.setattr(LastLookAtMoves, "at_breach", trusts)


def _moves_all_of_an_owner(patch: Patch) -> None:
    patch.setattr(Moves, "refusal", lambda *_: None)


def _limits(patch: Patch, change: Callable[[int, float, float, bool], EvictionLimits]) -> None:
    patch.setattr(extender.features.moving.part, "EvictionLimits", change)


def _waits_for_nothing(patch: Patch) -> None:
    _limits(patch, lambda most, _, share, dry_run: EvictionLimits(most, 0.0, share, dry_run))


def _never_runs_dry(patch: Patch) -> None:
    _limits(patch, lambda most, grace, share, _: EvictionLimits(most, grace, share, dry_run=False))


def _never_pauses(patch: Patch) -> None:
    patch.setattr(CircuitBreaker, "judge", lambda *_: Pauses())


def _takes_anybody_for_an_owner(patch: Patch) -> None:
    judge, controller = fate, Pod.controller

    def goes(*about: Any) -> Fate:
        found = judge(*about)
        nobody = found.outcome is Outcome.NO_CONTROLLER
        return replace(found, outcome=Outcome.GOES) if nobody else found

    def anybody(self: Pod) -> Controller:
        known: Controller | None = controller.__get__(self)
        return known or Controller("nowhere", self.uid)

    patch.setattr(extender.features.moving.rules.evicting, "fate", goes)
    patch.setattr(extender.features.moving.record, "fate", goes)
    patch.setattr(Pod, "controller", property(anybody))


def _looks_for_no_node(patch: Patch) -> None:
    def anywhere(
        _: RuleWatch, __: Chooser, pod: Pod, first: Assessment, **___: object
    ) -> Assessment:
        return Assessment(Outcome.GOES, first.cause, pod.node)

    patch.setattr(extender.features.moving.mover, "second_look", anywhere)
    patch.setattr(Mover, "_may_still_go", lambda *_: True)


def _takes_any_successor_for_ready(patch: Patch) -> None:
    patch.setattr(Moves, "_is_ready", lambda *_: True)
    patch.setattr(Moves, "_owes", lambda *_: False)


def _moves_the_only_replica(patch: Patch) -> None:
    for module in (extender.features.moving.mover, extender.features.moving.rules.evicting):
        patch.setattr(module, "is_only_replica", lambda *_: False)


def _evicts_both(patch: Patch) -> None:
    patch.setattr(extender.features.moving.rules.evicting, "_pushes", lambda *_: True)


def _notices_nothing(patch: Patch) -> None:
    def news(_: BrokenRules) -> Iterator[str | None]:
        return iter(())

    patch.setattr(BrokenRules, "news", news)


MANY = "too many evictions in a minute"
TWO = "two pods of an owner"
TWICE = "two replicas evict"
MISSING = "another is missing"
CAUSE = "evicted without a cause"
EARLY = "evicted within the grace period"

FEW = 2
"""Evictions in a minute, of which one is soon one too many."""


def _evicts(plan: Plan) -> bool:
    return plan.setup.evicting is not None


def _evicts_in_a_dry_run(plan: Plan) -> bool:
    evicting = plan.setup.evicting
    return evicting is not None and evicting.dry_run


def _evicts_with_unclear_ends(plan: Plan) -> bool:
    evicting, faults = plan.setup.evicting, {each.what for each in plan.actions}
    return evicting is not None and evicting.per_minute <= FEW and "unsure evictions" in faults


EVICTIONS: Mapping[str, Planted] = {
    name: Planted(plant, breaks, _evicts)
    for name, (plant, breaks) in {
        "leads for ever": (_leads_for_ever, {TWICE, MANY, TWO, MISSING}),
        "confirms no lead": (_confirms_nothing, {TWICE, MANY, TWO, MISSING}),
        "deletes instead of evicting": (_deletes, {"evicted without a mark"}),
        "limits each replica by itself": (_limits_each_replica, {MANY, MISSING}),
        "counts no eviction": (_counts_nothing, {MANY}),
        "does not look again": (_looks_once, {CAUSE, EARLY}),
        "moves all pods of an owner": (_moves_all_of_an_owner, {TWO, MISSING}),
        "takes any successor for ready": (_takes_any_successor_for_ready, {MISSING}),
        "moves the only replica": (_moves_the_only_replica, {"the only replica"}),
        "waits for no grace period": (_waits_for_nothing, {EARLY}),
        "never pauses": (_never_pauses, {"evicted while paused"}),
        "evicts pods of nobody": (_takes_anybody_for_an_owner, {"evicted without a controller"}),
        "looks for no other node": (_looks_for_no_node, {"evicted with nowhere to go"}),
        "evicts both of two": (_evicts_both, {"evicted in the place of others"}),
        "notices nothing": (_notices_nothing, {"violation not cured"}),
    }.items()
} | {
    "counts only what is sure": Planted(
        _counts_what_is_sure, {MANY, TWO, MISSING}, _evicts_with_unclear_ends
    ),
    "never runs dry": Planted(_never_runs_dry, {"evicted in a dry run"}, _evicts_in_a_dry_run),
}
