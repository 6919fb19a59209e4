"""Rules that may refuse nodes, one by one, over the same tables that verdicts are made of."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Protocol

from extender.cluster.counts.existing_term import Role
from extender.cluster.counts.nodes import NodeList
from extender.cluster.counts.pod_sets import rule_sets
from extender.cluster.counts.prefilter_state import PreFilterState
from extender.cluster.counts.topology import NO_DOMAIN, DomainTable, picker
from extender.cluster.state import ClusterState
from extender.model.objects import PodClass
from extender.model.pod_affinity import Term
from extender.model.verdict import Reason


class Rule(Protocol):
    """One thing that may be wrong with a node."""

    @property
    def reason(self) -> Reason:
        """Return what is said of a node that it refuses."""

    @property
    def annotated(self) -> bool:
        """Return whether it is from an annotation, and not from a spec."""

    def hits(self, asked: NodeList) -> Mapping[str, int]:
        """Return the known nodes that it refuses, each with its domain of the rule's topology."""


@dataclass(frozen=True, slots=True)
class PodRule:
    """Required terms over one topology key, whose table says where they hold."""

    reason: Reason
    terms: tuple[Term, ...]
    """Of the pod itself, or with EXISTING_ANTI_AFFINITY of placed pods; more than one where a table
    stands for all of them."""
    annotated: bool
    """From an annotation, and not from a spec."""
    table: DomainTable = field(compare=False)
    """Affinity: the pods that match all required terms. Anti-affinity: the pods that match the
    terms, or those that carry them."""
    starts_group: bool = field(default=False, compare=False)
    """The first pod of a group may go to any node that has the key."""

    of_several: bool = field(default=False, compare=False)
    """One pod has to match other terms as well, over whatever key."""
    carried: int = 0
    """Tells rules of placed pods from others that have the same terms: large ones, and those in
    annotations."""
    _hash: int = field(init=False, repr=False, compare=False)
    """Taken once: a rule is looked up for each domain where it refuses nodes."""

    def __post_init__(self) -> None:
        object.__setattr__(
            self, "_hash", hash((self.reason, self.terms, self.annotated, self.carried))
        )

    def __hash__(self) -> int:
        return self._hash

    def hits(self, asked: NodeList) -> Mapping[str, int]:
        """Return the nodes that it refuses; O(nodes)."""
        counts = self.table.counts
        places = zip(asked.names, picker(asked.numbers)(self.table.topology.domain_of), strict=True)
        if self.reason is not Reason.AFFINITY:
            return {name: domain for name, domain in places if domain in counts}
        if self.starts_group:
            return {name: domain for name, domain in places if domain == NO_DOMAIN}
        return {name: domain for name, domain in places if domain not in counts}

    def value_of(self, domain: int) -> str | None:
        """Return the label value of a domain, None for nodes without the key."""
        return None if domain == NO_DOMAIN else self.table.topology.values[domain]


def pod_rules(state: ClusterState, prefilter: PreFilterState) -> Iterator[PodRule]:
    """Yield what InterPodAffinity may refuse nodes for, in the order of its reasons.

    The pod has to be left out of the counts. O(own terms + existing terms about the pod).
    """
    if not prefilter.has_rules:
        return
    pod_class = prefilter.pod_class
    own = pod_class.affinity
    for table in prefilter.affinity:
        key = table.topology.key
        terms = tuple(term for term in own.required if term.topology_key == key)
        several = len(own.required) > 1
        annotated = all(is_annotated(pod_class, term) for term in terms)
        yield PodRule(Reason.AFFINITY, terms, annotated, table, prefilter.is_first, several)
    yield from _own_anti_affinity(state, prefilter)
    labels, reason = state.namespace_labels(pod_class.namespace), Reason.EXISTING_ANTI_AFFINITY
    for each in state.existing_terms.matching(pod_class, labels):
        counts = each.annotated or not pod_class.of_annotations
        if counts and each.role is Role.REQUIRED_ANTI and each.owners.counts:
            # Owners in several namespaces may have the same term in annotations.
            number = each.number if each.annotated else 0
            yield PodRule(reason, (each.term,), each.annotated, each.owners, carried=number)
    for large in state.existing_terms.large_for(pod_class.namespace):
        if large.annotated or not pod_class.of_annotations:
            for owners, terms in large.excluding(pod_class, labels):
                yield PodRule(reason, terms, large.annotated, owners, carried=large.number)


def is_annotated(pod_class: PodClass, term: Term) -> bool:
    """Return whether a required term of a class is only in the annotation of its pods."""
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


def _own_anti_affinity(state: ClusterState, prefilter: PreFilterState) -> Iterator[PodRule]:
    own = prefilter.pod_class.affinity
    terms_of: dict[DomainTable, tuple[Term, ...]] = {}
    for pod_set, key in rule_sets(own, state.nodes).anti_affinity:
        counted = state.matching_sets.find(pod_set, key)
        if counted is not None:
            selectors = {pods for pods, _ in pod_set.weights}
            terms_of[counted.table] = tuple(
                term
                for term in dict.fromkeys(own.required_anti)
                if term.topology_key == key and term.pods in selectors
            )
    for union in prefilter.anti_affinity:
        # Of a table that is not kept up to date any more nobody knows which terms it was for.
        every = tuple(t for t in own.required_anti if t.topology_key == union.topology.key)
        for table in union.tables:
            terms = terms_of.get(table, every)
            annotated = all(is_annotated(prefilter.pod_class, term) for term in terms)
            yield PodRule(Reason.ANTI_AFFINITY, terms, annotated, table)
