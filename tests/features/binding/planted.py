"""Bugs of bind, planted in the simulation to see whether they are found."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec
import pytest

import extender.features.binding.binder
import extender.features.binding.binds
import extender.features.binding.rules
from extender.core.cluster.state import ClusterState
from extender.core.kube.watchers import Watchers
from extender.core.model.objects import Pod
from extender.core.verbs.plugins import Plugins
from extender.features.binding.binder import Binder
from extender.features.binding.outcome import BindOutcome, Bound
from extender.features.binding.rules import BindVerdict, Decision
from simulation.templates import GROUPS
from simulation.themes import RESTORES
from tests.simulation.planting import Planted

Patch = pytest.MonkeyPatch
MEET = "excluding pods met"
LONELY = "required affinity not met"
ENDLESS = ("reservation without an end", "reservation outlives its bind")
WAIT = "waits in vain"


def _binds_without_looking(patch: Patch) -> None:
    def may_bind(*_: object) -> BindVerdict:
        return BindVerdict(Decision.BIND)

    patch.setattr(extender.features.binding.binds, "may_bind", may_bind)


def _changes_outcome(patch: Patch, before: BindOutcome, after: BindOutcome) -> None:
    bind = Binder.bind

    async def changed(self: Binder, pod: Pod, node: str, within: float) -> Bound:
        bound = await bind(self, pod, node, within)
        if bound.outcome is not before:
            return bound
        # With a reason, it is told to the scheduler as a failure.
        return Bound(after, "" if after is BindOutcome.BOUND else bound.why)

    patch.setattr(Binder, "bind", changed)


def _takes_unclear_for_refused(patch: Patch) -> None:
    _changes_outcome(patch, BindOutcome.INDETERMINATE, BindOutcome.REFUSED)


def _takes_unclear_for_bound(patch: Patch) -> None:
    _changes_outcome(patch, BindOutcome.INDETERMINATE, BindOutcome.BOUND)


def _takes_conflict_for_refused(patch: Patch) -> None:
    clear = extender.features.binding.binder._CLEAR | {409, 500, 504}
    patch.setattr(extender.features.binding.binder, "_CLEAR", clear)


def _gives_up_unclear_places(patch: Patch) -> None:
    patch.setattr(extender.features.binding.binds, "RESERVATION_SECONDS", 3.0)


def _drops_confirmed_places(patch: Patch) -> None:
    patch.setattr(extender.features.binding.binds, "CONFIRMED_SECONDS", 0.0)


def _ignores_support(patch: Patch) -> None:
    patch.setattr(extender.features.binding.rules, "unconfirmed_support", lambda *_: [])


def _answers_late(patch: Patch) -> None:
    patch.setattr(extender.features.binding.binds, "ANSWER_SECONDS", 6.0)


def _binds_whoever_has_the_name(patch: Patch) -> None:
    binding = extender.features.binding.binder._binding

    def nameless(pod: Pod, node: str) -> bytes:
        said = msgspec.json.decode(binding(pod, node))
        del said["metadata"]["uid"]
        return msgspec.json.encode(said)

    patch.setattr(extender.features.binding.binder, "_binding", nameless)


def _takes_any_error_for_success(patch: Patch) -> None:
    async def bound(*_: object, **__: object) -> Bound:
        return Bound(BindOutcome.BOUND)

    patch.setattr(Binder, "_look", bound)


def _keeps_places_of_those_refused_together(patch: Patch) -> None:
    patch.setattr(extender.features.binding.binds._Attempt, "undo", lambda _: None)


def _binds_unlooked_at_in_one_profile(patch: Patch) -> None:
    may_bind = extender.features.binding.rules.may_bind

    def trusting(state: ClusterState, pod: Pod, node: str, plugins: Plugins) -> BindVerdict:
        if pod.spec.requirements.scheduler == GROUPS:
            return BindVerdict(Decision.BIND)
        return may_bind(state, pod, node, plugins)

    patch.setattr(extender.features.binding.binds, "may_bind", trusting)


def _asks_nobody_where_it_stands(patch: Patch) -> None:
    patch.setattr(Watchers, "certain", True)


PLANTED: Mapping[str, Planted] = {
    "binds though the connection broke": Planted(
        _asks_nobody_where_it_stands, {MEET, LONELY}, lambda plan: plan.setup.theme == RESTORES
    ),
    "keeps the places of a gang that is refused": Planted(
        _keeps_places_of_those_refused_together,
        {"gang bound in part", WAIT, *ENDLESS},
        lambda plan: plan.setup.grouping,
    ),
    "binds what the scheduler has placed": Planted(
        _binds_unlooked_at_in_one_profile, {MEET}, lambda plan: plan.setup.grouping
    ),
    # Neither does it see that the watch has had its last word about the pod: see `may_bind`.
    "binds without looking again": Planted(_binds_without_looking, {MEET, LONELY, *ENDLESS}),
    "takes an unclear end for a refusal": Planted(_takes_unclear_for_refused, {MEET, LONELY}),
    "takes an unclear end for success": Planted(
        _takes_unclear_for_bound, {WAIT, LONELY, "evicted in vain", *ENDLESS}
    ),
    "takes a conflict for a refusal": Planted(_takes_conflict_for_refused, {MEET, LONELY}),
    "keeps unclear places for 3 s": Planted(_gives_up_unclear_places, {MEET, LONELY}),
    "drops places before the watch shows the pod": Planted(_drops_confirmed_places, {MEET, LONELY}),
    "waits for no pod that it must be near": Planted(_ignores_support, {LONELY}),
    "answers binds late": Planted(_answers_late, {"callback after its deadline"}),
    "binds whoever has the name": Planted(_binds_whoever_has_the_name, {"bound by mistake", MEET}),
    "takes any error for success": Planted(
        _takes_any_error_for_success, {MEET, WAIT, LONELY, "evicted in vain", *ENDLESS}
    ),
}
