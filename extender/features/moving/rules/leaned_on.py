"""Which topology domains a placed pod has to stay in, because running pods have to be near it."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from itertools import chain, islice
from typing import Final

from extender.core.cluster.counts.existing_term import ExistingTerm, Role
from extender.core.cluster.counts.pod_sets import KeyedSet, matched_by_all
from extender.core.cluster.counts.term_index import TermGroup
from extender.core.cluster.state import ClusterState
from extender.core.model.objects import Pod

MOST_TERMS: Final = 1_000
"""About a pod that are gone through; with more, it stays where any of them may be about it."""
MOST_CLASSES: Final = 20_000
"""Classes of placed pods that are asked whether they carry one of these terms: some milliseconds.
With more, a pod stays where one does."""
MOST_OWNERS: Final = 200
"""Classes that do, and pods on their way out of a domain, whose rules and labels are looked at."""
MOST_LOOKED_UP: Final = 16
"""Sets of terms of these classes whose pods are counted."""


def keys_to_keep(state: ClusterState, pod: Pod, going: Iterable[Pod] = ()) -> Collection[str]:
    """Return the topology keys over which a pod must not go to another domain.

    A pod in its domain has required affinity that is met by this one, and by no other that stays
    there: it has to match all of the terms. Those that are `going` are being evicted, which no
    watch may have shown yet. Nothing of a pod that has no node here. O(terms about it + classes).
    """
    if pod.node is None or pod.node not in state.nodes:
        return ()
    with state.without(pod.key, pod.uid):
        node = state.nodes.number_of(pod.node)
        summed = state.prefilter_state_of(pod).existing_required
        left = {each.topology.key for each in summed if each.has(each.topology.domain_of[node])}
        if not (left or state.scope.is_anywhere):
            return ()
        terms = [*islice(_about(state, pod), MOST_TERMS + 1)]
        if len(terms) > MOST_TERMS:
            return left
        owned = [each for each in terms if each is not None and _has_owners(each, node)]
        left = {each.term.topology_key for each in owned}
        sets = _sets(state, pod, owned, node) if owned else ()
        if sets is None:
            return left
        gone = {key: _gone(state, key, pod, going) for key in {key for _, key in sets}}
        return {each[1] for each in sets if not _is_met_without(state, each, node, gone[each[1]])}


def _about(state: ClusterState, pod: Pod) -> Iterator[ExistingTerm | None]:
    """Yield the required affinity of placed pods that is about a pod, None for other terms.

    What was edited after its owner had been placed holds for that owner.
    """
    pod_class = state.class_of(pod)
    space = state.namespace_labels(pod_class.namespace)
    for each in state.existing_terms.speaking_of(pod_class, space):
        source = each.source and each.source._replace(later=False)
        if each.role is not Role.REQUIRED or not state.scope.counts(source, pod_class.namespace):
            yield None
        elif isinstance(each, TermGroup):
            yield from each.about(pod_class, space)
        else:
            yield each


def _has_owners(existing: ExistingTerm, node: int) -> bool:
    return existing.owners.has(existing.owners.topology.domain_of[node])


def _sets(
    state: ClusterState, pod: Pod, owned: Iterable[ExistingTerm], node: int
) -> Collection[KeyedSet] | None:
    """Return whom pods in the domains of a node have to be near, by each of their keys there.

    Of those that the pod itself belongs to. None where it would take long to tell.
    """
    tables = {each.owners for each in owned}
    topologies = {each.topology.key: each.topology for each in tables}
    if len(state.placed_classes) > MOST_CLASSES:
        return None
    owners = [each for each in state.placed_classes if not tables.isdisjoint(each.owned)]
    if len(owners) > MOST_OWNERS:
        return None
    namespace = pod.pod_class.namespace
    space, found = state.namespace_labels(namespace), dict[KeyedSet, None]()
    for each in owners:
        rules = state.class_in_force(each.pod_class).affinity.required
        for named in matched_by_all(rules):
            topology = topologies.get(named[1])
            if topology is not None and named not in found and named[0].weigh(pod.pod_class, space):
                domains = topology.domain_of
                if any(domains[other] == domains[node] for other in each.on_nodes):
                    found[named] = None
    return None if len(found) > MOST_LOOKED_UP else found


def _gone(state: ClusterState, key: str, pod: Pod, going: Iterable[Pod]) -> Sequence[Pod]:
    """Return the pods that are on their way out of a pod's domain of a key, each once."""
    labels = state.nodes.labels
    domain = labels(pod.node or "").get(key)
    shown = [state.pod(each.key, each.uid) for each in going]
    leaving = chain(state.terminating_pods, state.victims, shown)
    found = {
        each.uid: each
        for each in leaving
        if each is not None and each.node is not None and labels(each.node).get(key) == domain
    }
    found.pop(pod.uid, None)
    return [*found.values()]


def _is_met_without(state: ClusterState, named: KeyedSet, node: int, gone: Sequence[Pod]) -> bool:
    """Return whether pods of a set stay in the domain of a node; not if that takes long to tell."""
    tables = state.matching([named])
    if tables is None or len(gone) > MOST_OWNERS:
        return False
    pods, number = named[0], tables[0].topology.domain_of[node]
    left = sum(
        pods.weigh(each.pod_class, state.namespace_labels(each.pod_class.namespace))
        for each in gone
    )
    return tables[0].counts.get(number, 0) > left
