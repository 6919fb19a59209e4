"""Rules over placed pods: what refuses the nodes of some topology domains."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import compress, filterfalse
from operator import not_
from typing import Final, TypeAlias

from extender.core.cluster.counts.count_tables import CountTable
from extender.core.cluster.counts.existing_term import Role
from extender.core.cluster.counts.nodes import NodeList, Nodes
from extender.core.cluster.counts.pod_sets import rule_sets
from extender.core.cluster.counts.prefilter_state import DomainUnion, PreFilterState
from extender.core.cluster.counts.topology import NO_DOMAIN, Topology
from extender.core.cluster.state import ClusterState
from extender.core.model.objects import PodClass
from extender.core.model.pod_affinity import Term
from extender.core.model.verdict import Reason
from extender.core.model.wording import short
from extender.core.verbs.interaction import Interaction
from extender.core.verbs.rules import Refusal, RefusalGroup, Rule

FEW_NODES: Final = 4
"""Up to which their domains are looked up in each table: preempt asks about one node at a time,
each time with other pods left out, and there may be a thousand tables to unite."""

GONE: Final = ": what was in the way has gone meanwhile"

Terms: TypeAlias = tuple[Term, ...]


@dataclass(slots=True, eq=False)
class PodRule(Rule):
    """Nodes in some domains of a topology are refused, or those in all others."""

    reason: Reason
    topology: Topology
    domains: Collection[int]
    forbidden: bool = True
    """True: the domains are refused. False: everything outside them is."""

    @property
    def key(self) -> str:
        return self.topology.key

    def split(self, asked: NodeList) -> tuple[NodeList, Sequence[str]]:
        names = asked.names
        if self.forbidden and self.topology.values_are_names and len(self.domains) <= len(names):
            # The short way for hostnames: the domains are the names, so no node is looked up.
            values = self.topology.values
            refused = {values[domain] for domain in self.domains}.intersection(names)
            if not refused:
                return asked, ()
            fits = list(filterfalse(refused.__contains__, names))
            # Sorted, because the order of a set differs from one start of Python to the next.
            return asked.only(fits), sorted(refused) if fits else names
        inside = map(self.domains.__contains__, asked.domains(self.topology))
        hits = list(inside if self.forbidden else map(not_, inside))
        if True not in hits:
            return asked, ()
        return asked.only(list(compress(names, map(not_, hits)))), list(compress(names, hits))

    def hits(self, asked: NodeList) -> Mapping[str, str | None]:
        domains, forbidden, values = self.domains, self.forbidden, self.topology.values
        places = zip(asked.names, asked.domains(self.topology), strict=True)
        return {
            name: None if domain == NO_DOMAIN else values[domain]
            for name, domain in places
            if (domain in domains) is forbidden
        }

    def cause(self, group: RefusalGroup) -> str:
        your, theirs = ("your annotation's", " (by annotation)") if self.annotated else ("your", "")
        key, where = short(self.key), group.places
        if self.reason is Reason.AFFINITY:
            lacking = f"no matching pod{where}"
            if group.nodes == group.without_label:
                lacking = f"no label {self.key}"
            return f"{your} affinity on {key}: {lacking}"
        if self.reason is Reason.ANTI_AFFINITY:
            return f"{your} anti-affinity on {key}, blocked by {group.in_the_way}{where}"
        return f"the anti-affinity{theirs} of {group.in_the_way} on {key}{where}"

    def behind(self, refusal: Refusal) -> str:
        if self.forbidden:
            return Rule.behind(self, refusal)
        return "refused whatever pods there are" if refusal.domain is None else self.what

    def remedy(self, domain: str | None, nodes: int) -> str:
        if self.forbidden:
            return GONE
        if domain is None:
            return f" if {'they' if nodes > 1 else 'it'} had the label {self.key}"
        return " if a pod that meets your required affinity were there"


@dataclass(slots=True, eq=False, kw_only=True)
class TermRule(PodRule):
    """The same of some terms, as far as one table stands for them."""

    table: CountTable
    terms: Terms
    annotated: bool
    number: int = 0
    what: str = ""


@dataclass(slots=True, eq=False)
class HeldDomains(Rule):
    """Domains of one topology key in which more important pods are about to be."""

    reason: Reason
    label: str
    values: Collection[str]
    nodes: Nodes

    def split(self, asked: NodeList) -> tuple[NodeList, Sequence[str]]:
        labels, key, values = self.nodes.labels, self.label, self.values
        hit = [each for each in asked.names if labels(each).get(key) in values]
        return (asked.without(hit), hit) if hit else (asked, ())


@dataclass(slots=True, eq=False)
class Neighbours(Rule):
    """Nodes that have one of some topology keys are refused.

    Two pods on one node share the domain of each key that the node has.
    """

    reason: Reason
    keys: frozenset[str]
    nodes: Nodes

    def split(self, asked: NodeList) -> tuple[NodeList, Sequence[str]]:
        labels, keys = self.nodes.labels, self.keys
        hit = [each for each in asked.names if not keys.isdisjoint(labels(each))]
        return asked.without(hit), hit


def united_rules(
    prefilter: PreFilterState, asked: NodeList, nodes: Nodes, near: Interaction | None = None
) -> Iterator[Rule]:
    """Yield what refuses nodes for a pod, one rule for all terms over a topology.

    In the scheduler's order: pod affinity, own anti-affinity, existing pods' anti-affinity. With
    `near`, as if such pods were on every node as well.
    """
    reason = Reason.AFFINITY
    for table, allowed in _affinity(prefilter, met=near is not None and near.attracts):
        yield PodRule(reason, table.topology, allowed, forbidden=False)
    reason = Reason.ANTI_AFFINITY
    yield from _forbidden(reason, prefilter.anti_affinity, asked)
    if near is not None and near.repelled:
        yield Neighbours(reason, near.repelled, nodes)
    reason = Reason.EXISTING_ANTI_AFFINITY
    yield from _forbidden(reason, prefilter.existing_anti_affinity, asked)
    if near is not None and near.repels:
        yield Neighbours(reason, near.repels, nodes)


def _affinity(
    prefilter: PreFilterState, *, met: bool = False
) -> Iterator[tuple[CountTable, Collection[int]]]:
    """Yield the domains that required affinity leaves.

    A table holds the pods that match all required terms, so each term's domain must hold one of
    them. When there are none anywhere and the pod would match its own terms, it may start the
    group wherever the node has every key. So it may where one of them is on the node itself: `met`.
    """
    first = met or prefilter.is_first
    for table in prefilter.affinity:
        # Every domain there is leaves out the nodes without the key, which are in none.
        yield table, range(len(table.topology.values)) if first else table.counts


def _forbidden(reason: Reason, unions: Sequence[DomainUnion], asked: NodeList) -> Iterator[PodRule]:
    """Yield the domains that are refused, those that matter to the nodes asked about at least."""
    few = len(asked.names) <= FEW_NODES
    for union in unions:
        domains = union.among(asked.domains(union.topology)) if few else union.domains()
        if domains is not None:
            yield PodRule(reason, union.topology, domains)


def rules_by_term(state: ClusterState, prefilter: PreFilterState) -> Iterator[TermRule]:
    """Yield what refuses nodes for a pod, term by term as far as tables tell them apart.

    The pod has to be left out of the counts. O(own terms + existing terms about the pod).
    """
    pod_class = prefilter.pod_class
    own = pod_class.affinity
    what = "no pod that matches all required terms" if len(own.required) > 1 else "no such pod"
    for table, allowed in _affinity(prefilter):
        terms = tuple(term for term in own.required if term.topology_key == table.topology.key)
        yield TermRule(
            Reason.AFFINITY,
            table.topology,
            allowed,
            forbidden=False,
            table=table,
            terms=terms,
            annotated=all(is_annotated(pod_class, term) for term in terms),
            what=what,
        )
    for terms, table in _own_anti_affinity(state, prefilter):
        annotated = all(is_annotated(pod_class, term) for term in terms)
        yield _anti_affinity(Reason.ANTI_AFFINITY, terms, table, annotated=annotated)
    labels = state.namespace_labels(pod_class.namespace)
    reason = Reason.EXISTING_ANTI_AFFINITY
    for each in state.existing_terms.matching(pod_class, labels):
        counts = each.annotated or not pod_class.of_annotations
        if counts and each.role is Role.REQUIRED_ANTI and each.owners.counts:
            # Owners in several namespaces may have the same term in annotations.
            number = each.number if each.annotated else 0
            yield _anti_affinity(
                reason, (each.term,), each.owners, annotated=each.annotated, number=number
            )


def _anti_affinity(
    reason: Reason, terms: Terms, table: CountTable, *, annotated: bool, number: int = 0
) -> TermRule:
    return TermRule(
        reason,
        table.topology,
        table.counts,
        table=table,
        terms=terms,
        annotated=annotated,
        number=number,
    )


def _own_anti_affinity(
    state: ClusterState, prefilter: PreFilterState
) -> Iterator[tuple[Terms, CountTable]]:
    own = prefilter.pod_class.affinity
    terms_of: dict[tuple[CountTable, ...], Terms] = {}
    for sought in rule_sets(own, state.nodes).anti_affinity:
        kept = [each for named in sought.sets if (each := state.matching_sets.find(*named))]
        if len(kept) == len(sought.sets):
            tables = tuple(each.table for each in kept)
            terms_of[tables] = sought.of(dict.fromkeys(own.required_anti))
    for union in prefilter.anti_affinity:
        # Of a table that is not kept up to date any more nobody knows which terms it was for.
        every = tuple(t for t in own.required_anti if t.topology_key == union.topology.key)
        for table in union.tables:
            yield terms_of.get(table.parts, every), table


def is_annotated(pod_class: PodClass, term: Term) -> bool:
    if pod_class.of_annotations:
        return True
    annotated = pod_class.annotated
    if annotated is None:
        return False
    own, added = annotated.own, annotated.added
    return term in (*added.required, *added.required_anti) and term not in (
        *own.required,
        *own.required_anti,
    )
