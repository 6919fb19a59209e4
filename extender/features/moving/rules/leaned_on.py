"""Which topology domains a placed pod has to stay in, because running pods have to be near it."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from itertools import islice
from typing import Final

from extender.core.cluster.counts.existing_term import ExistingTerm, Role
from extender.core.cluster.counts.pod_sets import matched_by
from extender.core.cluster.state import ClusterState
from extender.core.model.objects import Pod

MOST_TERMS: Final = 1_000
"""About a pod that are gone through, and pods that are being deleted; with more, it stays where any
of these terms may be about it."""
MOST_LOOKED_UP: Final = 16
"""Of these, how many with owners in its domains are looked up."""


def keys_to_keep(state: ClusterState, pod: Pod) -> Collection[str]:
    """Return the topology keys over which a pod must not go to another domain.

    Required affinity of a pod in its domain is about it, and no other pod that stays there matches
    the term. Nothing of a pod that has no node here. O(terms about it x pods being deleted), both
    bounded.
    """
    if pod.node is None or pod.node not in state.nodes:
        return ()
    node = state.nodes.number_of(pod.node)
    with state.without(pod.key, pod.uid):
        prefilter = state.prefilter_state_of(pod)
        left = {
            each.topology.key
            for each in prefilter.existing_required
            if each.has(each.topology.domain_of[node])
        }
        if not left:
            return ()
        space = state.namespace_labels(pod.pod_class.namespace)
        about = state.existing_terms.matching(prefilter.pod_class, space)
        terms = [*islice(about, MOST_TERMS + 1)]
        owned = [each for each in terms if each.role is Role.REQUIRED and _has_owners(each, node)]
        leaving = [each for each in state.terminating_pods if each.uid != pod.uid]
        if max(len(terms), len(leaving)) > MOST_TERMS or len(owned) > MOST_LOOKED_UP:
            return left
        return {
            each.term.topology_key
            for each in owned
            if not _is_met_without(state, each, pod.node, leaving)
        }


def _has_owners(existing: ExistingTerm, node: int) -> bool:
    return existing.owners.has(existing.owners.topology.domain_of[node])


def _is_met_without(
    state: ClusterState, existing: ExistingTerm, node: str, leaving: Sequence[Pod]
) -> bool:
    """Return whether a term is met in the domain of a node; not if that would take long to tell."""
    matched = state.matching([matched_by(existing.term)])
    if matched is None:
        return False
    term, labels = existing.term, state.nodes.labels
    domain = labels(node).get(term.topology_key)
    going = sum(
        labels(each.node or "").get(term.topology_key) == domain
        and state.is_about(term, each.pod_class)
        for each in leaving
    )
    number = matched[0].topology.domain_of[state.nodes.number_of(node)]
    return matched[0].counts.get(number, 0) > going
