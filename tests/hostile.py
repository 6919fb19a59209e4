"""Clusters and pods that are made to be dear: thousands of terms that match nearly everything."""

from __future__ import annotations

from extender.core.cluster.state import ClusterState
from tests.beside import COVERS_ALL
from tests.builders import (
    HOST,
    ZONE,
    Json,
    Pod,
    model_namespace,
    model_node,
    model_pod,
    namespace,
    node,
    pod,
    requirement,
)
from tests.builders import selector as selecting
from tests.builders import term as written

NAMESPACES = 10


def crowded(classes: int, pods: int, nodes: int) -> ClusterState:
    """Build a cluster of many workloads; a third of them keep their replicas apart by host."""
    state = ClusterState(scope=COVERS_ALL)
    for number in range(nodes):
        labels = {HOST: f"n{number}", ZONE: "abc"[number % 3]}
        state.upsert_node(model_node(node(f"n{number}", labels)))
    for number in range(NAMESPACES):
        state.upsert_namespace(model_namespace(namespace(f"ns{number}", {"team": f"t{number}"})))
    for number in range(pods):
        app = number % classes
        made = pod(f"p{number}", f"ns{app % NAMESPACES}").labels(app=f"a{app}")
        if app % 3 == 0:
            made = made.anti_affinity(written(HOST, selecting(app=f"a{app}")))
        state.upsert_pod(model_pod(made.on(f"n{number * 7 % nodes}")))
    return state


def unlike_anything(terms: int, *, key: str = HOST, kind: str = "x") -> list[Json]:
    """Build terms of which each matches nearly every pod everywhere, so that no index helps."""
    return [
        written(
            key,
            {"matchExpressions": [requirement("app", "NotIn", f"{kind}{number}")]},
            namespaceSelector={},
        )
        for number in range(terms)
    ]


def narrow(terms: int, *, key: str = HOST) -> list[Json]:
    """Build terms of which each matches one workload, over all namespaces."""
    return [
        written(key, selecting(app=f"a{number}"), namespaceSelector={}) for number in range(terms)
    ]


def hostile(terms: int, name: str = "hostile") -> Pod:
    """Build a pod that must be kept apart from everybody, many times over."""
    return pod(name, "ns0").labels(app=name).anti_affinity(*unlike_anything(terms))
