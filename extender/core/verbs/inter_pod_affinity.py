"""Inter-pod affinity: which nodes a pod may go to, and how well each suits it."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

from extender.core.cluster.counts.count_tables import CountTable
from extender.core.cluster.counts.nodes import NodeList
from extender.core.cluster.counts.prefilter_state import PreFilterState
from extender.core.cluster.counts.topology import Topology, picker
from extender.core.cluster.state import ClusterState
from extender.core.model.objects import Pod, PodClass
from extender.core.model.verdict import INTER_POD_AFFINITY, Reason
from extender.core.verbs.interaction import Interaction, interaction, together
from extender.core.verbs.plugins import (
    MAX_NODE_SCORE,
    FilterPlugin,
    FilterResult,
    ScorePlugin,
    add_up,
    refuse,
)
from extender.core.verbs.pod_rules import HeldDomains, rules_by_term, united_rules
from extender.core.verbs.rules import Rule


@dataclass(frozen=True, slots=True)
class InterPodAffinity(FilterPlugin, ScorePlugin):
    """The scheduler's plugin of that name; its arguments are those of InterPodAffinityArgs."""

    hard_pod_affinity_weight: int = 1
    """What an existing pod's required affinity term that matches the pod adds to its domain."""
    ignore_preferred_terms_of_existing_pods: bool = False
    """Score nothing for a pod without preferred terms of its own."""

    name: ClassVar[str] = INTER_POD_AFFINITY
    compares_pods: ClassVar[bool] = True

    def concerns(self, state: ClusterState, pod: Pod) -> bool:
        """Return whether required terms are about the pod, its own or those of others.

        Of nominated ones, it may be any.
        """
        if not self.of_annotations:
            return bool(state.nominated) or self._prefilter(state, pod).has_rules
        mine = state.class_in_force(pod.pod_class).by_annotation.affinity
        if mine.constrains or state.existing_terms.keeps_away_by_annotation:
            return True
        return any(self._view(each).affinity.constrains for each in state.nominated.classes)

    def indeterminate(self, state: ClusterState, pod: Pod) -> str | None:
        """Say that the picture is stale, for a pod that required rules are about."""
        has_rules = state.stale is not None and self._prefilter(state, pod).has_rules
        return state.stale if has_rules else None

    def filter(self, state: ClusterState, pod: Pod, asked: NodeList) -> FilterResult:
        prefilter = self._prefilter(state, pod)
        if not prefilter.has_rules:
            return FilterResult(asked, ())
        return refuse(united_rules(prefilter, asked, state.nodes), asked)

    def rules(self, state: ClusterState, pod: Pod) -> Iterable[Rule]:
        prefilter = self._prefilter(state, pod)
        return rules_by_term(state, prefilter) if prefilter.has_rules else ()

    def interaction(
        self, state: ClusterState, pod: PodClass, other: PodClass
    ) -> Interaction | None:
        """Return whether the other would meet the pod's required affinity, or exclude it."""
        mine = state.class_in_force(pod)
        theirs = state.class_for_others(other, pod.namespace)
        return interaction(state, self._view(mine), self._view(theirs))

    def filter_beside(
        self, state: ClusterState, pod: Pod, asked: NodeList, others: Collection[Interaction]
    ) -> FilterResult:
        prefilter = self._prefilter(state, pod)
        return refuse(united_rules(prefilter, asked, state.nodes, together(others)), asked)

    def rules_beside(
        self, state: ClusterState, pod: Pod, others: Sequence[Pod]
    ) -> Iterator[HeldDomains]:
        """Yield the domains of the others' nodes over keys by which one excludes the other."""
        nodes_of: dict[PodClass, set[str]] = {}
        for other in others:
            nodes_of.setdefault(other.pod_class, set()).add(str(other.node))
        own, labels = state.class_of(pod), state.nodes.labels
        values: dict[tuple[Reason, str], set[str]] = {}
        for pod_class, nodes in nodes_of.items():
            between = self.interaction(state, own, pod_class)
            if between is None:
                continue
            keys = [(Reason.ANTI_AFFINITY, key) for key in between.repelled]
            keys += [(Reason.EXISTING_ANTI_AFFINITY, key) for key in between.repels]
            for reason, key in keys:
                found = {labels(node)[key] for node in nodes if key in labels(node)}
                values.setdefault((reason, key), set()).update(found)
        order = sorted(values, key=lambda each: (each[0] is not Reason.ANTI_AFFINITY, each[1]))
        for reason, key in order:
            yield HeldDomains(reason, key, values[reason, key], state.nodes)

    def prepare(self, state: ClusterState, pod: Pod) -> Scores | None:
        """Return what sums up the terms about a pod, None when no domain has any."""
        return scores(self._weighted_tables(self._prefilter(state, pod)))

    def _view(self, pod_class: PodClass) -> PodClass:
        return pod_class.by_annotation if self.of_annotations else pod_class

    def _prefilter(self, state: ClusterState, pod: Pod) -> PreFilterState:
        return state.prefilter_state(self._view(state.class_of(pod)))

    def _weighted_tables(self, prefilter: PreFilterState) -> Iterator[tuple[CountTable, int]]:
        # Asked of the pod, not of the tables: none is kept over a key that no node has.
        has_preferences = bool(prefilter.pod_class.affinity.preferred)
        if self.ignore_preferred_terms_of_existing_pods and not has_preferences:
            return
        yield from prefilter.preferred
        yield from ((table, 1) for table in prefilter.existing_preferred)
        if self.hard_pod_affinity_weight:
            yield from (
                (table, self.hard_pod_affinity_weight) for table in prefilter.existing_required
            )


class Scores:
    """The tables that are summed up for a pod's score, with their weights, by topology."""

    __slots__ = ("_by_topology",)

    def __init__(self, by_topology: Mapping[Topology, Mapping[CountTable, int]]) -> None:
        self._by_topology = by_topology

    def raw(self, asked: NodeList) -> Sequence[int]:
        """Return the summed score of each node; O(nodes x tables), or less with few entries."""
        pick = picker(asked.numbers)
        parts = [
            part
            for topology, weights in self._by_topology.items()
            for part in _parts(topology, weights, pick(topology.domain_of))
        ]
        return add_up(parts)

    def normalised(self, raw: Iterable[int]) -> Mapping[int, int]:
        """Return the place of each distinct score between the lowest, 0, and the highest, 100."""
        return min_max(raw)


def scores(weighted: Iterable[tuple[CountTable, int]]) -> Scores | None:
    weights: dict[Topology, dict[CountTable, int]] = {}
    for table, weight in weighted:
        if table.counts:
            tables = weights.setdefault(table.topology, {})
            tables[table] = tables.get(table, 0) + weight
    return Scores(weights) if weights else None


def min_max(raw: Iterable[int]) -> dict[int, int]:
    """Return what each distinct raw score becomes: 0..100 over all of them, all 0 when equal.

    In floating point and in the plugin's order of operations: 29 of 100 becomes 28 there, too.
    """
    distinct = set(raw)
    low = min(distinct)
    span = max(distinct) - low or 1
    return {score: int(MAX_NODE_SCORE * ((score - low) / span)) for score in distinct}


def _parts(
    topology: Topology, weights: Mapping[CountTable, int], domains: Sequence[int]
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
