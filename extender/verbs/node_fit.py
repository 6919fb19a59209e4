"""Whether a node has the resources and host ports for a pod, once some pods have left it."""

from __future__ import annotations

from collections import Counter

from extender.cluster.state import ClusterState
from extender.model.node_resources import PODS, Requirements
from extender.model.objects import Pod
from extender.verbs.nominated_pods import holding


class NodeFit:
    """What is taken on a node beside what it has: NodeResourcesFit and NodePorts.

    Pods nominated to the node that ours yields to count as there: with them is harder than without.
    """

    def __init__(
        self, state: ClusterState, pod: Pod, requirements: Requirements, node: str
    ) -> None:
        self._requests = requirements.requests
        self._wanted = pod.ports
        self._allocatable = state.node_resources.allocatable(node).amounts
        self._used = Counter(state.node_resources.used(node))
        self._ports = state.node_resources.ports(node).copy()
        for other in holding(state, pod, node):
            self._put(other)
        for reservation in state.reservations.of(pod.key, pod.uid):
            if reservation.pod.node == node:
                self.free(reservation.pod)

    def _put(self, pod: Pod) -> None:
        self._used.update(dict(pod.requests))
        self._ports.use(pod.ports, 1)

    def free(self, pod: Pod) -> None:
        """Take a pod away."""
        self._used.subtract(dict(pod.requests))
        self._ports.use(pod.ports, -1)

    def spare(self, pod: Pod) -> bool:
        """Put a pod back if ours fits all the same; tell whether it does."""
        self._put(pod)
        if self.fits:
            return True
        self.free(pod)
        return False

    @property
    def fits(self) -> bool:
        """Return whether the pod has what it requests, and its ports."""
        used, allocatable = self._used, self._allocatable
        return self._ports.allow(self._wanted) and all(
            used[resource] + amount <= allocatable.get(resource, 0)
            for resource, amount in self._requests
            if amount
        )

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
