"""Which topology domains a placed pod has to stay in, because running pods have to be near it."""

from __future__ import annotations

from collections.abc import Collection
from typing import Final

from extender.core.cluster.counts.existing_term import ExistingTerm, Role
from extender.core.cluster.counts.pod_sets import matched_by
from extender.core.cluster.state import ClusterState
from extender.core.model.objects import Pod

MOST_LOOKED_AT: Final = 64
"""Terms with owners in the pod's domains that are looked at; with more, it stays where it is."""


def keys_to_keep(state: ClusterState, pod: Pod) -> Collection[str]:
    """Return the topology keys over which a pod must not go to another domain.

    Required affinity of a pod in its domain is about it, and no other pod there matches the term.
    Nothing of a pod that has no node here. O(required affinity terms about the pod).
    """
    if pod.node is None or pod.node not in state.nodes:
        return ()
    node = state.nodes.number_of(pod.node)
    with state.without(pod.key, pod.uid):
        prefilter, looked_at = state.prefilter_state_of(pod), 0
        if not any(each.has(each.topology.domain_of[node]) for each in prefilter.existing_required):
            return ()
        space = state.namespace_labels(pod.pod_class.namespace)
        found = set[str]()
        for each in state.existing_terms.matching(prefilter.pod_class, space):
            key = each.term.topology_key
            if each.role is Role.REQUIRED and key not in found and _has_owners(each, node):
                looked_at += 1
                if looked_at > MOST_LOOKED_AT or not _is_met_without(state, each, node):
                    found.add(key)
        return found


def _has_owners(existing: ExistingTerm, node: int) -> bool:
    return existing.owners.has(existing.owners.topology.domain_of[node])


def _is_met_without(state: ClusterState, existing: ExistingTerm, node: int) -> bool:
    """Return whether a term is met in the domain of a node; not if that would take long to tell."""
    matched = state.matching([matched_by(existing.term)])
    return matched is not None and matched[0].has(matched[0].topology.domain_of[node])
