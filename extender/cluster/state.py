"""The one owner of everything that changes: pods, nodes, namespaces and their counters."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from types import MappingProxyType

from extender.cluster.carried import CarriedTerms
from extender.cluster.counted import CountedSets
from extender.cluster.counters import Counters
from extender.cluster.nodes import Nodes
from extender.cluster.placed import PlacedClass
from extender.cluster.question import Question
from extender.cluster.questions import Questions
from extender.model.labels import Labels
from extender.model.objects import Namespace, Node, Pod, PodClass

MOST_QUESTIONS = 4096
"""Classes whose resolved questions are remembered; some kilobytes each."""
MOST_COUNTED_SETS = 8192
"""Sets of matching pods that are kept up to date; one entry a domain that holds such pods."""


class ClusterState:
    """The live picture of the cluster.

    A pod's life here::

        (absent) --upsert, no node--> waiting --upsert with node--> placed
            ^                            |                             |
            +---- remove or terminal ----+-----------------------------+

    Only placed pods count. Every change is one synchronous step after which store and counters
    agree, so whoever reads between two steps sees a whole state. An event costs the distinct
    terms that its pod matches or owns, never the number of pods.

    Assumes that uids are unique, that a key (namespace/name) has one pod at a time, and that
    nobody else changes what the properties hand out.
    """

    def __init__(
        self,
        *,
        most_questions: int = MOST_QUESTIONS,
        most_counted_sets: int = MOST_COUNTED_SETS,
    ) -> None:
        self.nodes = Nodes()
        self._pods: dict[str, Pod] = {}
        self._namespaces: dict[str, Labels] = {}
        self._counters = Counters(self.nodes, self._namespaces, most_counted_sets)
        self._questions = Questions(self._counters, most_questions)

    @property
    def pods(self) -> Mapping[str, Pod]:
        """Return the pods that are not terminal, by namespace/name."""
        return MappingProxyType(self._pods)

    @property
    def namespaces(self) -> Mapping[str, Labels]:
        """Return the labels of the known namespaces, by name."""
        return MappingProxyType(self._namespaces)

    @property
    def carried(self) -> CarriedTerms:
        """Return the terms that placed pods carry."""
        return self._counters.carried

    @property
    def counted(self) -> CountedSets:
        """Return the sets of matching pods that are kept up to date."""
        return self._counters.counted

    @property
    def placed_classes(self) -> Iterable[PlacedClass]:
        """Return the classes that have placed pods."""
        return self._counters.classes

    def question(self, pod_class: PodClass) -> Question:
        """Return what pods of a class have to be compared with."""
        return self._questions.about(pod_class)

    # Pods

    def upsert_pod(self, pod: Pod) -> None:
        """Add a pod, or take over what changed; a new uid under the same key replaces the old."""
        old = self._pods.get(pod.key)
        if old is not None and old.uid == pod.uid:
            pod_class = old.pod_class.relabelled(pod.pod_class)
            if pod_class is not pod.pod_class:
                pod = replace(pod, pod_class=pod_class)
            if pod == old:
                return
        if pod.terminal:
            self._pods.pop(pod.key, None)
        else:
            # The new before the old, so that terms both carry are not dropped in between.
            self._pods[pod.key] = self._place(pod)
        if old is not None:
            self._displace(old)

    def remove_pod(self, key: str, uid: str) -> None:
        """Forget a pod; one that is unknown, or known under another uid, is left alone."""
        pod = self._pods.get(key)
        if pod is not None and pod.uid == uid:
            del self._pods[key]
            self._displace(pod)

    @contextmanager
    def without(self, key: str, uid: str) -> Iterator[None]:
        """Leave a pod out of all counts for a while: it is not its own neighbour."""
        pod = self._pods.get(key)
        if pod is None or pod.uid != uid or pod.node is None:
            yield
            return
        self._counters.shift(pod.pod_class, pod.node, -1)
        try:
            yield
        finally:
            self._counters.shift(pod.pod_class, pod.node, 1)

    def _place(self, pod: Pod) -> Pod:
        if pod.node is None:
            return pod
        shared = self._counters.place(pod.pod_class, pod.node)
        return pod if shared is pod.pod_class else replace(pod, pod_class=shared)

    def _displace(self, pod: Pod) -> None:
        if pod.node is not None:
            self._counters.displace(pod.pod_class, pod.node)

    # Nodes

    def upsert_node(self, node: Node) -> None:
        """Add a node or change its labels; pods that wait there for it count from now on."""
        if node.name in self.nodes and self.nodes.labels(node.name) == node.labels:
            return
        self._counters.move_node(node.name, -1)
        self.nodes.learn(node.name, node.labels)
        self._counters.move_node(node.name, 1)

    def remove_node(self, name: str) -> None:
        """Forget a node; its pods stay, and count again when it is back."""
        if name in self.nodes:
            self._counters.move_node(name, -1)
            self.nodes.forget(name)

    # Namespaces

    def upsert_namespace(self, namespace: Namespace) -> None:
        """Add a namespace or change its labels."""
        if self._namespaces.get(namespace.name) != namespace.labels:
            self._namespaces[namespace.name] = namespace.labels
            self._counters.rematch(namespace.name)

    def remove_namespace(self, name: str) -> None:
        """Forget a namespace; pods that are left in it are in one without labels."""
        if self._namespaces.pop(name, None) is not None:
            self._counters.rematch(name)
