"""Bugs of moves, planted in the simulation to see whether they are found."""

from __future__ import annotations

from collections.abc import Mapping

from tests.features.moving.planted_evictions import EVICTIONS
from tests.features.moving.planted_repairs import REPAIRS
from tests.simulation.planting import Planted

PLANTED: Mapping[str, Planted] = {**EVICTIONS, **REPAIRS}
