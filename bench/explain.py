"""What an explanation costs, and how long it holds the event loop: `python -m bench.explain`."""

from __future__ import annotations

import argparse
import asyncio
import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from statistics import median
from time import thread_time
from typing import Any

import uvloop

from bench.clusters import RULES, mixed_cluster
from bench.output import add_files, put_out_measured
from bench.tables import table
from bench.turns import Turns
from bench.workloads import HOST, ZONE
from extender.core.cluster.state import ClusterState
from extender.core.collecting import keep_collecting
from extender.core.config.features import defaults, features
from extender.core.enabled import of_features
from extender.core.resources import book
from extender.core.verbs.inter_pod_affinity import InterPodAffinity
from extender.core.verbs.node_selection import of_nodes
from extender.core.web.turns import in_slices
from extender.core.wire.objects import PodReader
from extender.diagnosis.verbs.explain import explanation_of, preparing
from extender.diagnosis.verbs.explanation import Question
from extender.diagnosis.verbs.notes import notes
from extender.diagnosis.wire.explanation import read_manifest, write_explanation
from tests.builders import Pod, pod, selector, term

NODES, PODS = 5000, 150_000
TARGET_MS = 200.0
_TIMES = 7
_EVERYWHERE: dict[str, Any] = {"namespaceSelector": {}}
_BACKEND = selector(tier="backend")


def _asked(number: int) -> Mapping[str, Pod]:
    """Build the pods that are explained; their classes are new with every number."""
    new = pod(f"new-{number}", "team-1").labels(app="app-1", tier="front", run=str(number))
    one_more = new.labels(app="app-1", tier="backend")
    only = selector(app="app-1", run="none")
    return {
        "one more of 300 replicas, apart by host": one_more.anti_affinity(
            term(HOST, selector(app="app-1"))
        ),
        "apart by zone from one application": new.anti_affinity(
            term(ZONE, selector(app="app-2"), **_EVERYWHERE)
        ),
        "apart by zone from all 150,000 pods": new.anti_affinity(
            term(ZONE, _BACKEND, **_EVERYWHERE)
        ),
        "apart by host from all 150,000 pods": new.anti_affinity(
            term(HOST, _BACKEND, **_EVERYWHERE)
        ),
        "two affinity terms that no single pod meets": new.affinity(
            term(ZONE, selector(app="app-2"), **_EVERYWHERE),
            term(ZONE, selector(app="app-3"), **_EVERYWHERE),
        ),
        "near pods that there are none of": new.affinity(term(ZONE, only)),
        "preferences, and a node selector": one_more.prefers(
            50, term(ZONE, selector(app="app-1"))
        ).selects(**{ZONE: "zone-1"}),
        "no rules": new,
    }


@dataclass(frozen=True, slots=True)
class Cost:
    """Of explaining one pod, in milliseconds of processor time."""

    first: float
    """When nothing about the pod's rules was counted yet."""
    median: float
    slowest: float
    held: float
    """Between two turns of the event loop at most, in any of the runs."""
    size: int
    """Kilobytes of the answer."""


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.explain", description=__doc__)
    add_files(parser)
    args = parser.parse_args()
    every = tuple(facet for each in features() for facet in each.facets)
    reader = PodReader(rules=RULES, node_selection=True, facets=every)
    state = mixed_cluster(NODES, PODS, reader)
    book(defaults(), state, features())
    costs = uvloop.run(_measure(state, reader))
    head = ("the pod", "first, ms", "median, ms", "slowest, ms", "held at most, ms", "answer, KB")
    lines = [
        (
            name,
            *(f"{each:.0f}" for each in (cost.first, cost.median, cost.slowest)),
            f"{cost.held:.1f}",
            f"{cost.size:,}",
        )
        for name, cost in costs.items()
    ]
    size = (
        f"{NODES:,} nodes, {PODS:,} pods; {_TIMES} pods of each kind, one after the other. "
        "Processor time, which a busy machine does not change."
    )
    targets = f"Target: {TARGET_MS:g} ms. Nothing else is answered meanwhile."
    report = f"{size} {targets}\n\n{table(head, lines)}"
    put_out_measured(args, report, {"costs": _numbers(costs)})


def _numbers(costs: Mapping[str, Cost]) -> Mapping[str, Mapping[str, float]]:
    return {
        name: {"first": c.first, "median": c.median, "slowest": c.slowest, "held": c.held}
        for name, c in costs.items()
    }


async def _document(state: ClusterState, question: Question) -> list[bytes]:
    await in_slices(preparing(state, question.pod))
    found = explanation_of(state, question)
    return list(write_explanation(found, notes(state, found)))


async def _measure(state: ClusterState, reader: PodReader) -> Mapping[str, Cost]:
    affinity, further = InterPodAffinity(), of_features(defaults(), features()).values()
    nodes = of_nodes(further)
    plugins = (nodes, affinity, *(each for each in further if each.name != nodes.name))
    scoring = (affinity, nodes)
    question = partial(Question, plugins=plugins, scoring=scoring, max_score=20, names_all=False)
    turns = Turns()
    # As in the program.
    collecting = asyncio.create_task(keep_collecting())
    spent: dict[str, list[float]] = {}
    held: dict[str, float] = {}
    size: dict[str, int] = {}
    for number in range(_TIMES):
        for name, manifest in _asked(number).items():
            asked = read_manifest("Pod", json.dumps(manifest).encode(), reader)
            await asyncio.sleep(0.02)
            start = thread_time()
            longest, pieces = await turns.longest(_document(state, question(asked, [*state.nodes])))
            spent.setdefault(name, []).append(1000 * (thread_time() - start))
            held[name] = max(held.get(name, 0.0), longest)
            size[name] = sum(map(len, pieces)) // 1000
    collecting.cancel()
    return {
        name: Cost(each[0], median(each), max(each), held[name], size[name])
        for name, each in spent.items()
    }


if __name__ == "__main__":
    main()
