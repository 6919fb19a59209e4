"""Bugs of the protocol between answer, bind and watch, planted to see whether they are found."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping
from typing import Any, NoReturn

import pytest

import extender.core.callbacks.in_flight
import extender.core.callbacks.preempting
import extender.core.kube.watching
from extender.core.cluster.counts.counters import Counters
from extender.core.cluster.ledgers.nominated_pods import NominationLedger
from extender.core.cluster.ledgers.reservations import Claim
from extender.core.cluster.state import ClusterState
from extender.core.kube.flowcontrol import FlowControl
from extender.core.kube.watchers import StateSink
from extender.core.model.objects import Pod
from extender.core.resources import PODS
from simulation import program
from simulation.plan import Plan
from simulation.themes import CONTENTION
from tests.features.every import planted_in_simulation as of_features
from tests.simulation.planted_lists import old_lists
from tests.simulation.planted_terms import TERMS
from tests.simulation.planting import Planted

Patch = pytest.MonkeyPatch


def _binds_without_reserving(patch: Patch) -> None:
    reserve = ClusterState.reserve

    def unkept(self: ClusterState, *args: Any, **options: Any) -> Claim:
        claim = reserve(self, *args, **options)
        self.release(claim)
        return claim

    patch.setattr(ClusterState, "reserve", unkept)


def _never_expires(patch: Patch) -> None:
    async def never(*_: object) -> NoReturn:
        await asyncio.Event().wait()
        raise AssertionError

    patch.setattr(program, "keep_expiring", never)


def _never_settles(patch: Patch) -> None:
    patch.setattr(ClusterState, "_settle", lambda *_: None)


def _forgets_no_pod(patch: Patch) -> None:
    delete = StateSink.delete

    def forgetful(self: StateSink[Any], key: str, uid: str) -> None:
        if self._resource is not PODS:
            delete(self, key, uid)

    patch.setattr(StateSink, "delete", forgetful)


def _miscounts(patch: Patch) -> None:
    displace, calls = Counters.displace, [0]

    def sometimes(self: Counters, *args: Any) -> None:
        calls[0] += 1
        if calls[0] % 50:
            displace(self, *args)

    patch.setattr(Counters, "displace", sometimes)


def _answers_unsynced(patch: Patch) -> None:
    patch.setattr(program.Incarnation, "_unsynced", lambda _: None)


def _holds_filters(patch: Patch) -> None:
    init = extender.core.callbacks.in_flight.InFlightPods.__init__
    patch.setattr(init, "__kwdefaults__", {**(init.__kwdefaults__ or {}), "hold": 1.0})


def _settles_by_cached_lists(patch: Patch) -> None:
    patch.setattr(extender.core.kube.watching, "LATEST_VERSION", "1")


def _settles_what_is_not_listed(patch: Patch) -> None:
    upsert = StateSink.upsert

    def settling(self: StateSink[Any], obj: Any) -> None:
        upsert(self, obj)
        if isinstance(obj, Pod) and obj.node is None:
            for each in self._state.reservations.of(obj.key, obj.uid):
                self._state._drop(each)

    patch.setattr(StateSink, "upsert", settling)


def _keeps_hints_of_pods_that_are_gone(patch: Patch) -> None:
    def kept(self: NominationLedger, uid: str) -> bool:
        self._expected.pop(uid)
        return False

    patch.setattr(NominationLedger, "forget", kept)


def _remembers_every_pod(patch: Patch) -> None:
    init, reserve = ClusterState.__init__, ClusterState.reserve

    def begin(self: ClusterState, *args: Any, **options: Any) -> None:
        init(self, *args, **options)
        vars(self)["ever"] = []

    def remembered(self: ClusterState, *args: Any, **options: Any) -> Claim:
        vars(self)["ever"].append(bytes(100_000))
        return reserve(self, *args, **options)

    patch.setattr(ClusterState, "__init__", begin)
    patch.setattr(ClusterState, "reserve", remembered)


def _evicts_blindly(patch: Patch) -> None:
    def all_of_them(*args: Any, **_: object) -> Iterable[tuple[str, Any]]:
        candidates: Mapping[str, Any] = args[2]
        return candidates.items()

    patch.setattr(extender.core.callbacks.preempting, "choose_victims", all_of_them)


def _keeps_tokens(patch: Patch) -> None:
    patch.setattr(FlowControl, "_refill", lambda _: None)


def _leaves_binds_unclear(plan: Plan) -> bool:
    contended = plan.setup.theme == CONTENTION
    return contended and any(each.what == "unsure binds" for each in plan.actions)


ALARM = "alarm about right counters"
EARLY = "reported before all was listed"
MEET = "excluding pods met"
LONELY = "required affinity not met"
MIRROR = ("mirror differs from the cluster", "counters differ from a recount")
ENDLESS = ("reservation without an end", "reservation outlives its bind")
WAIT = "waits in vain"
BOUNDS = "registry out of bounds"
LATE = "callback after its deadline"

PLANTED: Mapping[str, Planted] = {
    "binds without reserving": Planted(_binds_without_reserving, {MEET, LONELY}),
    "never gives up a reservation": Planted(_never_expires, {*ENDLESS}),
    "keeps reservations that the watch has settled": Planted(
        _never_settles, {WAIT, *ENDLESS, *MIRROR}
    ),
    "forgets no pod that is gone": Planted(_forgets_no_pod, {WAIT, *MIRROR}),
    "counts wrongly once in a while": Planted(_miscounts, {MEET, WAIT, ALARM, *MIRROR}),
    "answers before it knows the cluster": Planted(_answers_unsynced, {MEET, LONELY, EARLY}),
    "holds filters for a second": Planted(_holds_filters, {LATE}),
    "takes a list from a cache for proof": Planted(
        _settles_by_cached_lists, {MEET, LONELY}, plan=old_lists
    ),
    "takes a pod without a node for one that is not bound": Planted(
        _settles_what_is_not_listed, {MEET, LONELY}, _leaves_binds_unclear
    ),
    "keeps hints of pods that are gone": Planted(
        _keeps_hints_of_pods_that_are_gone, {WAIT, ALARM, *MIRROR}
    ),
    "remembers every pod": Planted(_remembers_every_pod, {BOUNDS}),
    "evicts blindly": Planted(_evicts_blindly, {"evicted in vain"}),
    **TERMS,
    **of_features(),
    "never gets new tokens": Planted(_keeps_tokens, {WAIT, LATE, "not ready in the calm"}),
}

QUICK = (
    "binds without reserving",
    "counts wrongly once in a while",
    "answers binds late",
    "evicts pods as important",
    "limits each replica by itself",
    "moves pods that have to stay",
)
"""Those that are planted in each run of the tests: a few seconds each."""
