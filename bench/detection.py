"""What it costs to notice that running pods break a rule: `python -m bench.detection`."""

from __future__ import annotations

import argparse
import gc
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from statistics import median
from time import perf_counter

from bench.clusters import COVERS_ALL
from bench.output import add_files, put_out_measured
from bench.tables import table
from extender.core.cluster.state import ClusterState
from extender.core.config.features import features
from extender.core.model.labels import EVERYTHING
from extender.core.model.objects import Pod as ModelPod
from tests.builders import (
    HOST,
    Pod,
    model_node,
    model_pod,
    node,
    node_term,
    pod,
    requirement,
    selector,
)
from tests.builders import term as written

PODS = (10_000, 50_000, 150_000)
A_NODE = 30
"""Pods on each node."""
AFFECTED = (10, 100, 1000)
TIMES = 9
ON_SSD = pod("disk").requires_nodes(node_term(requirement("disk", "In", "ssd")))
WITH_PARTNER = pod("web").labels(app="web").affinity(written("rack", selector(app="db")))


(_FEATURE,) = (each for each in features() if each.places)
_BREACHES = _FEATURE.module("rules.breaches")
EVERYWHERE = _FEATURE.module("rules.execution").Execution(EVERYTHING)


@dataclass(frozen=True, slots=True)
class Spent:
    """What one kind of event took, in microseconds."""

    event: float
    judging: float
    judged: int
    broken: int


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.detection", description=__doc__)
    add_files(parser)
    args = parser.parse_args()
    found: dict[str, dict[int, Spent]] = {}
    for pods in PODS:
        for name, spent in _of(pods).items():
            found.setdefault(name, {})[pods] = spent
    lines = [
        (name, f"{pods:,}", str(each.judged), f"{each.event:.0f}", f"{each.judging:.0f}")
        for name, by_pods in found.items()
        for pods, each in by_pods.items()
    ]
    header = ("event", "pods in all", "pods judged", "event, µs", "judging, µs")
    parts = [
        f"Each pod has such a rule. {A_NODE} pods a node; medians of {TIMES} events.",
        table(header, lines),
    ]
    numbers = {
        name: {str(pods): [each.event, each.judging, each.judged] for pods, each in rows.items()}
        for name, rows in found.items()
    }
    put_out_measured(args, "\n\n".join(parts), {"microseconds": numbers})


def _of(pods: int) -> dict[str, Spent]:
    state = _state(pods)
    gc.collect()
    gc.freeze()
    found = {
        "a node loses a label that its pods ask for": _measure(
            state, lambda: _label(state, 0, "hdd"), lambda: _label(state, 0, "ssd")
        ),
        "a node changes a label that nobody asks for": _measure(
            state, lambda: _label(state, 0, "ssd", other="x"), lambda: _label(state, 0, "ssd")
        ),
        "a pod without rules of its own, of which none speaks, comes": _measure(
            state, lambda: _stranger(state), lambda: state.remove_pod("default/new", "new")
        ),
    }
    for affected in AFFECTED:
        partner = _partner(affected)
        found[f"the partner of {affected:,} pods goes"] = _measure(
            state,
            partial(state.remove_pod, partner.key, partner.uid),
            partial(state.upsert_pod, partner),
        )
    gc.unfreeze()
    return found


def _measure(state: ClusterState, change: Callable[[], None], undo: Callable[[], None]) -> Spent:
    events, judgings, judged, broken = [], [], 0, 0
    for _ in range(TIMES):
        start = perf_counter()
        change()
        middle = perf_counter()
        judged, broken = _judge(state)
        judgings.append(1e6 * (perf_counter() - middle))
        events.append(1e6 * (middle - start))
        undo()
        _judge(state)
    return Spent(median(events), median(judgings), judged, broken)


def _judge(state: ClusterState) -> tuple[int, int]:
    (watch,) = state.ledgers
    judged = broken = 0
    for identity in _BREACHES.suspects(watch, 1_000_000):
        judged += 1
        found = state.pod(*identity)
        broken += found is not None and bool(_BREACHES.in_force(watch, EVERYWHERE, found))
    return judged, broken


def _label(state: ClusterState, number: int, disk: str, **more: str) -> None:
    state.upsert_node(model_node(node(f"n{number}", _labels(number) | {"disk": disk} | more)))


def _labels(number: int) -> dict[str, str]:
    """Return where a node is: the racks of the partners have as many pods as are affected."""
    for affected in AFFECTED:
        if number in _rack(affected):
            return {HOST: f"n{number}", "rack": f"of-{affected}"}
    return {HOST: f"n{number}", "rack": f"r{number % 50}"}


def _rack(affected: int) -> range:
    """Return the numbers of the nodes of a rack; each has one pod with a partner for each slot."""
    start = 100 + sum(1 + each // A_NODE for each in AFFECTED if each < affected)
    return range(start, start + 1 + affected // A_NODE)


def _state(pods: int) -> ClusterState:
    state = ClusterState(scope=COVERS_ALL)
    state.book_with(_FEATURE.module("rules.rule_watch").RuleWatch(state, EVERYWHERE))
    nodes = pods // A_NODE
    for number in range(nodes):
        _label(state, number, "ssd")
    for affected in AFFECTED:
        state.upsert_pod(_partner(affected))
        rack = _rack(affected)
        for number in range(affected):
            where = f"n{rack[number % len(rack)]}"
            state.upsert_pod(_named(WITH_PARTNER, f"near-{affected}-{number}", where))
    taken = {number for affected in AFFECTED for number in _rack(affected)}
    free = [number for number in range(nodes) if number not in taken]
    for number in range(pods - sum(AFFECTED)):
        state.upsert_pod(_named(ON_SSD, f"disk-{number}", f"n{free[number % len(free)]}"))
    _judge(state)
    return state


def _partner(affected: int) -> ModelPod:
    where = f"n{_rack(affected)[0]}"
    return _named(pod("db").labels(app="db"), f"partner-{affected}", where)


def _stranger(state: ClusterState) -> None:
    state.upsert_pod(_named(pod("new").labels(app="new"), "new", "n0"))


def _named(raw: Pod, name: str, on: str) -> ModelPod:
    metadata = {**raw["metadata"], "name": name, "uid": name}
    return model_pod(Pod({**raw, "metadata": metadata}).on(on))


if __name__ == "__main__":
    main()
