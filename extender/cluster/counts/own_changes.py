"""Who has changed of themselves since somebody looks on: pods, nodes and namespaces.

Two pods that exclude each other were apart once; one of them has come to the other, or was edited,
or an operator has moved a node between topology domains. Which of these came last can be told for
what was seen to happen, and is unknown for what was there before.
"""

from __future__ import annotations

from collections.abc import Iterable

from extender.model.objects import Pod


class OwnChanges:
    """When each object has changed last, in looks; 0 for what nobody has seen change.

    What changes between two looks is taken for simultaneous. A label of a pod or a namespace is its
    own; a label of a node is an operator's act. O(objects that changed).
    """

    def __init__(self) -> None:
        self._look = 0
        self._pods: dict[str, int] = {}
        self._namespaces: dict[str, int] = {}
        self._nodes: dict[str, dict[str, int]] = {}

    def __len__(self) -> int:
        """Return how many objects are remembered."""
        return len(self._pods) + len(self._namespaces) + len(self._nodes)

    def look(self) -> None:
        """Begin the next look. Before the first one, nothing is remembered."""
        self._look += 1

    def pod(self, pod: Pod, before: Pod | None) -> None:
        """Take over a pod, in place of what there was under its name."""
        if before is not None and before.uid != pod.uid:
            self.forget_pod(before.uid)
            before = None
        if pod.terminal or pod.node is None:
            self.forget_pod(pod.uid)
            return
        if before is not None and before.node is not None:
            old, new = before.pod_class, pod.pod_class
            if old is new or old.labels == new.labels:
                return
        if self._look:
            self._pods[pod.uid] = self._look

    def forget_pod(self, uid: str) -> None:
        """Note that a pod is gone."""
        self._pods.pop(uid, None)

    def namespace(self, name: str, *, known: bool) -> None:
        """Note that a namespace has other labels, or is gone."""
        if not known:
            self._namespaces.pop(name, None)
        elif self._look:
            self._namespaces[name] = self._look

    def node(self, name: str, keys: Iterable[str]) -> None:
        """Note that some labels of a node have changed while it was there."""
        if self._look:
            self._nodes.setdefault(name, {}).update(dict.fromkeys(keys, self._look))

    def forget_node(self, name: str) -> None:
        """Note that a node is gone."""
        self._nodes.pop(name, None)

    @property
    def now(self) -> int:
        """Return the number of this look."""
        return self._look

    def of_pod(self, pod: Pod) -> int:
        """Return when a pod has come to its node, or has got its labels, or its namespace has."""
        return max(self._pods.get(pod.uid, 0), self._namespaces.get(pod.pod_class.namespace, 0))

    def of_node(self, name: str | None, key: str) -> int:
        """Return when a node has got its label."""
        return 0 if name is None else self._nodes.get(name, {}).get(key, 0)
