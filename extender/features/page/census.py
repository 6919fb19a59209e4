"""The live picture for people: which rules there are, and which domains they hold in."""

from __future__ import annotations

from collections import Counter
from collections.abc import Generator
from typing import Final, TypeVar

from extender.cluster.counts.existing_term import ExistingTerm
from extender.cluster.counts.topology import NO_DOMAIN
from extender.cluster.state import ClusterState
from extender.model.pod_affinity import PodSelector, Term

AT_ONCE: Final = 200
"""Nodes, or pairs of a class and a node, that are looked at in one step, in a tenth of a ms."""

T = TypeVar("T")


def grouping_nodes(state: ClusterState, key: str) -> Generator[None, None, dict[str, list[str]]]:
    """Group the names of the nodes by the domains of a topology key, in steps; O(nodes).

    The state may change between two steps, here as below.
    """
    found: dict[str, list[str]] = {}
    for place, name in enumerate(list(state.nodes)):
        value = state.nodes.labels(name).get(key)
        if value is not None:
            found.setdefault(value, []).append(name)
        if place % AT_ONCE == 0:
            yield
    return found


def amount_in(existing: ExistingTerm, value: str) -> int:
    """Return what a domain holds of a term: carriers, or for preferred terms their weights."""
    domain = existing.owners.topology.number_of(value)
    return 0 if domain == NO_DOMAIN else existing.factor * existing.owners.counts.get(domain, 0)


def counting_matched(state: ClusterState, term: Term) -> Generator[None, None, Counter[str]]:
    """Count the placed pods that a term matches, by domain; O(classes + their nodes)."""
    found: Counter[str] = Counter()
    names, about = state.nodes.names, term.pods
    covered = {*(yield from choosing_namespaces(state, term.pods))}
    looked = 0
    for placed in list(state.placed_classes):
        pod_class = placed.pod_class
        looked += 1
        is_one = pod_class.namespace in covered and about.selector.matches(pod_class.labels)
        if is_one and (about.spared is None or state.is_about(term, pod_class)):
            for number, count in list(placed.on_nodes.items()):
                value = state.nodes.labels(names[number]).get(term.topology_key)
                if value is not None:
                    found[value] += count
                looked += 1
                if looked >= AT_ONCE:
                    looked = 0
                    yield
        if looked >= AT_ONCE:
            looked = 0
            yield
    return found


def choosing_namespaces(state: ClusterState, pods: PodSelector) -> Generator[None, None, list[str]]:
    """Choose the namespaces that a term is about now, by name; listed ones may be empty."""
    known = {*state.namespaces}
    for place, placed in enumerate(list(state.placed_classes)):
        known.add(placed.pod_class.namespace)
        if place % AT_ONCE == 0:
            yield
    chosen = {*pods.namespaces}
    for place, name in enumerate(known):
        if pods.covers(name, state.namespace_labels(name)):
            chosen.add(name)
        if place % AT_ONCE == 0:
            yield
    return sorted(chosen)
