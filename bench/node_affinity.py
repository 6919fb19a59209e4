"""What the plugin NodeAffinity costs beside InterPodAffinity: `python -m bench.node_affinity`."""

from __future__ import annotations

import argparse
import asyncio
import gc
import json
from collections.abc import Mapping
from dataclasses import dataclass
from statistics import median
from time import process_time_ns
from typing import Any

from bench.machine import machine
from bench.output import add_files, put_out
from bench.tables import table
from bench.workloads import MIXED, ZONE, Question, cluster_items, questions
from extender.cluster.state import ClusterState
from extender.model.node_affinity import NO_NODE_AFFINITY
from extender.verbs.inter_pod_affinity import InterPodAffinity
from extender.verbs.node_affinity import NodeAffinityPlugin
from extender.wire.objects import PodReader, read_namespace, read_node
from tests.answering import Answering

NODES, PODS = 5000, 15_000
NAMES = (500, NODES)
TARGET = 1.1
_ROUNDS = 40
_REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
_PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"


def _in_zones(operator: str, *zones: str) -> dict[str, Any]:
    requirement = {"key": ZONE, "operator": operator}
    return {"matchExpressions": [requirement | ({"values": zones} if zones else {})]}


WISHES: Mapping[str, dict[str, Any]] = {
    "none": {},
    "required, all nodes match": {
        "affinity": {_REQUIRED: {"nodeSelectorTerms": [_in_zones("Exists")]}}
    },
    "required, two of three nodes match": {
        "affinity": {_REQUIRED: {"nodeSelectorTerms": [_in_zones("NotIn", "zone-0")]}}
    },
    "a node selector, one of three nodes matches": {"nodeSelector": {ZONE: "zone-1"}},
    "preferred": {
        "affinity": {_PREFERRED: [{"weight": 50, "preference": _in_zones("In", "zone-1")}]}
    },
}


@dataclass(frozen=True, slots=True)
class Cost:
    """Median microseconds of processor time of a call, with the plugin and without it."""

    off: float
    on: float

    @property
    def ratio(self) -> float:
        """Return how many times as much a call costs with the plugin."""
        return self.on / self.off


def main() -> None:
    """Measure, and print the report."""
    parser = argparse.ArgumentParser(prog="python -m bench.node_affinity", description=__doc__)
    add_files(parser)
    args = parser.parse_args()
    found = asyncio.run(_measure())
    head = (
        *("names", "rules about pods", "about nodes"),
        *("filter, µs", "with it", "ratio", "prioritize, µs", "with it", "both, ratio"),
    )
    lines = [
        (
            *(f"{names:,}", rules, wish),
            *(f"{filtering.off:.0f}", f"{filtering.on:.0f}", f"{filtering.ratio:.2f}"),
            *(f"{scoring.off:.0f}", f"{scoring.on:.0f}"),
            f"{(filtering.on + scoring.on) / (filtering.off + scoring.off):.2f}",
        )
        for (names, rules, wish), (filtering, scoring) in found.items()
    ]
    parts = [
        f"Measured on {machine()}.",
        (
            f"{PODS:,} pods, {NODES:,} nodes, processor time of the callback alone, medians of "
            f"{_ROUNDS} calls, InterPodAffinity and NodeAffinity against the former by itself. "
            f"Target of filter: ≤ {TARGET:g}. Where nodes are refused, filter's answer names each "
            "of them with its reason, and prioritize is asked about fewer."
        ),
        table(head, lines),
    ]
    numbers = {
        " / ".join(map(str, key)): {
            "filter": [filtering.off, filtering.on],
            "prioritize": [scoring.off, scoring.on],
        }
        for key, (filtering, scoring) in found.items()
    }
    put_out(args, "\n\n".join(parts), {"machine": machine(), "microseconds": numbers})


async def _measure() -> dict[tuple[int, str, str], tuple[Cost, Cost]]:
    state = _state()
    gc.collect()
    gc.freeze()
    gc.disable()
    found = {}
    for names in NAMES:
        for rules in MIXED:
            asked = questions(rules, NODES, names)
            for wish, spec in WISHES.items():
                costs = await _costs(state, [_wishing(each, spec) for each in asked])
                found[names, rules.value, wish] = costs
    return found


def _wishing(question: Question, wish: Mapping[str, Any]) -> Question:
    spec = question.pod["spec"]
    affinity = {**spec.get("affinity", {})}
    if "affinity" in wish:
        affinity["nodeAffinity"] = wish["affinity"]
    more = {name: wish[name] for name in wish if name != "affinity"}
    pod = {**question.pod, "spec": {**spec, **more, "affinity": affinity}}
    return Question(pod, question.names)


async def _costs(state: ClusterState, asked: list[Question]) -> tuple[Cost, Cost]:
    """Ask with the plugin and without it in turn, so that both see the same machine."""
    pods, nodes = InterPodAffinity(), NodeAffinityPlugin(NO_NODE_AFFINITY)
    sides = {
        False: Answering(state, pods=PodReader(), defer=_never),
        True: Answering(
            state,
            plugins=(pods, nodes),
            scoring=(pods, nodes),
            pods=PodReader(node_affinity=True),
            defer=_never,
        ),
    }
    filtering: dict[bool, list[int]] = {False: [], True: []}
    scoring: dict[bool, list[int]] = {False: [], True: []}
    for number in range(2 * len(asked) + _ROUNDS):
        question = asked[number % len(asked)]
        for on, answers in sides.items():
            body = json.dumps(question.about(question.names), separators=(",", ":")).encode()
            start = process_time_ns()
            answer = await answers.filter(body)
            filtering[on].append(process_time_ns() - start)
            names = json.loads(answer)["NodeNames"]
            body = json.dumps(question.about(names), separators=(",", ":")).encode()
            start = process_time_ns()
            await answers.prioritize(body)
            scoring[on].append(process_time_ns() - start)
    return _cost(filtering), _cost(scoring)


def _cost(spent: Mapping[bool, list[int]]) -> Cost:
    off, on = (median(spent[side][-_ROUNDS:]) / 1000 for side in (False, True))
    return Cost(off, on)


def _never(work: object) -> None:
    """Leave out what is done when the answer is on its way."""
    del work


def _state() -> ClusterState:
    state, pods = ClusterState(), PodReader(node_affinity=True)
    for item in cluster_items(NODES, PODS, MIXED):
        raw = json.dumps(item).encode()
        match item["kind"]:
            case "Node":
                state.upsert_node(read_node(raw))
            case "Namespace":
                state.upsert_namespace(read_namespace(raw))
            case _:
                state.upsert_pod(pods.read(raw))
    state.compact()
    return state


if __name__ == "__main__":
    main()
