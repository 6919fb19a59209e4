"""The live picture for people: which rules there are, and which domains they hold in."""

from __future__ import annotations

from collections import Counter

from extender.cluster.counts.existing_term import ExistingTerm
from extender.cluster.counts.topology import NO_DOMAIN, Topology
from extender.cluster.state import ClusterState
from extender.model.pod_affinity import PodSelector, Term


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


def amount_in(existing: ExistingTerm, value: str) -> int:
    """Return what a domain holds of a term: carriers, or for preferred terms their weights."""
    domain = existing.owners.topology.number_of(value)
    return 0 if domain == NO_DOMAIN else existing.factor * existing.owners.counts.get(domain, 0)


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
