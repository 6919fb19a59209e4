"""Bugs of quotas, planted in the simulation to see whether they are found."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import extender.features.quota.rules
from extender.features.quota.quotas import Charge, ResourceQuota
from tests.simulation.planting import Planted

if TYPE_CHECKING:
    import pytest

    from simulation.plan import Plan

    Patch = pytest.MonkeyPatch

judge_charge: Any = extender.features.quota.rules.judge_charge
EXCEEDED = "quota exceeded"


def _ignores_quotas(patch: Patch) -> None:
    patch.setattr(extender.features.quota.rules, "shortfall", lambda *_, **__: None)


def _judges(patch: Patch, judge: Any) -> None:
    patch.setattr(extender.features.quota.rules, "judge_charge", judge)


def _looks_at_one_quota(patch: Patch) -> None:
    def first(charge: Charge, quotas: Any, *, limited: bool) -> Any:
        return judge_charge(charge, [*quotas][:1], limited=limited)

    _judges(patch, first)


def _looks_at_pods_alone(patch: Patch) -> None:
    against = extender.features.quota.rules._against

    def of_pods(charge: Charge, in_use: Any) -> Any:
        found = against(charge, in_use)
        return found if found is not None and found.resources == ("pods",) else None

    patch.setattr(extender.features.quota.rules, "_against", of_pods)


def _needs_no_quota(patch: Patch) -> None:
    def unlimited(charge: Charge, quotas: Any, **_: bool) -> Any:
        return judge_charge(charge, quotas, limited=False)

    _judges(patch, unlimited)


def _takes_every_quota_for_its_own(patch: Patch) -> None:
    patch.setattr(ResourceQuota, "is_about_crossing", property(lambda _: True))


def _sets_quotas(plan: Plan) -> bool:
    return any(each.what == "quota" for each in plan.actions)


def _sets_several(plan: Plan) -> bool:
    return _is_small(plan) and sum(each.what == "quota" for each in plan.actions) > 1


def _needs_quotas(plan: Plan) -> bool:
    return _is_small(plan) and plan.setup.limited


def _is_small(plan: Plan) -> bool:
    return plan.busy < 120.0 and plan.setup.nodes < 30


PLANTED: Mapping[str, Planted] = {
    "takes no notice of quotas": Planted(_ignores_quotas, {EXCEEDED}, _sets_quotas),
    "looks at one quota": Planted(_looks_at_one_quota, {EXCEEDED}, _sets_several),
    "looks at the number of pods alone": Planted(_looks_at_pods_alone, {EXCEEDED}, _sets_quotas),
    "needs no quota by default": Planted(_needs_no_quota, {EXCEEDED}, _needs_quotas),
    "takes every quota for its own": Planted(
        _takes_every_quota_for_its_own, {"waits in vain"}, _sets_several
    ),
}
