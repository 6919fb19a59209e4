"""What it costs when labels of a namespace or a node change: `python -m bench.relabel`."""

from __future__ import annotations

import argparse
import gc
from statistics import median
from time import perf_counter

from bench.output import add_files, put_out_measured
from bench.tables import table
from extender.core.cluster.state import ClusterState
from tests.builders import (
    Pod,
    model_namespace,
    model_node,
    model_pod,
    namespace,
    node,
    pod,
    selector,
)
from tests.builders import term as written

HOST, ZONE = "kubernetes.io/hostname", "topology.kubernetes.io/zone"
NODES, PODS, OTHERS = 5000, 10_000, 100
KINDS = (1, 100, PODS)
"""Replicas of one workload, of many, and pods of which each has a label of its own."""
ON_A_NODE, TERMS = 110, 16
"""Pods of a node, each with a label of its own, and the terms that each of them has."""
LABELS = ("heartbeat", ZONE)
"""One that no term uses, as controllers write all day, and one that all terms use."""
TARGET_MS = 50.0
_TIMES = 9
_RED, _BLUE = selector(team="red"), selector(team="blue")


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.relabel", description=__doc__)
    add_files(parser)
    args = parser.parse_args()
    spent = {kinds: _milliseconds(kinds) for kinds in KINDS}
    lines = [(f"{kinds:,}", f"{each:.1f}", f"≤ {TARGET_MS:g}") for kinds, each in spent.items()]
    of_node = _of_node()
    by_label = [(label, f"{each:.3f}", f"≤ {TARGET_MS:g}") for label, each in of_node.items()]
    parts = [
        f"{PODS:,} pods in the namespace, {NODES:,} nodes, medians of {_TIMES} changes.",
        table(("kinds of pods", "one change, ms", "target"), lines),
        f"A node with {ON_A_NODE} pods, all different, with {TERMS} terms each over its zone.",
        table(("label of the node", "one change, ms", "target"), by_label),
    ]
    found = {"milliseconds": spent, "milliseconds_of_node": of_node}
    put_out_measured(args, "\n\n".join(parts), found)


def _milliseconds(kinds: int) -> float:
    state = _state(kinds)
    # As in the program, where what stays is taken out of the collector's sight after the start.
    gc.collect()
    gc.freeze()
    spent = []
    for number in range(_TIMES):
        changed = model_namespace(namespace("big", {"team": "red" if number % 2 else "blue"}))
        start = perf_counter()
        state.upsert_namespace(changed)
        spent.append(1000 * (perf_counter() - start))
    return median(spent)


def _of_node() -> dict[str, float]:
    state = ClusterState()
    labels = {HOST: "n", ZONE: "a"}
    state.upsert_node(model_node(node("n", labels)))
    for number in range(ON_A_NODE):
        wishes = [
            written(ZONE, selector(app=f"a{number}-{wish}", own=str(number)))
            for wish in range(TERMS)
        ]
        state.upsert_pod(model_pod(pod(f"p{number}").avoids(5, *wishes).on("n")))
    gc.collect()
    gc.freeze()
    found = {}
    for label in LABELS:
        spent = []
        for number in range(_TIMES):
            changed = model_node(node("n", labels | {label: f"v{number}"}))
            start = perf_counter()
            state.upsert_node(changed)
            spent.append(1000 * (perf_counter() - start))
        found[label] = median(spent)
    return found


def _state(kinds: int) -> ClusterState:
    """Build a cluster in which terms speak of the namespace by its labels, now or later."""
    state = ClusterState()
    for number in range(NODES):
        labels = {HOST: f"n{number}", ZONE: "abc"[number % 3]}
        state.upsert_node(model_node(node(f"n{number}", labels)))
    for name in ("big", "other"):
        state.upsert_namespace(model_namespace(namespace(name, {"team": "red"})))
    for number in range(PODS):
        state.upsert_pod(model_pod(_one_of_many(number, kinds)))
    for number in range(OTHERS):
        curious = _curious(number)
        state.upsert_pod(model_pod(curious.on(f"n{number}")))
        state.prefilter_state(model_pod(curious).pod_class)
    return state


def _one_of_many(number: int, kinds: int) -> Pod:
    wish = written(HOST, selector(app="web"), namespaceSelector=_RED)
    made = pod(f"p{number}", "big").labels(app="web", kind=str(number % kinds)).avoids(5, wish)
    return made.on(f"n{number % NODES}")


def _curious(number: int) -> Pod:
    app = f"a{number}"
    made = pod(f"o{number}", "other").labels(app=app)
    return made.anti_affinity(
        written(HOST, selector(app="web"), namespaceSelector=_RED),
        written(ZONE, selector(app=app), namespaceSelector=_BLUE),
    )


if __name__ == "__main__":
    main()
