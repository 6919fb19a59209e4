"""Bugs of the audit, planted in the simulation to see whether they are found."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial
from typing import TYPE_CHECKING

import extender.features.audit.part
from simulation.themes import REPORTS
from tests.simulation.planting import Planted as AnyPlanted

if TYPE_CHECKING:
    import pytest


def _audits(patch: pytest.MonkeyPatch, *findings: str | None) -> None:
    def audit(_: object) -> Iterator[str | None]:
        return iter(findings)

    patch.setattr(extender.features.audit.part, "audit", audit)


def _tells_nothing(patch: pytest.MonkeyPatch) -> None:
    _audits(patch, None)


def _tells_of_right_counters(patch: pytest.MonkeyPatch) -> None:
    _audits(patch, None, "a counter")


Planted = partial(AnyPlanted, runs=lambda plan: plan.setup.theme == REPORTS)

PLANTED: Mapping[str, AnyPlanted] = {
    "tells of no wrong counter": Planted(_tells_nothing, {"wrong counter not told"}),
    "tells of right counters": Planted(_tells_of_right_counters, {"alarm about right counters"}),
}
