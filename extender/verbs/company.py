"""What pods of other classes change about a node's verdict if they were on it too."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass

from extender.cluster.counts.nodes import AskedNodes, Nodes
from extender.cluster.state import ClusterState
from extender.model.objects import PodClass
from extender.model.verdict import Reason
from extender.verbs.conflicts import attracted, repelled_keys


@dataclass(frozen=True, slots=True)
class Company:
    """How a pod and some others on the same node would get on."""

    attracts: bool
    """One of the others meets the pod's required affinity."""
    repelled: frozenset[str]
    """Topology keys over which the pod's required anti-affinity is about one of them."""
    repels: frozenset[str]
    """Topology keys over which the required anti-affinity of one of them is about the pod."""


def company(state: ClusterState, pod: PodClass, other: PodClass) -> Company | None:
    """Compare a pod's class with another one; None when neither has a rule about the other."""
    if not (pod.affinity.constrains or other.affinity.constrains):
        return None
    found = Company(
        attracted(state, other, pod),
        repelled_keys(state, pod, other),
        repelled_keys(state, other, pod),
    )
    return found if found.attracts or found.repelled or found.repels else None


def exclusive_keys(companies: Iterable[Company | None]) -> frozenset[str] | None:
    """Return the topology keys over which two pods exclude each other, by what plugins say of them.

    They cannot be in the same domain of such a key. None where no plugin has a rule about them.
    """
    found = [each for each in companies if each is not None]
    return frozenset().union(*(each.repelled | each.repels for each in found)) if found else None


def together(companies: Collection[Company]) -> Company:
    """Return what the companies of several pods come to."""
    return Company(
        any(each.attracts for each in companies),
        frozenset().union(*(each.repelled for each in companies)),
        frozenset().union(*(each.repels for each in companies)),
    )


@dataclass(frozen=True, slots=True)
class Neighbours:
    """A reason to refuse all nodes that have one of some topology keys.

    Whoever is on the same node is in the same domain of each key that the node has.
    """

    reason: Reason
    keys: frozenset[str]
    nodes: Nodes

    def split(self, asked: AskedNodes) -> tuple[Sequence[str], Sequence[str]]:
        """Return the names of the nodes that fit, and of those that are refused."""
        hit = [each for each in asked.names if not self.keys.isdisjoint(self.nodes.labels(each))]
        refused = {*hit}
        return [name for name in asked.names if name not in refused], hit
