"""Logs which pods have rules that cannot be read or are too many."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Hashable, Sequence
from itertools import islice
from typing import Final, NoReturn, TypeAlias

from extender.core.cluster.state import ClusterState
from extender.core.model.objects import Pod
from extender.core.model.wording import plural

PAUSE_SECONDS: Final = 5.0
MOST_LOOKED_AT: Final = 10_000
"""Broken pods that are told apart; of more, those that come later are in the metric alone."""
MOST_LINES: Final = 10
"""At a time."""

Told: TypeAlias = tuple[str, tuple[str, str] | None]
"""A pod's uid, and what was said of it."""

_log = logging.getLogger(__name__)


async def keep_telling_of_broken(state: ClusterState, *, pause: float = PAUSE_SECONDS) -> NoReturn:
    """Log pods once when their rules are found to be broken, and again when these are edited.

    Replicas are told of together.
    """
    told: frozenset[Told] = frozenset()
    while True:
        now = {_told(pod): pod for pod in islice(state.broken_rules, MOST_LOOKED_AT)}
        fresh = [pod for key, pod in now.items() if key not in told]
        alike: dict[Hashable, list[Pod]] = {}
        for pod in fresh:
            alike.setdefault((pod.pod_class, pod.spec.broken_rules), []).append(pod)
        told_of = list(alike.values())[:MOST_LINES]
        for each in told_of:
            _log.warning("%s", _line(each))
        if more := len(fresh) - sum(map(len, told_of)):
            _log.warning("and %d more pods with broken rules", more)
        told = frozenset(now)
        await asyncio.sleep(pause)


def _told(pod: Pod) -> Told:
    return pod.uid, pod.spec.broken_rules


def _line(alike: Sequence[Pod]) -> str:
    pod, *others = alike
    field, fault = pod.spec.broken_rules or ("", "")
    where = "it is not placed" if pod.node is None else f"it is on {pod.node}"
    more = f", and {plural(len(others), 'pod')} like it" if others else ""
    return f"rules cannot be read, or are too many: {pod.key}, {where}{more}: {field}: {fault}"
