"""Which rules placed pods carry, and in which topology domains they hold: for page and JSON."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from http import HTTPStatus
from typing import NamedTuple

from extender.core.cluster.counts.existing_term import ExistingTerm
from extender.core.cluster.counts.topology import NO_DOMAIN, Topology
from extender.core.cluster.state import ClusterState
from extender.core.model.pod_affinity import PodSelector, Term
from extender.core.web.turns import QueryError
from extender.core.wire.validation import LONGEST_KEY


class Carried(NamedTuple):
    """A term that placed pods carry."""

    existing: ExistingTerm
    amount: int
    """Carriers, of the cluster or in one domain; for preferred terms the sum of their weights."""


@dataclass(frozen=True, slots=True)
class TermCensus:
    """What there is to say of one term; counts are by domain."""

    existing: ExistingTerm
    owners: dict[str, int]
    matched: Counter[str]
    namespaces: list[str]

    @property
    def domains(self) -> set[str]:
        """The domains with carriers or with pods that the term matches."""
        return {*self.owners, *self.matched}


def terms_by_topology(state: ClusterState) -> Counter[Topology]:
    """Count the terms over each topology key; O(terms)."""
    return Counter(each.owners.topology for each in state.existing_terms)


def nodes_by_domain(state: ClusterState, key: str) -> dict[str, list[str]]:
    """Group the names of the nodes by the domains of a topology key; O(nodes)."""
    found: dict[str, list[str]] = {}
    for name in state.nodes:
        value = state.nodes.labels(name).get(key)
        if value is not None:
            found.setdefault(value, []).append(name)
    return found


def nodes_in(state: ClusterState, key: str, value: str) -> list[str]:
    """Return the nodes of a domain; QueryError where there are none."""
    nodes = nodes_by_domain(state, key).get(value)
    if nodes is None:
        label = f"{shown(key)}={shown(value)}"
        raise QueryError(HTTPStatus.NOT_FOUND, f"no node has the label {label}")
    return nodes


def shown(text: str) -> str:
    """Return what a question says, cut where it is longer than any label can be."""
    if len(text) <= LONGEST_KEY:
        return text
    return f"{text[:LONGEST_KEY]}... ({len(text)} characters)"


def carried(state: ClusterState, after: int = 0) -> Iterator[Carried]:
    """Yield the terms with higher numbers, in order."""
    return (Carried(each, each.amount) for each in state.existing_terms.after(after))


def carried_in(state: ClusterState, key: str, value: str, after: int = 0) -> Iterator[Carried]:
    """Yield those that pods in a domain carry."""
    for each in state.existing_terms.after(after):
        if each.term.topology_key == key and (amount := amount_in(each, value)):
            yield Carried(each, amount)


def of_term(state: ClusterState, number: int) -> TermCensus:
    """Return what there is to say of a term; QueryError where it is gone."""
    existing = next(state.existing_terms.after(number - 1), None)
    if existing is None or existing.number != number:
        why = f"no term {number}; terms go with the last placed pod that carries them"
        raise QueryError(HTTPStatus.NOT_FOUND, why)
    matched = matched_by_domain(state, existing.term)
    spaces = namespaces_of(state, existing.term.pods)
    return TermCensus(existing, existing.owners.by_value(), matched, spaces)


def amount_in(existing: ExistingTerm, value: str) -> int:
    """Return what a domain holds of a term: carriers, or for preferred terms their weights."""
    domain = existing.owners.topology.number_of(value)
    return 0 if domain == NO_DOMAIN else existing.owners.counts.get(domain, 0)


def matched_by_domain(state: ClusterState, term: Term) -> Counter[str]:
    """Count the placed pods that a term matches, by domain; O(classes + their nodes)."""
    found: Counter[str] = Counter()
    names, about = state.nodes.names, term.pods
    covered = {*namespaces_of(state, about)}
    for placed in state.placed_classes:
        pod_class = placed.pod_class
        is_one = pod_class.namespace in covered and about.selector.matches(pod_class.labels)
        if is_one and (about.spared is None or state.is_about(term, pod_class)):
            for number, count in placed.on_nodes.items():
                value = state.nodes.labels(names[number]).get(term.topology_key)
                if value is not None:
                    found[value] += count
    return found


def namespaces_of(state: ClusterState, pods: PodSelector) -> list[str]:
    """Return the namespaces that a term is about now, by name; listed ones may be empty."""
    known = {*state.namespaces, *(each.pod_class.namespace for each in state.placed_classes)}
    covered = (name for name in known if pods.covers(name, state.namespace_labels(name)))
    return sorted({*pods.namespaces, *covered})
