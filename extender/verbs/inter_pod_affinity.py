"""Inter-pod affinity: which nodes a pod may go to, and how well each suits it."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from itertools import compress
from operator import add, not_
from typing import ClassVar, Final

from extender.cluster.counts.nodes import NodeList, Nodes
from extender.cluster.counts.prefilter_state import DomainUnion, PreFilterState
from extender.cluster.counts.topology import DomainTable, Topology, picker
from extender.cluster.state import ClusterState
from extender.model.objects import Pod, PodClass
from extender.model.verdict import INTER_POD_AFFINITY, Reason
from extender.verbs.grouping import entangled
from extender.verbs.interaction import Interaction, Neighbours, interaction, together
from extender.verbs.plugins import MAX_NODE_SCORE, FilterResult
from extender.verbs.rules import Rule, pod_rules

FEW_NODES: Final = 4
"""Up to which their domains are looked up in each table: preempt asks about one node at a time,
each time with other pods left out, and there may be a thousand tables to unite."""


@dataclass(frozen=True, slots=True)
class InterPodAffinity:
    """The scheduler's plugin of that name; its arguments are those of InterPodAffinityArgs."""

    hard_pod_affinity_weight: int = 1
    """What an existing pod's required affinity term that matches the pod adds to its domain."""
    ignore_preferred_terms_of_existing_pods: bool = False
    """Score nothing for a pod without preferred terms of its own."""
    weight: int = 2
    """As in the scheduler's default profile."""
    of_annotations: bool = False
    """Only what pods have in annotations: the scheduler's own plugin does the rest."""

    name: ClassVar[str] = INTER_POD_AFFINITY
    compares_pods: ClassVar[bool] = True

    def concerns(self, state: ClusterState, pod: Pod) -> bool:
        """Tell that any pod may be refused where placed pods may repel it."""
        if not self.of_annotations:
            return True
        mine = state.class_in_force(pod.pod_class).by_annotation.affinity
        return mine.constrains or state.existing_terms.keeps_away_by_annotation

    def indeterminate(self, state: ClusterState, pod: Pod) -> str | None:
        """Say why a pod cannot be judged: required rules within its pod group, or a stale picture.

        Pods that no required rule is about, their own or one of a placed pod, can be.
        """
        if state.stale is not None and self._prefilter(state, pod).has_rules:
            return state.stale
        if pod.group is None:
            return None
        return entangled(state, pod, lambda each: self._view(state.class_in_force(each)))

    def filter(self, state: ClusterState, pod: Pod, asked: NodeList) -> FilterResult:
        """Judge each node by required affinity and anti-affinity, the pod's and placed pods'."""
        return _refuse(_constraints(self._prefilter(state, pod), asked), asked)

    def rules(self, state: ClusterState, pod: Pod) -> Iterator[Rule]:
        """Yield the required terms about the pod, its own and those of placed pods."""
        return pod_rules(state, self._prefilter(state, pod))

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
        """Judge each node as if pods with such interactions were on it as well."""
        near = together(others)
        constraints = _constraints_beside(self._prefilter(state, pod), near, state.nodes, asked)
        return _refuse(constraints, asked)

    def prepare(self, state: ClusterState, pod: Pod) -> Scores | None:
        """Return what sums up the terms about a pod, None when no domain has any."""
        weights: dict[Topology, dict[DomainTable, int]] = {}
        for table, weight in self._weighted_tables(self._prefilter(state, pod)):
            if table.counts:
                tables = weights.setdefault(table.topology, {})
                tables[table] = tables.get(table, 0) + weight
        return Scores(weights) if weights else None

    def _view(self, pod_class: PodClass) -> PodClass:
        """Return a class with the rules that are ours."""
        return pod_class.by_annotation if self.of_annotations else pod_class

    def _prefilter(self, state: ClusterState, pod: Pod) -> PreFilterState:
        return state.prefilter_state(self._view(state.class_of(pod)))

    def _weighted_tables(self, prefilter: PreFilterState) -> Iterator[tuple[DomainTable, int]]:
        # Asked of the pod, not of the tables: none is kept over a key that no node has.
        has_preferences = bool(prefilter.pod_class.affinity.preferred)
        if self.ignore_preferred_terms_of_existing_pods and not has_preferences:
            return
        yield from prefilter.preferred
        yield from prefilter.existing_preferred
        if self.hard_pod_affinity_weight:
            for table, terms in prefilter.existing_required:
                yield table, terms * self.hard_pod_affinity_weight


@dataclass(frozen=True, slots=True)
class Constraint:
    """One reason to refuse the nodes in, or outside, some domains of a topology."""

    reason: Reason
    topology: Topology
    domains: Collection[int]
    forbidden: bool
    """True: the domains are refused. False: everything outside them is."""

    def split(self, asked: NodeList) -> tuple[Sequence[str], Sequence[str]]:
        """Return the names of the nodes that fit, and of those that are refused."""
        names = asked.names
        by_name = self.topology.values_are_names and asked.template is None
        if self.forbidden and by_name and len(self.domains) <= len(names):
            # The short way for hostnames: the domains are the names, so no node is looked up.
            refused = self._values()
            fits = [name for name in names if name not in refused]
            if len(fits) == len(names):
                return fits, ()
            if not fits:
                return fits, names
            if len(fits) + len(refused) != len(names):
                # Some of the refused were not asked about.
                refused = refused.intersection(names)
            # Sorted, because the order of a set differs from one start of Python to the next.
            return fits, sorted(refused)
        inside = map(self.domains.__contains__, asked.domains(self.topology))
        hits = list(inside if self.forbidden else map(not_, inside))
        if True not in hits:
            return names, ()
        return list(compress(names, map(not_, hits))), list(compress(names, hits))

    def _values(self) -> set[str]:
        values = self.topology.values
        return {values[domain] for domain in self.domains}


