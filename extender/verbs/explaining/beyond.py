"""What else may keep a pod waiting: what the scheduler looks at and rules of affinity do not.

None of it is part of a verdict. Whoever asks why a pod waits should not be told that it fits, and
no more.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Generator
from typing import Final

from extender.cluster.state import ClusterState
from extender.model.node_resources import HARD
from extender.model.wording import plural
from extender.verbs.explaining.explanation import Explanation
from extender.verbs.explaining.notes import Note
from extender.verbs.node_room import NodePorts, NodeResourcesFit, untolerated

AT_ONCE: Final = 20
"""Nodes that are looked at in one step."""
MOST_CAUSES: Final = 4
"""Taints and resources that are named, those that refuse most nodes first."""
GATES: Final = "schedulingGates"
OTHER_SCHEDULER: Final = "schedulerName"


def looking_beyond(
    state: ClusterState, explanation: Explanation
) -> Generator[None, None, list[Note]]:
    """Return remarks on what is not looked at, in steps; O(nodes x their taints and resources)."""
    pod = explanation.pod
    if pod.node is not None:
        return []
    found, unmodelled = [], pod.requirements.unmodelled
    if GATES in unmodelled:
        text = "the pod has scheduling gates: the scheduler leaves it alone until they are removed"
        found.append(Note("gated", text))
    if OTHER_SCHEDULER in unmodelled:
        text = "the pod asks for another scheduler, which may have other rules"
        found.append(Note("otherScheduler", text))
    if explanation.fits:
        room = yield from _room(state, explanation)
        found += [] if room is None else [room]
        hard = [field for field in HARD if field in unmodelled]
        if hard:
            text = (
                f"the scheduler may refuse some of these nodes for the pod's {' and '.join(hard)}: "
                "that is not looked at here"
            )
            found.append(Note("notLookedAt", text))
    return found


def _room(state: ClusterState, explanation: Explanation) -> Generator[None, None, Note | None]:
    pod = explanation.pod
    rules = [*NodePorts().rules(state, pod), *NodeResourcesFit().rules(state, pod)]
    causes: Counter[str] = Counter()
    refused = 0
    for place, name in enumerate(explanation.fits):
        lacking = [rule.what for rule in rules if not rule.allows(name)]
        here = {*untolerated(state, pod, name), *lacking}
        causes.update(here)
        refused += bool(here)
        if place % AT_ONCE == 0:
            yield
    if not refused:
        return None
    first = sorted(causes, key=lambda what: (-causes[what], what))
    said = [f"{causes[what]:,} {what}" for what in first[:MOST_CAUSES]]
    more = [f"{len(first) - MOST_CAUSES} more causes"] if len(first) > MOST_CAUSES else []
    fit = len(explanation.fits)
    which = "it" if fit == 1 else "all of them"
    if refused < fit:
        which = f"{refused:,} of them"
    return Note(
        "room",
        f"affinity rules leave {plural(fit, 'node')}; the scheduler refuses {which} for other "
        f"reasons: {', '.join((*said, *more))}",
    )
