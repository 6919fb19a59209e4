"""How well each node suits a pod."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import reduce
from operator import add

from extender.cluster.counts.nodes import AskedNodes
from extender.cluster.counts.prefilter_state import Question
from extender.cluster.counts.topology import DomainTable, Topology, picker

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

    def raw(self, numbers: Sequence[int]) -> Sequence[int]:
        """Return the summed score of each node; O(nodes x tables), or less with few entries."""
        pick = picker(numbers)
        parts = [
            part
            for topology, weights in self._by_topology.items()
            for part in _parts(topology, weights, pick(topology.domain_of))
        ]
        return reduce(_sum, parts)


def scale(raw: Iterable[int], max_score: int) -> dict[int, int]:
    """Return what each distinct raw score becomes: 0..100 over all of them, then 0..max_score.

    All 0 when they are equal. In floating point and in the plugin's order of operations: 29 of
    100 becomes 28 there, too.
    """
    distinct = set(raw)
    low = min(distinct)
    span = max(distinct) - low or 1
    return {
        score: int(MAX_NODE_SCORE * ((score - low) / span)) * max_score // MAX_NODE_SCORE
        for score in distinct
    }


@dataclass(frozen=True, slots=True)
class Scored:
    """The known nodes of a request, by number, and their scores."""

    numbers: Sequence[int] = ()
    raw: Sequence[int] = ()
    """By position in numbers."""
    final: Mapping[int, int] = field(default_factory=dict)
    """The final score, from 0 to the configured maximum, by raw score."""


def prioritize_nodes(
    question: Question, ask: Callable[[], AskedNodes], scoring: Scoring, max_score: int
) -> Scored:
    """Score the nodes of a request from 0 to max_score; none is named when all have 0.

    The nodes are looked up only when something can score: most pods have no such rules. A node
    that is unknown has no score and does not stretch the others' scale.
    """
    scores = Scores(question, scoring)
    if scores.flat:
        return Scored()
    asked = ask()
    if not asked.numbers:
        return Scored()
    raw = scores.raw(asked.numbers)
    final = scale(raw, max_score)
    if not any(final.values()):
        return Scored()
    return Scored(asked.numbers, raw, final)


def _weighted_tables(question: Question, scoring: Scoring) -> Iterator[tuple[DomainTable, int]]:
    # Asked of the pod, not of the tables: none is kept over a key that no node has.
    has_preferences = bool(question.pod_class.affinity.preferred)
    if scoring.ignore_preferred_terms_of_existing_pods and not has_preferences:
        return
    yield from question.preferred
    for table in question.existing_preferred:
        yield table, 1
    if scoring.hard_pod_affinity_weight:
        for table in question.existing_required:
            yield table, scoring.hard_pod_affinity_weight


def _parts(
    topology: Topology, weights: dict[DomainTable, int], domains: Sequence[int]
) -> Iterator[Sequence[int]]:
    """Yield lists to be summed, a number for each node, the cheaper way round.

    Few entries are spread over a list of all domains, where a node costs one indexing; many, more
    than the nodes asked about, stay where they are, and each node costs a look-up in each table.
    """
    if sum(len(table.counts) for table in weights) <= len(domains) * len(weights):
        spread = [0] * (len(topology.values) + 1)  # the last is what NO_DOMAIN, -1, points at
        for table, weight in weights.items():
            for domain, count in table.counts.items():
                spread[domain] += weight * count
        yield picker(domains)(spread)
        return
    for table, weight in weights.items():
        get = table.counts.get
        yield [weight * get(domain, 0) for domain in domains]


def _sum(one: Sequence[int], other: Sequence[int]) -> Sequence[int]:
    return list(map(add, one, other))
