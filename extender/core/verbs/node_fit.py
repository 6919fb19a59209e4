"""Whether a node has the room and the host ports that a pod asks for, with other pods gone."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import TypeAlias

from extender.core.cluster.state import ClusterState
from extender.core.model.node_resources import PODS, HostPort, HostPorts, Requests, Toleration
from extender.core.model.node_selection import NodeSelection
from extender.core.model.objects import Pod
from extender.core.verbs.filtering import holding

Shape: TypeAlias = tuple[Requests, HostPorts, tuple[Toleration, ...], NodeSelection | None]
"""What room a pod asks for; pods that are alike in it have the same nodes."""


def shape_of(pod: Pod) -> Shape:
    spec = pod.spec
    return spec.requests, spec.ports, spec.requirements.tolerations, pod.node_selection


def places(state: ClusterState, pod: Pod) -> Iterator[Pod]:
    """Yield the pod where it counts: on its node, or where it is reserved."""
    known = state.pod(pod.key, pod.uid)
    if known is not None and known.node is not None:
        yield known
    yield from (each.pod for each in state.reservations.of(pod.key, pod.uid))


class NodeFit:
    """What is taken on a node beside what it has: NodeResourcesFit and NodePorts.

    Pods nominated to the node that ours yields to count as there, unless they are not to: with them
    is harder than without.
    """

    def __init__(self, state: ClusterState, pod: Pod, node: str, *, nominated: bool = True) -> None:
        self._requests = pod.spec.requests
        self._wanted = pod.spec.ports
        self._allocatable = state.node_resources.allocatable(node).amounts
        self._used = Counter(state.node_resources.used(node))
        self._ports = state.node_resources.ports(node).copy()
        for other in holding(state, pod, node) if nominated else ():
            self._put(other)
        for place in places(state, pod):
            if place.node == node:
                self.free(place)

    def _put(self, pod: Pod) -> None:
        self._used.update(dict(pod.spec.requests))
        self._ports.use(pod.spec.ports, 1)

    def free(self, pod: Pod) -> None:
        self._used.subtract(dict(pod.spec.requests))
        self._ports.use(pod.spec.ports, -1)

    def spare(self, pod: Pod) -> bool:
        """Put a pod back if ours fits all the same; tell whether it does."""
        self._put(pod)
        if self.fits:
            return True
        self.free(pod)
        return False

    @property
    def fits(self) -> bool:
        return self._ports.allow(self._wanted) and all(
            self._used[resource] + amount <= self._allocatable.get(resource, 0)
            for resource, amount in self._requests
            if amount
        )

    def used(self, resource: str) -> int:
        return self._used[resource]

    def allows(self, port: HostPort) -> bool:
        return self._ports.allow((port,))

    @property
    def is_curable(self) -> bool:
        """Return whether it might fit were the node empty.

        Ports are judged first, and of what is taken one can think that it will be free.
        """
        allocatable = self._allocatable
        return not self._ports.allow(self._wanted) or all(
            amount <= allocatable.get(resource, 0) or resource == PODS
            for resource, amount in self._requests
        )
