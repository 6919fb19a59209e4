"""What a node is worth to a pod by preferred terms, and by which of them it may be moved."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from operator import add
from typing import Final

from extender.core.cluster.counts.nodes import NodeList
from extender.core.cluster.counts.pod_sets import MANY_TERMS, matched_by
from extender.core.cluster.counts.topology import DomainTable
from extender.core.cluster.state import ClusterState
from extender.core.errors import ObjectError
from extender.core.model.objects import Pod, PodClass
from extender.core.model.pod_affinity import Term, WeightedTerm
from extender.core.verbs.inter_pod_affinity import InterPodAffinity, scores
from extender.core.verbs.node_selection import NodeSelectionPlugin

PODS: Final = InterPodAffinity(hard_pod_affinity_weight=0)
"""Required affinity adds to a score as well, but no move makes it, and none may break it."""
NODES: Final = NodeSelectionPlugin()


def terms_for_moves(pod_class: PodClass) -> Sequence[WeightedTerm]:
    """Return the preferred terms of a class that look into no other namespace.

    None of a class with very many: each is looked up for each pod that is judged.
    """
    affinity, home = pod_class.affinity, {pod_class.namespace}
    if len(affinity.preferred) > MANY_TERMS:
        return ()

    def is_at_home(term: Term) -> bool:
        return term.pods.namespace_selector is None and {*term.pods.namespaces} == home

    return [each for each in affinity.preferred if is_at_home(each.term)]


def own_tables(state: ClusterState, pod: Pod) -> Iterator[tuple[DomainTable, int]]:
    """Yield what the own terms of a pod add to the worth of domains, each with its weight."""
    for each in terms_for_moves(state.class_of(pod)):
        if state.nodes.has_key(each.term.topology_key):
            for table in state.matching([matched_by(each.term)]) or ():
                yield table, each.weight


def own_worth(state: ClusterState, pod: Pod, asked: NodeList) -> Sequence[int]:
    """Return the worth of nodes, by position, by those terms for which a pod may be moved."""
    mine, nodes = scores(own_tables(state, pod)), _worth_of_nodes(state, pod, asked)
    return nodes if mine is None else list(map(add, mine.raw(asked), nodes))


def total_worth(state: ClusterState, pod: Pod, asked: NodeList) -> Sequence[int]:
    """Return the worth of nodes, by position, by all preferred terms, those of placed pods too."""
    every, nodes = PODS.prepare(state, pod), _worth_of_nodes(state, pod, asked)
    return nodes if every is None else list(map(add, every.raw(asked), nodes))


def _worth_of_nodes(state: ClusterState, pod: Pod, asked: NodeList) -> Sequence[int]:
    try:
        scorer = NODES.prepare(state, pod)
    except ObjectError:
        scorer = None  # As in the scheduler, such a pod has no preferences.
    return [0] * len(asked.names) if scorer is None else scorer.raw(asked)


def to_itself(state: ClusterState, pod_class: PodClass) -> Mapping[str, int]:
    """Return by topology key what a pod of a class adds to the worth of its own domain."""
    found: dict[str, int] = {}
    for each in terms_for_moves(pod_class):
        if state.is_about(each.term, pod_class):
            key = each.term.topology_key
            found[key] = found.get(key, 0) + each.weight
    return found
