"""Which pods are bound to each node."""

from __future__ import annotations

from collections.abc import Sequence

from extender.model.objects import Pod
from extender.model.signed import shift


class PodsByNode:
    """Bound pods by node, known or not.

    Lists, because at 150,000 pods a dictionary for each node would cost several megabytes more,
    and a node holds a hundred pods or so: removing one looks at no more than these.
    """

    def __init__(self) -> None:
        self._on: dict[str, list[Pod]] = {}
        self._priorities: dict[int, int] = {}
        """How many of them have each priority; a cluster has a handful."""

    def has_less_important(self, priority: int) -> bool:
        """Return whether any pod has a lower priority."""
        return any(each < priority for each in self._priorities)

    def of(self, node: str) -> Sequence[Pod]:
        """Return the pods that are bound to a node, in no useful order."""
        return self._on.get(node, ())

    def add(self, pod: Pod) -> None:
        """Note where a pod is; one that waits is nowhere."""
        if pod.node is not None:
            self._on.setdefault(pod.node, []).append(pod)
            shift(self._priorities, pod.priority, 1)

    def remove(self, pod: Pod) -> None:
        """Forget where a pod is; it has to be the very object that was added."""
        if pod.node is None:
            return
        shift(self._priorities, pod.priority, -1)
        pods = self._on[pod.node]
        index = next(index for index, each in enumerate(pods) if each is pod)
        last = pods.pop()
        if index < len(pods):
            pods[index] = last
        if not pods:
            del self._on[pod.node]
