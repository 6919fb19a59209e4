"""Says which pods have rules in annotations that cannot be read; they are placed by nobody."""

from __future__ import annotations

import asyncio
import logging
from itertools import islice
from typing import Final, NoReturn, TypeAlias

from extender.cluster.state import ClusterState
from extender.model.objects import Pod

PAUSE_SECONDS: Final = 5.0
MOST_LINES: Final = 20
"""Lines at a time: a workload with thousands of replicas has one annotation."""
MOST_LOOKED_AT: Final = 10_000
"""Broken pods that are told apart; of more, those that come later are in the metric alone."""

Told: TypeAlias = tuple[str, tuple[str, str] | None]
"""A pod's uid, and what was said of it."""

_log = logging.getLogger(__name__)


async def keep_telling_of_broken(state: ClusterState, *, pause: float = PAUSE_SECONDS) -> NoReturn:
    """Log each pod once when its annotation is found to be broken, and again when it is edited."""
    told: frozenset[Told] = frozenset()
    while True:
        now = {_told(pod): pod for pod in islice(state.broken_annotations, MOST_LOOKED_AT)}
        fresh = [pod for key, pod in now.items() if key not in told]
        for pod in fresh[:MOST_LINES]:
            _log.warning("%s", _line(pod))
        if len(fresh) > MOST_LINES:
            _log.warning("and %d more pods with broken rules", len(fresh) - MOST_LINES)
        told = frozenset(now)
        await asyncio.sleep(pause)


def _told(pod: Pod) -> Told:
    return pod.uid, pod.broken_annotation


def _line(pod: Pod) -> str:
    field, fault = pod.broken_annotation or ("", "")
    where = "it is not placed" if pod.node is None else f"it is on {pod.node}"
    return (
        f"rules in an annotation cannot be read and count for nobody: {pod.key}, {where}: "
        f"{field}: {fault}"
    )
