"""Pods that wait for a node, by what their scheduler says of them.

No verdict is computed for that, so it costs the same however large the cluster is.
"""

from __future__ import annotations

import asyncio
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import islice
from math import inf
from typing import Final

from extender.core.cluster.state import ClusterState
from extender.core.metrics.series import GaugeRow
from extender.core.model.objects import Pod
from extender.core.model.verdict import Reason

MOST_PODS: Final = 20_000
STEP: Final = 200
"""Pods between which others are served; with as many different messages, some 1 ms."""
NOT_TRIED: Final = "not tried yet"
GATES: Final = "scheduling gates"
OTHER: Final = "other"
REASONS: Final = (*(each.value for each in Reason), NOT_TRIED, GATES, OTHER)
"""Those that the metric tells apart: texts of pods may have any number of others."""

_NODES: Final = re.compile(r"\d+/\d+ nodes are available: ")
_ENDS: Final = re.compile(r"\. |\.$")
_NEXT: Final = re.compile(r", (?=\d+ )")
_SPELLINGS: Final = (
    (re.compile(r"Insufficient |Too many pods"), Reason.RESOURCES),
    # Until 1.34 it named the taint.
    (re.compile(r"node\(s\) had untolerated taint "), Reason.TAINT),
    (re.compile(r"node\(s\) had volume node affinity conflict$"), Reason.VOLUME_ELSEWHERE),
    (re.compile(r'persistentvolumeclaim "[^"]*" not found$'), Reason.NO_CLAIM),
)
"""How the scheduler's messages of all releases begin, where that is not the reason's value."""


@dataclass(slots=True)
class Cause:
    """What keeps pods from most nodes, in the scheduler's words."""

    reason: str
    oldest: Pod
    pods: int = 0

    def add(self, pod: Pod) -> None:
        self.pods += 1
        if _created(pod) < _created(self.oldest):
            self.oldest = pod

    @property
    def known(self) -> str:
        """The reason among REASONS."""
        if self.reason in REASONS:
            return self.reason
        found = (reason.value for begins, reason in _SPELLINGS if begins.match(self.reason))
        return next(found, OTHER)


async def causes(state: ClusterState) -> Sequence[Cause]:
    """Group the pods that wait, in any order; MOST_PODS at most, each of which may have its own."""
    found: dict[str, Cause] = {}
    read: dict[str, str] = {}
    for place, pod in enumerate([*islice(state.waiting_pods, MOST_PODS)]):
        if place % STEP == 0:
            await asyncio.sleep(0)
        if not pod.status.deleting:
            reason = _reason(pod, read)
            found.setdefault(reason, Cause(reason, pod)).add(pod)
    return list(found.values())


async def count(state: ClusterState, row: GaugeRow) -> None:
    """Set how many pods wait, by REASONS."""
    found: Counter[str] = Counter()
    for place, each in enumerate(await causes(state)):
        if place % STEP == 0:
            await asyncio.sleep(0)
        found[each.known] += each.pods
    for reason in REASONS:
        row.set(found[reason], reason)


def _reason(pod: Pod, read: dict[str, str]) -> str:
    said = pod.status.said
    if said is None:
        return GATES if pod.spec.requirements.gates else NOT_TRIED
    message = said.message or said.reason
    if message not in read:
        read[message] = main_reason(message)
    return read[message]


def main_reason(message: str) -> str:
    """Return what refuses most nodes by a scheduler's message; all of one that counts no nodes.

    What refuses the pod before any node is looked at, as a missing claim, stands without a number.
    """
    start = _NODES.match(message)
    if start is None:
        return message
    counts = _ENDS.split(message[start.end() :], maxsplit=1)[0]
    nodes, reason = -1, counts or message
    for each in _NEXT.split(counts):
        number, _, said = each.partition(" ")
        if said and number.isdecimal() and int(number) > nodes:
            nodes, reason = int(number), said
    return reason


def _created(pod: Pod) -> float:
    return inf if pod.status.created is None else pod.status.created
