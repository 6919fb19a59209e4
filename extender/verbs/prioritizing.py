"""How well each node suits a pod."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from extender.cluster.nodes import AskedNodes
from extender.cluster.question import Question
from extender.cluster.topology import DomainTable, Topology

MAX_NODE_SCORE = 100
"""The upper end of a plugin's normalised score (framework.MaxNodeScore)."""


@dataclass(frozen=True, slots=True)
class Scoring:
    """Arguments of the plugin's score, as in InterPodAffinityArgs."""

    hard_pod_affinity_weight: int = 1
    """What an existing pod's required affinity term that matches the pod adds to its domain."""
    ignore_preferred_terms_of_existing_pods: bool = False
    """Score nothing for a pod without preferred terms of its own."""


class Scores:
    """The tables that a question sums up for its score, grouped by topology."""

    __slots__ = ("_by_topology",)

    def __init__(self, question: Question, scoring: Scoring) -> None:
        weights: dict[Topology, dict[DomainTable, int]] = {}
        for table, weight in _weighted_tables(question, scoring):
            if table.counts:
                tables = weights.setdefault(table.topology, {})
                tables[table] = tables.get(table, 0) + weight
        self._by_topology = weights

    @property
    def flat(self) -> bool:
        """Tell whether no node can have a score other than 0."""
        return not self._by_topology

    def raw(self, numbers: Sequence[int]) -> list[int]:
        """Return the summed score of each node; O(nodes x tables), or less with few entries."""
        total: list[int] = []
        for topology, weights in self._by_topology.items():
            domain_of = topology.domain_of
            domains = [domain_of[number] for number in numbers]
            for counts, weight in _merged(weights, len(numbers)):
                get = counts.get
                part = [weight * get(domain, 0) for domain in domains]
                total = [a + b for a, b in zip(total, part, strict=True)] if total else part
        return total


def normalised(raw: Sequence[int]) -> list[int]:
    """Scale scores to 0..100 over the nodes of the request; all 0 when they are equal.

    In floating point and in the plugin's order of operations: 29 of 100 becomes 28 there, too.
    """
    low, high = min(raw), max(raw)
    span = high - low
    if not span:
        return [0] * len(raw)
    scaled = {score: int(MAX_NODE_SCORE * ((score - low) / span)) for score in set(raw)}
    return [scaled[score] for score in raw]


def prioritize_nodes(
    question: Question, ask: Callable[[], AskedNodes], scoring: Scoring, max_score: int
) -> list[tuple[str, int]]:
    """Score the nodes of a request from 0 to max_score; nodes with 0 are left out.

    The nodes are looked up only when something can score: most pods have no such rules.
    """
    scores = Scores(question, scoring)
    if scores.flat:
        return []
    asked = ask()
    names = asked.names
    numbers = [number for number in asked.numbers if number is not None]
    if len(numbers) != len(names):
        # A node that is unknown has no score and does not stretch the others' scale.
        pairs = zip(names, asked.numbers, strict=True)
        names = [name for name, number in pairs if number is not None]
    if not numbers:
        return []
    final = [score * max_score // MAX_NODE_SCORE for score in normalised(scores.raw(numbers))]
    return [(name, score) for name, score in zip(names, final, strict=True) if score]


def _weighted_tables(question: Question, scoring: Scoring) -> Iterator[tuple[DomainTable, int]]:
    if scoring.ignore_preferred_terms_of_existing_pods and not question.preferred:
        return
    yield from question.preferred
    for table in question.existing_preferred:
        yield table, 1
    if scoring.hard_pod_affinity_weight:
        for table in question.existing_required:
            yield table, scoring.hard_pod_affinity_weight


def _merged(weights: dict[DomainTable, int], nodes: int) -> Iterator[tuple[dict[int, int], int]]:
    """Yield tables to look nodes up in: summed into one where that is less work."""
    entries = sum(len(table.counts) for table in weights)
    if len(weights) == 1 or entries > nodes:
        for table, weight in weights.items():
            yield table.counts, weight
        return
    merged: dict[int, int] = {}
    for table, weight in weights.items():
        for domain, count in table.counts.items():
            merged[domain] = merged.get(domain, 0) + weight * count
    yield merged, 1
