"""Keeps looking for pods whose labels their rules no longer follow, and says what it finds."""

from __future__ import annotations

import asyncio
import logging
from typing import Final, NoReturn

from extender.cluster.audits.drift import DriftedPods, DriftWatch
from extender.controllers.violations import (
    MOST_LINES,
    ROUND_PAUSE_SECONDS,
    STEP_PAUSE_SECONDS,
)
from extender.metrics import Metrics
from extender.ports import Check

STEP_CLASSES: Final = 200
"""Classes looked at between two pauses: half a millisecond."""

_log = logging.getLogger(__name__)


async def keep_watching_drift(
    watch: DriftWatch,
    metrics: Metrics,
    unready: Check,
    *,
    step_pause: float = STEP_PAUSE_SECONDS,
    round_pause: float = ROUND_PAUSE_SECONDS,
) -> NoReturn:
    """Log pods whose labels their rules no longer follow, and keep their number in the metric."""
    while True:
        for fresh in watch.look(STEP_CLASSES) if unready() is None else ():
            for drifted in fresh[:MOST_LINES]:
                _log.warning("%s", _left_behind(drifted))
            if len(fresh) > MOST_LINES:
                _log.warning("and %d more kinds of pods like these", len(fresh) - MOST_LINES)
            await asyncio.sleep(step_pause)
        metrics.drifted_pods.set(watch.pods)
        await asyncio.sleep(round_pause)


def _left_behind(found: DriftedPods) -> str:
    edits = ",".join(
        f"{each.key} from {','.join(sorted(each.merged)) or 'nothing'} "
        f"to {found.labels.get(each.key) or 'nothing'}"
        for each in found.drift
    )
    more = f" (and {found.pods - 1} more alike)" if found.pods > 1 else ""
    return (
        "labels were edited that matchLabelKeys or mismatchLabelKeys name: "
        f"{found.example}{more}, {edits}; "
        "its rules stay as they were when it was created"
    )