def _refuse(constraints: Iterable[Constraint | Neighbours], asked: NodeList) -> FilterResult:
    """Judge the known nodes of a request; O(nodes x topologies that the rules name).

    A node refused for several reasons shows the first in the scheduler's order: pod affinity,
    own anti-affinity, existing pods' anti-affinity.
    """
    refused: list[tuple[Reason, Sequence[str]]] = []
    for constraint in constraints:
        if not asked.names:
            break
        fits, hit = constraint.split(asked)
        if hit:
            refused.append((constraint.reason, hit))
            asked = asked.only(fits)
    return FilterResult(asked, refused)


def _constraints(prefilter: PreFilterState, asked: NodeList) -> Iterator[Constraint]:
    if not prefilter.has_rules:
        return
    yield from _affinity(prefilter)
    yield from _keys(prefilter, asked)
    yield from _forbidden(Reason.ANTI_AFFINITY, prefilter.anti_affinity, asked)
    yield from _forbidden(Reason.EXISTING_ANTI_AFFINITY, prefilter.existing_anti_affinity, asked)


def _constraints_beside(
    prefilter: PreFilterState, near: Interaction, nodes: Nodes, asked: NodeList
) -> Iterator[Constraint | Neighbours]:
    """Yield the constraints where some pods are on every node as well, in the same order."""
    yield from _affinity(prefilter, met=near.attracts)
    yield from _forbidden(Reason.ANTI_AFFINITY, prefilter.anti_affinity, asked)
    yield Neighbours(Reason.ANTI_AFFINITY, near.repelled, nodes)
    yield from _forbidden(Reason.EXISTING_ANTI_AFFINITY, prefilter.existing_anti_affinity, asked)
    yield Neighbours(Reason.EXISTING_ANTI_AFFINITY, near.repels, nodes)


def _affinity(prefilter: PreFilterState, *, met: bool = False) -> Iterator[Constraint]:
    """Yield the domains that required affinity leaves.

    A table holds the pods that match all required terms, so each term's domain must hold one of
    them. When there are none anywhere and the pod would match its own terms, it may start the
    group wherever the node has every key. So it may where one of them is on the node itself: `met`.
    """
    first = met or prefilter.is_first
    for table in prefilter.affinity:
        # Every domain there is, and one that a template would be the first node of; that leaves out
        # the nodes without the key, which are in none.
        allowed = range(len(table.topology.values) + 1) if first else table.counts
        yield Constraint(Reason.AFFINITY, table.topology, allowed, forbidden=False)


def _keys(prefilter: PreFilterState, asked: NodeList) -> Iterator[Constraint]:
    """Refuse a template that lacks a key of required affinity.

    The tables do not tell: of all keys that no node has, one has a table.
    """
    labels, terms = asked.template, prefilter.pod_class.affinity.required
    if labels is not None and any(each.topology_key not in labels for each in terms):
        yield Constraint(Reason.AFFINITY, prefilter.affinity[0].topology, (), forbidden=False)


def _forbidden(
    reason: Reason, unions: Sequence[DomainUnion], asked: NodeList
) -> Iterator[Constraint]:
    """Yield the domains that are refused, those that matter to the nodes asked about at least."""
    few = len(asked.names) <= FEW_NODES
    for union in unions:
        domains = union.among(asked.domains(union.topology)) if few else union.domains()
        if domains is not None:
            yield Constraint(reason, union.topology, domains, forbidden=True)


class Scores:
    """The tables that are summed up for a pod's score, with their weights, by topology."""

    __slots__ = ("_by_topology",)

    def __init__(self, by_topology: Mapping[Topology, Mapping[DomainTable, int]]) -> None:
        self._by_topology = by_topology

    def raw(self, asked: NodeList) -> Sequence[int]:
        """Return the summed score of each node; O(nodes x tables), or less with few entries."""
        pick = picker(asked.numbers)
        parts = [
            part
            for topology, weights in self._by_topology.items()
            for part in _parts(topology, weights, pick(topology.domain_of))
        ]
        return reduce(_sum, parts)

    def normalised(self, raw: Iterable[int]) -> Mapping[int, int]:
        """Return the place of each distinct score between the lowest, 0, and the highest, 100."""
        return min_max(raw)


def min_max(raw: Iterable[int]) -> dict[int, int]:
    """Return what each distinct raw score becomes: 0..100 over all of them, all 0 when equal.

    In floating point and in the plugin's order of operations: 29 of 100 becomes 28 there, too.
    """
    distinct = set(raw)
    low = min(distinct)
    span = max(distinct) - low or 1
    return {score: int(MAX_NODE_SCORE * ((score - low) / span)) for score in distinct}


def _parts(
    topology: Topology, weights: Mapping[DomainTable, int], domains: Sequence[int]
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
