"""What the required rules of two pods say of one another, and of a node that both would be on."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass
from functools import partial

from extender.core.cluster.state import ClusterState
from extender.core.model.objects import PodClass

MOST_CONDITIONS = 256
"""Of required terms of a class, up to which it is compared with others pair by pair, hundreds at
once."""


def interact(state: ClusterState, one: PodClass, other: PodClass) -> bool:
    """Return whether placing a pod of one class can take a node away from a pod of the other.

    That is so when either's required anti-affinity or limit speaks of the other, or when one would
    be the first pod of a group that the other may start as well: then only one of them may choose.
    So it is where a limit of placed pods counts both. Where a class has very many rules, it is
    taken to be so: the other waits for nothing.
    """
    if state.existing_terms.limits and _counted_together(state, one, other):
        return True
    if not (one.affinity.constrains or other.affinity.constrains):
        return False
    if max(one.affinity.conditions, other.affinity.conditions) > MOST_CONDITIONS:
        return True
    return (
        _repels(state, one, other)
        or _repels(state, other, one)
        or (attracted(state, one, other) and attracted(state, other, other))
        or (attracted(state, other, one) and attracted(state, one, one))
    )


def interacting(state: ClusterState, *, specs: bool) -> Callable[[PodClass, PodClass], bool]:
    """Return `interact` over a state, by all rules; without `specs`, by those in annotations."""
    if specs:
        return partial(interact, state)
    return lambda one, other: interact(state, one.by_annotation, other.by_annotation)


def _counted_together(state: ClusterState, one: PodClass, other: PodClass) -> bool:
    limits = state.prefilter_state(one).limits
    return any(each.owners is not None and state.is_about(each.term, other) for each in limits)


def prefer(state: ClusterState, one: PodClass, other: PodClass) -> bool:
    """Return whether a pod of one class changes the scores of nodes for a pod of the other.

    That is so when a preferred term of either speaks of the other, or a required affinity term of
    one: hardPodAffinityWeight. Where a class has very many rules, it is taken not to be so: scores
    are worth no more than a few comparisons.
    """
    terms = [(each.term, one) for each in other.affinity.preferred]
    terms += [(each.term, other) for each in one.affinity.preferred]
    terms += [(each, other) for each in one.affinity.required]
    if sum(term.pods.conditions for term, _ in terms) > MOST_CONDITIONS:
        return False
    return any(state.is_about(term, pod_class) for term, pod_class in terms)


def attracted(state: ClusterState, pod: PodClass, owner: PodClass) -> bool:
    """Return whether a pod matches all required affinity terms of an owner that has some."""
    terms = owner.affinity.required
    return bool(terms) and all(state.is_about(term, pod) for term in terms)


def repelled_keys(state: ClusterState, owner: PodClass, pod: PodClass) -> frozenset[str]:
    """Return the topology keys over which an owner's required anti-affinity is about a pod."""
    return frozenset(
        term.topology_key for term in owner.affinity.required_anti if state.is_about(term, pod)
    )


def _repels(state: ClusterState, owner: PodClass, pod: PodClass) -> bool:
    rules = owner.affinity
    terms = (*rules.required_anti, *rules.limits)
    return any(state.is_about(term, pod) for term in terms)


@dataclass(frozen=True, slots=True)
class Interaction:
    """How a pod and some others on the same node would get on."""

    attracts: bool
    """One of the others meets the pod's required affinity."""
    repelled: frozenset[str]
    """Topology keys over which the pod's required anti-affinity is about one of them."""
    repels: frozenset[str]
    """Topology keys over which the required anti-affinity of one of them is about the pod."""


def interaction(state: ClusterState, pod: PodClass, other: PodClass) -> Interaction | None:
    """Compare a pod's class with another one; None when neither has a rule about the other."""
    if not (pod.affinity.constrains or other.affinity.constrains):
        return None
    found = Interaction(
        attracted(state, other, pod),
        repelled_keys(state, pod, other),
        repelled_keys(state, other, pod),
    )
    return found if found.attracts or found.repelled or found.repels else None


def exclusive_keys(interactions: Iterable[Interaction | None]) -> frozenset[str] | None:
    """Return the topology keys over which two pods exclude each other, by what plugins say of them.

    They cannot be in the same domain of such a key. None where no plugin has a rule about them.
    """
    found = [each for each in interactions if each is not None]
    return frozenset().union(*(each.repelled | each.repels for each in found)) if found else None


def together(interactions: Collection[Interaction]) -> Interaction:
    """Return the interaction with all of several pods at once."""
    return Interaction(
        any(each.attracts for each in interactions),
        frozenset().union(*(each.repelled for each in interactions)),
        frozenset().union(*(each.repels for each in interactions)),
    )
