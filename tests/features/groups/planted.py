"""Bugs of pod groups, planted in the simulation to see whether they are found."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from extender.core.model.objects import Pod
from extender.features.groups import gangs
from extender.features.groups.gangs import Gangs
from extender.features.groups.ledger import Members
from extender.features.groups.pod_groups import PodGroups
from tests.simulation.planting import Planted

if TYPE_CHECKING:
    import pytest

    from simulation.plan import Plan

IN_PART = "gang bound in part"
WAIT = "waits in vain"
MIRROR = "counters differ from a recount"


def _decides_one_by_one(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(Gangs, "has", lambda *_: False)


def _needs_one_less(patch: pytest.MonkeyPatch) -> None:
    needed = PodGroups.needed

    async def less(self: PodGroups, group: str) -> int:
        return (await needed(self, group) or 0) - 1

    patch.setattr(PodGroups, "needed", less)


def _lets_some_stand(patch: pytest.MonkeyPatch) -> None:
    settle = gangs._settle

    def settle_for_less(gathering: Any, lacking: int, *, is_last: bool) -> None:
        settle(gathering, min(lacking, 1), is_last=is_last)

    patch.setattr(gangs, "_settle", settle_for_less)


def _forgets_no_member(patch: pytest.MonkeyPatch) -> None:
    shown = Members.shown

    def forgetful(self: Members, pod: Pod | None, before: Pod | None) -> None:
        if pod is not None:
            shown(self, pod, before)

    patch.setattr(Members, "shown", forgetful)


def _refuses_gangs_for_good(patch: pytest.MonkeyPatch) -> None:
    async def refused(*_: object) -> str:
        # Else the scheduler does nothing but try again.
        await asyncio.sleep(gangs.HOLD_SECONDS)
        return "no"

    patch.setattr(Gangs, "decide", refused)


def _has_groups(plan: Plan) -> bool:
    return plan.setup.grouping


PLANTED: Mapping[str, Planted] = {
    "decides about members one by one": Planted(_decides_one_by_one, {IN_PART}, _has_groups),
    "lets a gang have one member less than it needs": Planted(
        _needs_one_less, {IN_PART}, _has_groups
    ),
    "binds members whose gang is refused": Planted(_lets_some_stand, {IN_PART}, _has_groups),
    "refuses gangs for good": Planted(_refuses_gangs_for_good, {WAIT}, _has_groups),
    "forgets no member that is gone": Planted(_forgets_no_member, {MIRROR}, _has_groups),
}
