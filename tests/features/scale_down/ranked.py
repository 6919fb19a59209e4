"""States in which pods have ranks, as where the feature is on."""

from __future__ import annotations

from typing import Any

from extender.core.cluster.state import ClusterState
from extender.core.model.objects import Pod
from extender.core.wire.objects import PodReader
from extender.features.scale_down.cost import COST, FACETS, DeletionCost
from extender.features.scale_down.ledger import Replicas
from tests.beside import RULES

READER = PodReader(owners=True, facets=FACETS, rules=RULES)


def ranked_state(**settings: Any) -> ClusterState:
    """Build a state that books replicas."""
    state = ClusterState(**settings)
    state.book_with(Replicas(state))
    return state


def replicas_in(state: ClusterState) -> Replicas:
    """Return the ledger of a state."""
    (found,) = (each for each in state.ledgers if isinstance(each, Replicas))
    return found


def costing(pod: Pod, cost: DeletionCost | None) -> Pod:
    """Return a pod with a cost, or with none."""
    if cost is not None:
        return pod.with_facet(COST, cost)
    others = (each for each in pod.status.facets if each[0] is not COST)
    return pod.with_status(facets=tuple(others))


def replica_mismatches(state: ClusterState) -> list[str]:
    """Return the pods that are not known among those of their controller as they are."""
    return [each for each in replicas_in(state).mismatches() if each is not None]
