"""An API server to ask for single objects: it has what a watch has shown, or what a test says."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from extender.core.cluster.state import ClusterState
from extender.core.model.keys import Key
from extender.core.model.objects import Namespace, Node, Pod, SeenPod
from extender.core.model.pod_affinity import PodSelector


class Objects:
    """Answers from a state; what a test puts into `other` counts instead."""

    def __init__(self, shown: ClusterState) -> None:
        self.shown = shown
        self.other: dict[str, SeenPod | Node | Namespace | None] = {}
        """By "pods/namespace/name", "nodes/name" or "namespaces/name"."""
        self.listed: Callable[[Sequence[Pod]], Sequence[Pod] | None] = lambda pods: pods
        self.meanwhile: Callable[[], None] = lambda: None
        self.asked: list[str] = []

    def _found(self, path: str) -> tuple[bool, SeenPod | Node | Namespace | None]:
        self.asked.append(path)
        self.meanwhile()
        return path in self.other, self.other.get(path)

    async def pod(self, key: Key, within: float = 0.0) -> SeenPod | None:
        del within
        differs, found = self._found(f"pods/{key}")
        if differs:
            assert found is None or isinstance(found, SeenPod)
            return found
        pod = self.shown.pods.get(key)
        # What the state alone knows is in no object.
        return None if pod is None else SeenPod(pod.with_status(judged=None), "7")

    async def node(self, name: str) -> Node | None:
        differs, found = self._found(f"nodes/{name}")
        if differs:
            assert found is None or isinstance(found, Node)
            return found
        state = self.shown
        if name not in state.nodes:
            return None
        return Node(name, state.nodes.labels(name), state.node_resources.allocatable(name))

    async def namespace(self, name: str) -> Namespace | None:
        differs, found = self._found(f"namespaces/{name}")
        if differs:
            assert found is None or isinstance(found, Namespace)
            return found
        return Namespace(name, self.shown.namespace_labels(name))

    async def pods(self, pods: PodSelector, node: str | None) -> Sequence[Pod] | None:
        self._found("pods")
        return self.listed(
            [
                each
                for each in self.shown.pods.values()
                if pods.selector.matches(each.pod_class.labels) and node in {None, each.node}
            ]
        )
