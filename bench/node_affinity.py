"""What the plugin NodeAffinity costs beside InterPodAffinity: `python -m bench.node_affinity`."""

from __future__ import annotations

import argparse
import asyncio
import gc
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import median
from time import process_time_ns
from typing import Any

from bench.clusters import RULES, mixed_cluster
from bench.output import add_files, put_out_measured
from bench.tables import table
from bench.workloads import MIXED, ZONE, Question, questions
from extender.core.cluster.counts.nodes import NodeList
from extender.core.cluster.state import ClusterState
from extender.core.model.node_selection import NO_NODE_SELECTION
from extender.core.model.objects import Pod
from extender.core.model.verdict import Reason
from extender.core.verbs.inter_pod_affinity import InterPodAffinity
from extender.core.verbs.node_selection import NodeSelectionPlugin
from extender.core.verbs.plugins import FilterResult
from extender.core.wire.objects import PodReader
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
    alike: float
    """With another plugin, which refuses the same nodes and knows them beforehand."""

    @property
    def ratio(self) -> float:
        return self.on / self.off

    @property
    def fair_ratio(self) -> float:
        """Return the same against an answer of the same length."""
        return self.on / self.alike


@dataclass(frozen=True, slots=True)
class Refusing(NodeSelectionPlugin):
    """Refuses the nodes that NodeAffinity would, of which it is told."""

    refused: frozenset[str] = frozenset()

    def filter(self, state: ClusterState, pod: Pod, asked: NodeList) -> FilterResult:
        """Look each name up in a set, the plain way."""
        del state, pod
        if not self.refused:
            return FilterResult(asked, ())
        hit = [name for name in asked.names if name in self.refused]
        fits = asked.only([name for name in asked.names if name not in self.refused])
        return FilterResult(fits, [(Reason.NODE_AFFINITY, hit)])


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.node_affinity", description=__doc__)
    add_files(parser)
    args = parser.parse_args()
    found = asyncio.run(_measure())
    head = (
        *("names", "rules about pods", "about nodes"),
        *("filter, µs", "with it", "ratio", "with as many refused by a set", "ratio"),
        *("prioritize, µs", "with it", "both, ratio"),
    )
    lines = [
        (
            *(f"{names:,}", rules, wish),
            *(f"{filtering.off:.0f}", f"{filtering.on:.0f}", f"{filtering.ratio:.2f}"),
            *(f"{filtering.alike:.0f}", f"{filtering.fair_ratio:.2f}"),
            *(f"{scoring.off:.0f}", f"{scoring.on:.0f}"),
            f"{(filtering.on + scoring.on) / (filtering.off + scoring.off):.2f}",
        )
        for (names, rules, wish), (filtering, scoring) in found.items()
    ]
    parts = [
        (
            f"{PODS:,} pods, {NODES:,} nodes, processor time of the callback alone, medians of "
            f"{_ROUNDS} calls, InterPodAffinity and NodeAffinity against the former by itself; "
            "NodeAffinity filters first, as in the scheduler's default profile. Target of filter "
            f"over all kinds of pods: ≤ {TARGET:g}. Where nodes are refused, its answer names each "
            "of them with its reason, and prioritize is asked about fewer: so it is also compared "
            "with a plugin that refuses the same nodes by looking their names up in a set."
        ),
        table(head, lines),
        *(_in_all(names, found) for names in NAMES),
    ]
    numbers = {
        " / ".join(map(str, key)): {
            "filter": [filtering.off, filtering.on, filtering.alike],
            "prioritize": [scoring.off, scoring.on],
        }
        for key, (filtering, scoring) in found.items()
    }
    put_out_measured(args, "\n\n".join(parts), {"microseconds": numbers})


def _in_all(names: int, found: Mapping[tuple[int, str, str], tuple[Cost, Cost]]) -> str:
    """Say what the plugin costs over all kinds of pods together."""
    costs = [each for key, each in found.items() if key[0] == names]
    filters, scores = zip(*costs, strict=True)
    filtering, both = _ratio(filters), _ratio((*filters, *scores))
    told = f"All kinds of pods together, with {names:,} names"
    return f"{told}: filter {filtering:.2f}, both {both:.2f}."


def _ratio(costs: Sequence[Cost]) -> float:
    return sum(each.on for each in costs) / sum(each.off for each in costs)


async def _measure() -> dict[tuple[int, str, str], tuple[Cost, Cost]]:
    state = mixed_cluster(NODES, PODS, PodReader(rules=RULES, node_selection=True))
    gc.disable()
    # As when the first list has been read: from then on the C library keeps what a long answer
    # took, which else it gives back to the system each time, and gets again page by page.
    bytearray(8 << 20)
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
    pods, nodes = InterPodAffinity(), NodeSelectionPlugin(NO_NODE_SELECTION)
    refusing = Refusing(refused=_refused(state, asked[0], nodes))
    sides = {"off": Answering(state, pods=PodReader(rules=RULES), defer=_never)} | {
        name: Answering(
            state,
            plugins=(plugin, pods),
            scoring=(pods, nodes),
            pods=PodReader(rules=RULES, node_selection=True),
            defer=_never,
        )
        for name, plugin in (("on", nodes), ("alike", refusing))
    }
    filtering: dict[str, list[int]] = {side: [] for side in sides}
    scoring: dict[str, list[int]] = {side: [] for side in sides}
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


def _refused(
    state: ClusterState, question: Question, plugin: NodeSelectionPlugin
) -> frozenset[str]:
    """Return all nodes of the cluster that the plugin refuses for the pods of a question."""
    pod = PodReader(rules=RULES, node_selection=True).read(json.dumps(question.pod).encode())
    everywhere = state.nodes.asked(list(state.nodes))
    refused = plugin.filter(state, pod, everywhere).refused
    return frozenset(name for _, names in refused for name in names)


def _cost(spent: Mapping[str, list[int]]) -> Cost:
    costs = {side: median(each[-_ROUNDS:]) / 1000 for side, each in spent.items()}
    return Cost(costs["off"], costs["on"], costs["alike"])


def _never(work: object) -> None:
    """Leave out what is done when the answer is on its way."""
    del work


if __name__ == "__main__":
    main()
