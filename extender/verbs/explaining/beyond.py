"""What else may keep a pod waiting: what the scheduler looks at and rules of affinity do not.

None of it is part of a verdict. Whoever asks why a pod waits should not be told that it fits, and
no more.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import Final

from extender.cluster.state import ClusterState
from extender.verbs.explaining.explanation import Explanation
from extender.verbs.explaining.notes import Note
from extender.verbs.explaining.words import plural
from extender.verbs.node_room import NodePorts, NodeResourcesFit, TaintToleration

MOST_CAUSES: Final = 4
"""Taints and resources that are named, those that refuse most nodes first."""
GATES: Final = "schedulingGates"
OTHER_SCHEDULER: Final = "schedulerName"
HARD: Final = ("resourceClaims", "topologySpreadConstraints", "volumes")
"""Fields of a pod for which the scheduler may refuse nodes on its own."""


def beyond(
    state: ClusterState, explanation: Explanation, fields: Collection[str]
) -> Iterator[Note]:
    """Yield remarks on what is not looked at; O(nodes x taints and resources).

    `fields` are those of the pod that nobody here reads.
    """
    if explanation.pod.node is not None:
        return
    if GATES in fields:
        text = "the pod has scheduling gates: the scheduler leaves it alone until they are removed"
        yield Note("gated", text)
    if OTHER_SCHEDULER in fields:
        text = "the pod asks for another scheduler, which may have other rules"
        yield Note("otherScheduler", text)
    if not explanation.fits:
        return
    yield from _room(state, explanation)
    hard = [field for field in HARD if field in fields]
    if hard:
        yield Note(
            "notLookedAt",
            f"the scheduler may refuse some of these nodes for the pod's {' and '.join(hard)}: "
            "that is not looked at here",
        )


def _room(state: ClusterState, explanation: Explanation) -> Iterator[Note]:
    """Say which of the nodes that fit the scheduler refuses all the same."""
    pod, asked = explanation.pod, state.nodes.asked(explanation.fits)
    causes: dict[str, int] = {}
    refused: set[str] = set()
    for plugin in (TaintToleration(), NodePorts(), NodeResourcesFit()):
        for rule in plugin.rules(state, pod):
            hits = rule.hits(asked)
            if hits:
                causes[rule.what] = len(hits)
                refused.update(hits)
    if not refused:
        return
    first = sorted(causes, key=lambda what: (-causes[what], what))
    said = [f"{causes[what]:,} {what}" for what in first[:MOST_CAUSES]]
    more = [f"{len(first) - MOST_CAUSES} more causes"] if len(first) > MOST_CAUSES else []
    fit = len(explanation.fits)
    which = "it" if fit == 1 else "all of them"
    if len(refused) < fit:
        which = f"{len(refused):,} of them"
    yield Note(
        "room",
        f"affinity rules leave {plural(fit, 'node')}; the scheduler refuses {which} for other "
        f"reasons: {', '.join((*said, *more))}",
    )
