"""How the feature is switched on, and off in mode replace."""

from __future__ import annotations

from extender.core.controllers.workqueue import MOST_STALE
from extender.features.refused_pods import records

ON = {"mode": "replace"}
OFF = {"hints": {"enabled": False}, "preemption": {"enabled": False}}
PLANTED = "tests.features.refused_pods.planted"
"""The module with bugs for the simulation."""
_KEPT = 2 * (records.MOST_UNSHOWN + records.MOST_CLAIMS)
REMEMBERED = {
    "Records._claimed": 2 * records.MOST_CLAIMS,
    "Records._records": _KEPT,
    "WorkQueue._wanted": _KEPT,
    "WorkQueue._later": 2 * (_KEPT + MOST_STALE),
}
"""Entries about pods that no watch shows: of hints and of preemptions."""
