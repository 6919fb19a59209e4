"""Bugs of hints and preemption, planted in the simulation to see whether they are found."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

import msgspec
import pytest

import extender.core.verbs.filtering
import extender.core.verbs.victims
import extender.features.refused_pods.hints
import extender.features.refused_pods.nominator
import extender.features.refused_pods.preemption
import extender.features.refused_pods.victim_sets
from extender.core.cluster.state import ClusterState
from extender.core.kube.client import ApiClient
from extender.core.model.objects import Pod
from extender.core.timing import TokenBucket
from extender.core.verbs.plugins import Plugins
from extender.features.refused_pods.evictions import Evictions
from extender.features.refused_pods.evictor import ApiEvictor
from extender.features.refused_pods.nominations import Nominations
from extender.features.refused_pods.nominator import ApiNominator
from extender.features.refused_pods.records import Records
from extender.features.refused_pods.refusals import Refusal
from extender.features.refused_pods.victim_sets import VictimSets
from simulation.plan import Plan
from simulation.themes import HINTS
from tests.simulation.planting import Planted as AnyPlanted

Patch = pytest.MonkeyPatch


def _waits_for_no_watch(patch: Patch) -> None:
    async def at_once(*_: object) -> None:
        return None

    async def shown(*_: object) -> bool:
        return True

    patch.setattr(VictimSets, "_until_shown", at_once)
    patch.setattr(Evictions, "_is_shown", shown)


def _evicts_whatever_has_become_of_the_preemptor(patch: Patch) -> None:
    patch.setattr(VictimSets, "_is_wanted", lambda *_: True)


def _nominates_after_deleting(patch: Patch) -> None:
    async def later(*_: object) -> bool:
        return True

    patch.setattr(VictimSets, "_nominate", later)
    _waits_for_no_watch(patch)
    _evicts_whatever_has_become_of_the_preemptor(patch)
    _forgets_marks(patch)


def _deletes_whoever_has_the_name(patch: Patch) -> None:
    delete = ApiClient.delete

    async def nameless(self: ApiClient, path: str, body: bytes, **options: Any) -> bytes:
        said = msgspec.json.decode(body)
        said["preconditions"].pop("uid", None)
        return await delete(self, path, msgspec.json.encode(said), **options)

    patch.setattr(ApiClient, "delete", nameless)


def _forgets_marks(patch: Patch) -> None:
    patch.setattr(ClusterState, "victims_of", lambda *_: ())


def _chooses_anew(patch: Patch) -> None:
    """Look neither at the nomination nor at marks, nor at who is on the way out."""
    _forgets_marks(patch)
    patch.setattr(
        extender.features.refused_pods.preemption, "earlier_nodes", lambda *_, **__: iter(())
    )
    patch.setattr(extender.core.verbs.victims, "_victims_leave", lambda *_: False)


def _is_impatient(patch: Patch) -> None:
    """Give a node up for another after a second, whatever is under way there."""
    _chooses_anew(patch)
    patch.setattr(extender.features.refused_pods.victim_sets, "EVICTING_SECONDS", 1.0)


def _evicts_equals(patch: Patch) -> None:
    def any_that_is_not_more_important(other: Pod, pod: Pod) -> bool:
        return other.spec.priority <= pod.spec.priority and other.uid != pod.uid

    patch.setattr(extender.core.verbs.victims, "may_be_chosen", any_that_is_not_more_important)


def _evicts_for_anybody(patch: Patch) -> None:
    ineligible = extender.core.verbs.victims.ineligible

    def eager(state: ClusterState, pod: Pod, plugins: Plugins) -> str | None:
        return ineligible(state, pod.with_spec(may_preempt=True), plugins)

    patch.setattr(extender.features.refused_pods.preemption, "ineligible", eager)


def _deletes_what_it_has_not_marked(patch: Patch) -> None:
    async def marked(*_: object) -> bool:
        return True

    patch.setattr(ApiEvictor, "mark", marked)
    patch.setattr(Evictions, "_is_shown", marked)


def _wakes_nobody(patch: Patch) -> None:
    async def asleep(*_: object) -> bool:
        return True

    patch.setattr(ApiNominator, "wake", asleep)


def _holds_its_node_alone(patch: Patch) -> None:
    patch.setattr(extender.core.verbs.filtering, "preempting_beside", lambda *_: [])


def _withdraws_no_hint(patch: Patch) -> None:
    nominate = ApiNominator.nominate

    async def kept(self: ApiNominator, pod: Pod, before: str | None, node: str | None) -> bool:
        return True if node is None else await nominate(self, pod, before, node)

    patch.setattr(ApiNominator, "nominate", kept)


def _never_ends_a_nomination(patch: Patch) -> None:
    patch.setattr(Records, "end", lambda *_: None)


def _hints_over_any_nomination(patch: Patch) -> None:
    write = extender.features.refused_pods.nominator._nomination

    def untested(uid: str, before: str | None, node: str | None) -> bytes:
        operations = msgspec.json.decode(write(uid, before, node))
        return msgspec.json.encode([operations[0], *operations[2:]])

    patch.setattr(extender.features.refused_pods.nominator, "_nomination", untested)
    patch.setattr(Refusal, "is_elses", lambda *_, **__: False)


def _claims_for_no_time(patch: Patch) -> None:
    patch.setattr(extender.features.refused_pods.hints, "CLAIM_SECONDS", 0.0)


def _sets_hints_at_any_rate(patch: Patch) -> None:
    fast = partial(TokenBucket, burst=1000.0)
    patch.setattr(extender.features.refused_pods.hints, "TokenBucket", fast)


def _has_any_number_open(patch: Patch) -> None:
    patch.setattr(Nominations, "has_room", property(lambda _: True))


Planted = partial(AnyPlanted, runs=lambda plan: plan.setup.preempting)


def _is_about_hints(plan: Plan) -> bool:
    return plan.setup.theme == HINTS


def _forgets_claims(plan: Plan) -> bool:
    return _is_about_hints(plan) and any("kill extender" in each.what for each in plan.actions)


Hinted = partial(AnyPlanted, runs=_is_about_hints)

HINT = "hint outlives its use"
TWO = "two sets of victims"
VAIN = "evicted in vain"
UNMARKED = "evicted without a mark"
TAKEN = "held domain taken"

PLANTED: Mapping[str, AnyPlanted] = {
    "withdraws no hint": AnyPlanted(_withdraws_no_hint, {HINT}),
    "never ends a nomination": AnyPlanted(
        _never_ends_a_nomination, {"nomination without an end", HINT}
    ),
    "nominates after deleting": Planted(_nominates_after_deleting, {TWO, VAIN, TAKEN}),
    "deletes whoever has the name": Planted(_deletes_whoever_has_the_name, {UNMARKED, VAIN}),
    "forgets whom it has marked": Planted(_forgets_marks, {TWO}),
    "ignores what was begun before": Planted(_chooses_anew, {TWO}),
    "gives a node up at once": Planted(_is_impatient, {TWO}),
    "evicts pods as important": Planted(_evicts_equals, {VAIN}),
    "evicts for pods that preempt nobody": Planted(_evicts_for_anybody, {VAIN}),
    "deletes pods without a mark": Planted(_deletes_what_it_has_not_marked, {UNMARKED}),
    "holds its node alone": Planted(_holds_its_node_alone, {TAKEN}),
    "sets hints over any nomination": AnyPlanted(
        _hints_over_any_nomination, {"hint over a nomination"}, _forgets_claims
    ),
    "sets hints after a preemption": Hinted(_claims_for_no_time, {"hint after a preemption"}),
    "sets hints at any rate": Hinted(_sets_hints_at_any_rate, {"too many hints in a second"}),
    "has any number of hints open": Hinted(_has_any_number_open, {"too many open hints"}),
    "wakes no preemptor": Planted(_wakes_nobody, {"not woken"}),
}
