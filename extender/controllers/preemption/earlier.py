"""Where victims were to make room for a pod before, by this process or another."""

from __future__ import annotations

from collections.abc import Iterator

from extender.cluster.state import ClusterState
from extender.controllers.preemption.record import Record
from extender.model.objects import Pod
from extender.verbs.nominating import loses_victims

REMEMBERED_SECONDS = 60.0
"""How long such a node is remembered, once no victims are left there."""


def earlier_nodes(
    state: ClusterState, record: Record, pod: Pod, now: float, *, is_hint: bool
) -> Iterator[str]:
    """Yield such nodes, as far as we know; a nomination that is a hint is for no victims.

    Where pods are marked for this one, no others count: a deletion of these may be under way yet.
    """
    marked = {str(each.node) for each in state.victims_of(pod.uid)}
    if marked:
        yield from sorted(marked, key=lambda node: (node != pod.nominated, node))
        return
    if pod.nominated is not None and not is_hint:
        yield pod.nominated
    node = record.last_node
    if node is not None and (
        now - record.last_at < REMEMBERED_SECONDS or loses_victims(state, pod, node)
    ):
        yield node
