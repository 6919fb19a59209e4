"""What a namespace with many pods costs when its labels change: `python -m bench.relabel`."""

from __future__ import annotations

import argparse
import gc
from statistics import median
from time import perf_counter

from bench.machine import machine
from bench.output import add_files, put_out
from bench.tables import table
from extender.cluster.state import ClusterState
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
TARGET_MS = 50.0
_TIMES = 9
_RED, _BLUE = selector(team="red"), selector(team="blue")


def main() -> None:
    """Measure, and print the report."""
    parser = argparse.ArgumentParser(prog="python -m bench.relabel", description=__doc__)
    add_files(parser)
    args = parser.parse_args()
    spent = {kinds: _milliseconds(kinds) for kinds in KINDS}
    lines = [(f"{kinds:,}", f"{each:.1f}", f"≤ {TARGET_MS:g}") for kinds, each in spent.items()]
    parts = [
        f"Measured on {machine()}.",
        f"{PODS:,} pods in the namespace, {NODES:,} nodes, medians of {_TIMES} changes.",
        table(("kinds of pods", "one change, ms", "target"), lines),
    ]
    put_out(args, "\n\n".join(parts), {"machine": machine(), "milliseconds": spent})


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
