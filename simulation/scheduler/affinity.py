"""In-tree's InterPodAffinity, for profiles that have it on: required rules alone."""

from __future__ import annotations

from collections.abc import Callable

from simulation.invariants.kinds import Kind, Kinds
from simulation.scheduler.cache import Cache
from simulation.scheduler.objects import NodeInfo, PodInfo


class InterPodAffinity:
    def __init__(self) -> None:
        self._kinds = Kinds()

    def allows(self, pod: PodInfo, view: Cache) -> Callable[[NodeInfo], bool]:
        """Return what says of a node whether a pod may come there beside those of a view."""
        mine, spaces = self._kind(pod), view.spaces
        others = [
            (self._kind(each), node.labels)
            for node in view.nodes.values()
            for each in node.pods.values()
        ]
        forbidden = {
            (key, labels[key])
            for other, labels in others
            for key in self._kinds.repels(mine, other, spaces)
            if key in labels
        }

        def allows(node: NodeInfo) -> bool:
            return forbidden.isdisjoint(node.labels.items()) and self._kinds.has_company(
                (mine, node.labels), others, spaces
            )

        return allows

    def _kind(self, pod: PodInfo) -> Kind:
        if pod.kind is None:
            pod.kind = self._kinds.of(pod.raw)
        return pod.kind
