"""Whether a placed pod sits as well as it can by its preferred rules."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from extender.core.cluster.state import ClusterState
from extender.core.model.objects import Pod
from extender.diagnosis.verbs.sitting import BetterPlace, Sitting
from extender.features.moving.rules.improving import better_places, stays
from extender.features.moving.rules.worth import terms_for_moves

MOST_TERMS: Final = 8
"""Preferred terms of a pod that is looked at: each is looked up."""
MARGIN: Final = 1


def sitting(state: ClusterState, pod: Pod, takers: Sequence[str]) -> Sitting | None:
    """Return whether a node of those that would take a placed pod suits it better.

    As `improvement`, but for who would take it. None of a pod that is not there, has no preferences
    for which it may be moved, or more of them than are looked at. O(nodes x tables).
    """
    terms, asks = terms_for_moves(state.class_of(pod)), pod.node_selection
    prefers = terms or (asks is not None and any(asks.preferred_rules))
    known = state.pod(pod.key, pod.uid)
    is_there = known is not None and known.node == pod.node and not known.status.deleting
    if pod.node is None or not prefers or len(terms) > MOST_TERMS or not is_there:
        return None
    found = better_places(state, pod, state.nodes.asked([pod.node, *takers]), MARGIN)
    best: BetterPlace | None = None
    for name, (mine, total) in found.items():
        if best is None or total > best.total:
            best = BetterPlace(name, mine, total)
    return Sitting(best, stays(pod))
