"""Bugs of what is reported, planted in the simulation to see whether they are found."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import TYPE_CHECKING

from extender.diagnosis.verbs.violations import Watch
from simulation.invariants.reports import FALSE
from simulation.themes import REPORTS
from tests.simulation.planting import Planted as AnyPlanted

if TYPE_CHECKING:
    import pytest


def _ends_no_rule(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(Watch, "drop_ended", lambda *_: iter(()))


def _finds_no_rule(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(Watch, "take", lambda *_: iter(()))


Planted = partial(AnyPlanted, runs=lambda plan: plan.setup.theme == REPORTS)

PLANTED: Mapping[str, AnyPlanted] = {
    "reports rules that are met again": Planted(_ends_no_rule, {FALSE, "reported more than once"}),
    "finds no broken rule": Planted(_finds_no_rule, {"broken rule not reported"}),
}
