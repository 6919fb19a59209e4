"""A bug of quotas, planted in the simulation to see whether it is found."""

from __future__ import annotations

from typing import TYPE_CHECKING

import extender.features.quota.rules
from tests.simulation.planting import Planted

if TYPE_CHECKING:
    import pytest

    from simulation.plan import Plan


def _ignores_quotas(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(extender.features.quota.rules, "shortfall", lambda *_, **__: None)


def _sets_quotas(plan: Plan) -> bool:
    return any(each.what == "quota" for each in plan.actions)


PLANTED = {"takes no notice of quotas": Planted(_ignores_quotas, {"quota exceeded"}, _sets_quotas)}
