"""The cluster of the benchmarks as a state, for those that call the verbs directly."""

from __future__ import annotations

import gc
import json
from typing import Final

from bench.workloads import MIXED, cluster_items
from extender.core.cluster.state import ClusterState
from extender.core.config.document import decode
from extender.core.config.features import features, reads_rules, scope
from extender.core.config.schema import API_VERSION, KIND
from extender.core.wire.objects import NodeReader, PodReader, read_namespace

COVERS_ALL: Final = scope(
    decode(
        {
            "apiVersion": API_VERSION,
            "kind": KIND,
            "annotations": {"namespaceSelector": {}},
        }
    ),
    features(),
)
"""Rules beside specs count in each namespace."""
RULES: Final = reads_rules(features())


def mixed_cluster(nodes: int, pods: int, reader: PodReader) -> ClusterState:
    """Return a cluster whose applications have rules of each kind, as the reader sees its pods."""
    state = ClusterState(scope=COVERS_ALL)
    for item in cluster_items(nodes, pods, MIXED):
        raw = json.dumps(item).encode()
        match item["kind"]:
            case "Node":
                state.upsert_node(NodeReader().read(raw))
            case "Namespace":
                state.upsert_namespace(read_namespace(raw))
            case _:
                state.upsert_pod(reader.read(raw))
    state.compact()
    # As in the program, where what stays is taken out of the collector's sight after the start.
    gc.collect()
    gc.freeze()
    return state
