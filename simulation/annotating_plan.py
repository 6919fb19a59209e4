"""Runs in which annotations say what pods keep apart from, are broken, and are edited."""

from __future__ import annotations

from typing import Final

from simulation.themes import FAULTS

ANNOTATING: Final = "annotations"
ANNOTATED: Final = 0.04
"""How many of the runs of minutes are of that kind."""
ANNOTATING_NODES: Final = (3, 4, 6, 9)
ANNOTATING_SECONDS: Final = (30.0, 120.0)

ANNOTATING_USERS: Final = {
    "annotated workload": 10,
    "annotated jobs": 6,
    "broken annotation": 4,
    "edit annotations": 8,
    "delete pods": 8,
    "scale": 6,
    "relabel node": 1,
    "add node": 1,
    "cordon": 2,
    "drain": 1,
    "delete workload": 2,
}
"""What users do there, by weight."""

ANNOTATING_FAULTS: Final = FAULTS
