"""The live picture for people: which rules there are, and which domains they hold in."""

from __future__ import annotations

from collections import Counter

from extender.cluster.counts.existing_terms import ExistingTerm
from extender.cluster.counts.topology import NO_DOMAIN
from extender.cluster.state import ClusterState
from extender.model.pod_affinity import PodSelector, Term


def nodes_by_domain(state: ClusterState, key: str) -> dict[str, list[str]]:
    """Return the names of the nodes in each domain of a topology key; O(nodes)."""
    found: dict[str, list[str]] = {}
    for name in state.nodes:
        value = state.nodes.labels(name).get(key)
        if value is not None:
            found.setdefault(value, []).append(name)
    return found


def amount_in(existing: ExistingTerm, value: str) -> int:
    """Return what a domain holds of a term: carriers, or for preferred terms their weights."""
    domain = existing.owners.topology.number_of(value)
    return 0 if domain == NO_DOMAIN else existing.owners.counts.get(domain, 0)


def matched_by_domain(state: ClusterState, term: Term) -> Counter[str]:
    """Count the placed pods that a term speaks of, by domain; O(classes + their nodes)."""
    found: Counter[str] = Counter()
    names, selector = state.nodes.names, term.pods.selector
    covered = {*covered_namespaces(state, term.pods)}
    for placed in state.placed_classes:
        pod_class = placed.pod_class
        if pod_class.namespace in covered and selector.matches(pod_class.labels):
            for number, count in placed.on_nodes.items():
                value = state.nodes.labels(names[number]).get(term.topology_key)
                if value is not None:
                    found[value] += count
    return found


def covered_namespaces(state: ClusterState, pods: PodSelector) -> list[str]:
    """Return the namespaces that a term speaks of now, by name; listed ones may be empty."""
    chosen = {
        name
        for name in {
            *state.namespaces,
            *(placed.pod_class.namespace for placed in state.placed_classes),
        }
        if pods.covers(name, state.namespace_labels(name))
    }
    return sorted(chosen | pods.namespaces)
