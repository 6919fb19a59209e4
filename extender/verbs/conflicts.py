"""Whether two pods get in each other's way, by their required rules about one another."""

from __future__ import annotations

from extender.cluster.state import ClusterState
from extender.model.objects import PodClass
from extender.model.pod_affinity import Affinity

MOST_COMPARED = 64
"""Terms of a class up to which it is compared with others pair by pair, hundreds at once."""
MOST_CONDITIONS = 256
"""Of required terms, likewise."""


def interact(state: ClusterState, one: PodClass, other: PodClass) -> bool:
    """Return whether placing a pod of one class can take a node away from a pod of the other.

    That is so when either's required anti-affinity speaks of the other, or when one would be the
    first pod of a group that the other may start as well: then only one of them may choose. Where
    a class has very many rules, it is taken to be so: the other waits for nothing.
    """
    if not (one.affinity.constrains or other.affinity.constrains):
        return False
    if _has_too_many(one.affinity) or _has_too_many(other.affinity):
        return True
    return (
        _repels(state, one, other)
        or _repels(state, other, one)
        or (attracted(state, one, other) and attracted(state, other, other))
        or (attracted(state, other, one) and attracted(state, one, one))
    )


def _has_too_many(rules: Affinity) -> bool:
    return len(rules) > MOST_COMPARED or rules.conditions > MOST_CONDITIONS


def attracted(state: ClusterState, pod: PodClass, owner: PodClass) -> bool:
    """Return whether a pod matches all required affinity terms of an owner that has some."""
    if owner.affinity.is_dear:
        return state.relations.of(owner, pod).attracted
    terms = owner.affinity.required
    return bool(terms) and all(state.is_about(term, pod) for term in terms)


def repelled_keys(state: ClusterState, owner: PodClass, pod: PodClass) -> frozenset[str]:
    """Return the topology keys over which an owner's required anti-affinity is about a pod.

    Of an owner with very many rules, only those keys that nodes have.
    """
    if owner.affinity.is_dear:
        keys = state.repelled_by(owner, pod)
        return state.relations.of(owner, pod).repelled if keys is None else keys
    return frozenset(
        term.topology_key for term in owner.affinity.required_anti if state.is_about(term, pod)
    )


def _repels(state: ClusterState, owner: PodClass, pod: PodClass) -> bool:
    if owner.affinity.is_dear:
        return bool(state.relations.of(owner, pod).repelled)
    return any(state.is_about(term, pod) for term in owner.affinity.required_anti)
