"""Pods that are being deleted, and what a pod that waits will have of that."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import chain, islice
from typing import Final

from extender.core.cluster.state import ClusterState
from extender.core.model.objects import Pod
from extender.core.model.verdict import Reason
from extender.core.verbs.node_fit import NodeFit
from extender.core.verbs.rules import Refusal
from extender.diagnosis.verbs.explanation import Explanation, Leaving, NearMiss
from extender.diagnosis.verbs.node_room import EMPTY, SILENT, RoomRule

MOST_NODES: Final = 1000
"""Nodes without room whose pods are looked at, some 30 each: 3 ms."""
MOST_FOUND: Final = 3
_OF_ROOM: Final = (Reason.PORTS, Reason.RESOURCES)


def awaited(state: ClusterState, pod: Pod, found: Explanation) -> Leaving | None:
    """Return the victims that a pod waits for on its nominated node, as the scheduler does.

    It evicts no others until they are gone, unless evicting pods there is of no use any more
    (PodEligibleToPreemptOthers).
    """
    node = pod.status.nominated
    if node is None or pod.node is not None or found.fits:
        return None
    refused = found.refused.get(node)
    if refused is not None and not _may_end(state, pod, refused[0], node):
        return None
    victims = [
        each
        for each in state.pods_on(node)
        if each.status.preempted and each.spec.priority < pod.spec.priority
    ]
    return Leaving(node, victims) if victims else None


def _may_end(state: ClusterState, pod: Pod, refusal: Refusal, node: str) -> bool:
    """Return whether pods that go from a node could end a refusal there."""
    if refusal.reason in _OF_ROOM:
        return NodeFit(state, pod, node).is_curable
    return refusal.reason.resolvable


def may_preempt(state: ClusterState, found: Explanation) -> bool:
    """Return whether evicting less important pods could let a pod in, for all that is seen at once.

    Whom the scheduler would evict takes much longer to tell.
    """
    spec = found.pod.spec
    if found.fits or not (spec.may_preempt and state.has_less_important(spec.priority)):
        return False
    return any(
        all(each.reason in _OF_ROOM or each.reason.resolvable for each in refusals)
        and all(each.domain not in {EMPTY, SILENT} for each in refusals)
        for refusals in found.refused.values()
    )


def making_room(state: ClusterState, pod: Pod, misses: Iterable[NearMiss]) -> list[Leaving]:
    """Return on which nodes there is room once pods that are being deleted are gone."""
    return list(islice(_making_room(state, pod, misses), MOST_FOUND))


def _making_room(state: ClusterState, pod: Pod, misses: Iterable[NearMiss]) -> Iterator[Leaving]:
    lacking = (each.nodes for each in misses if _lacks_room(each))
    for node in islice(chain.from_iterable(lacking), MOST_NODES):
        going = [each for each in state.pods_on(node) if each.status.deleting]
        if going:
            fit = NodeFit(state, pod, node)
            for each in going:
                fit.free(each)
            if fit.fits:
                yield Leaving(node, going)


def _lacks_room(miss: NearMiss) -> bool:
    rule = miss.refusals[0].rule
    return isinstance(rule, RoomRule) and bool(rule.resource)
