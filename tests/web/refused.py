"""A cluster in which filter refused a pod that waits."""

from __future__ import annotations

from extender.core.callbacks.refused_pods import RefusedPods
from extender.core.cluster.state import ClusterState
from extender.core.model.verdict import Reason
from tests.builders import HOST, ZONE, model_pod, node, pod, selector, state_of, term

DB = selector(app="db")
NODES = [
    node("a1", {HOST: "a1", ZONE: "a"}),
    node("a2", {HOST: "a2", ZONE: "a"}),
    node("b1", {HOST: "b1", ZONE: "b"}),
]
DB_0 = pod("db-0").labels(app="db").anti_affinity(term(ZONE, DB)).on("a1")
WAITS = pod("db-1").labels(app="db").anti_affinity(term(ZONE, DB))


def refused_state() -> tuple[ClusterState, RefusedPods]:
    """Return a cluster in which filter refused a pod that waits."""
    state = state_of(NODES, [], [DB_0, WAITS, pod("other")])
    refused = RefusedPods(state)
    refused.refused(
        model_pod(WAITS), ((Reason.ANTI_AFFINITY, ["a1", "a2"]), (Reason.AFFINITY, ["b1"]))
    )
    return state, refused


WHY = "2 node(s) didn't match pod anti-affinity rules; 1 node(s) didn't match pod affinity rules"
