"""The one owner of everything that changes: pods, nodes, namespaces and their counters."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from types import MappingProxyType

from extender.cluster.carried import CarriedTerms, Role
from extender.cluster.counted import CountedPods, CountedSets, PodSelectors
from extender.cluster.nodes import Nodes
from extender.cluster.placed import PlacedClass
from extender.cluster.question import Question, unions
from extender.cluster.topology import DomainTable
from extender.model.labels import NO_LABELS, Labels
from extender.model.objects import Namespace, Node, Pod, PodClass
from extender.model.pod_affinity import PodSelector, Term

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
        self.carried = CarriedTerms(self.nodes)
        self.counted = CountedSets(self.nodes, most_counted_sets)
        self._pods: dict[str, Pod] = {}
        self._namespaces: dict[str, Labels] = {}
        self._placed: dict[PodClass, PlacedClass] = {}
        self._placed_in: dict[str, dict[PlacedClass, None]] = {}
        self._placed_on: dict[int, list[PlacedClass]] = {}
        self._questions: OrderedDict[PodClass, Question] = OrderedDict()
        self._most_questions = most_questions
        self._rematches = 0

    @property
    def pods(self) -> Mapping[str, Pod]:
        """Return the pods that are not terminal, by namespace/name."""
        return MappingProxyType(self._pods)

    @property
    def namespaces(self) -> Mapping[str, Labels]:
        """Return the labels of the known namespaces, by name."""
        return MappingProxyType(self._namespaces)

    @property
    def placed_classes(self) -> Iterable[PlacedClass]:
        """Return the classes that have placed pods."""
        return self._placed.values()

    @property
    def structure(self) -> tuple[int, int]:
        """Return what changes whenever a class may have to be compared with other tables."""
        return self.carried.version, self._rematches

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
        placed = self._placed[pod.pod_class]
        number = self.nodes.number_of(pod.node)
        placed.place(number, -1)
        try:
            yield
        finally:
            placed.place(number, 1)

    def _place(self, pod: Pod) -> Pod:
        if pod.node is None:
            return pod
        placed = self._placed.get(pod.pod_class)
        if placed is None:
            placed = self._add_class(pod.pod_class)
        number = self.nodes.number_for_pod(pod.node)
        placed.place(number, 1)
        if placed.on_nodes[number] == 1:
            self._placed_on.setdefault(number, []).append(placed)
        if placed.pod_class is not pod.pod_class:
            return replace(pod, pod_class=placed.pod_class)
        return pod

    def _displace(self, pod: Pod) -> None:
        if pod.node is None:
            return
        placed = self._placed[pod.pod_class]
        number = self.nodes.number_of(pod.node)
        placed.place(number, -1)
        if number not in placed.on_nodes:
            self._placed_on[number].remove(placed)
            if not self._placed_on[number]:
                del self._placed_on[number]
        self.nodes.release_for_pod(number)
        if not placed.on_nodes:
            self._drop_class(placed)

    # Classes

    def _add_class(self, pod_class: PodClass) -> PlacedClass:
        placed = PlacedClass(pod_class, self.carried.carry(pod_class.affinity))
        for counted in self._sets_of(pod_class):
            placed.join(counted)
        self._placed[pod_class] = placed
        self._placed_in.setdefault(pod_class.namespace, {})[placed] = None
        return placed

    def _drop_class(self, placed: PlacedClass) -> None:
        pod_class = placed.pod_class
        del self._placed[pod_class]
        siblings = self._placed_in[pod_class.namespace]
        del siblings[placed]
        if not siblings:
            del self._placed_in[pod_class.namespace]
        self.carried.drop(pod_class.affinity)

    def _sets_of(self, pod_class: PodClass) -> list[CountedPods]:
        return self.counted.matching(pod_class, self._namespace_labels(pod_class.namespace))

    # Nodes

    def upsert_node(self, node: Node) -> None:
        """Add a node or change its labels; pods that wait there for it count from now on."""
        known = node.name in self.nodes
        if known and self.nodes.labels(node.name) == node.labels:
            return
        self._move_node(node.name, -1)
        self.nodes.learn(node.name, node.labels)
        self._move_node(node.name, 1)

    def remove_node(self, name: str) -> None:
        """Forget a node; its pods stay, and count again when it is back."""
        if name in self.nodes:
            self._move_node(name, -1)
            self.nodes.forget(name)

    def _move_node(self, name: str, sign: int) -> None:
        """Take what a node's pods count for out of the tables, or put it in again."""
        number = self.nodes.number(name)
        if number is not None:
            for placed in self._placed_on.get(number, ()):
                placed.count(number, sign * placed.on_nodes[number])

    # Namespaces

    def upsert_namespace(self, namespace: Namespace) -> None:
        """Add a namespace or change its labels."""
        if self._namespaces.get(namespace.name) != namespace.labels:
            self._namespaces[namespace.name] = namespace.labels
            self._rematch(namespace.name)

    def remove_namespace(self, name: str) -> None:
        """Forget a namespace; pods that are left in it are in one without labels."""
        if self._namespaces.pop(name, None) is not None:
            self._rematch(name)

    def _rematch(self, namespace: str) -> None:
        for placed in self._placed_in.get(namespace, ()):
            before, now = list(placed.counted), self._sets_of(placed.pod_class)
            for counted in before:
                if counted not in now:
                    placed.leave(counted)
            for counted in now:
                if counted not in before:
                    placed.join(counted)
        self._rematches += 1

    def _namespace_labels(self, namespace: str) -> Labels:
        return self._namespaces.get(namespace, NO_LABELS)

    # Questions

    def question(self, pod_class: PodClass) -> Question:
        """Resolve what pods of a class have to be compared with.

        Costs a look-up when the class was asked about before and no term came or went since; a
        term that nobody asked about before is counted once over the placed classes.
        """
        known = self._questions.get(pod_class)
        if known is not None and known.structure == self.structure:
            self._questions.move_to_end(pod_class)
            return known
        question = self._resolve(pod_class)
        self._questions[pod_class] = question
        if len(self._questions) > self._most_questions:
            self._questions.popitem(last=False)
        # Only now: the question just resolved may itself have asked for too many sets. Its tables
        # are right at this moment, and the new structure makes it resolve them again next time.
        while (excess := self.counted.pop_excess()) is not None:
            for placed in self._classes_of(excess.filed_under):
                if excess in placed.counted:
                    placed.abandon(excess)
            self._rematches += 1
        return question

    def _resolve(self, pod_class: PodClass) -> Question:
        structure = self.structure
        rules = pod_class.affinity
        labels = self._namespace_labels(pod_class.namespace)
        group = frozenset(term.pods for term in rules.required)
        existing: dict[Role, list[DomainTable]] = {role: [] for role in Role}
        for carried in self.carried.matching(pod_class, labels):
            existing[carried.role].append(carried.owners)
        return Question(
            pod_class=pod_class,
            structure=structure,
            affinity=tuple(self._table(group, term.topology_key) for term in rules.required),
            starts_group=all(
                pods.matches(pod_class.namespace, labels, pod_class.labels) for pods in group
            ),
            anti_affinity=unions(self._table_of(term) for term in rules.required_anti),
            existing_anti_affinity=unions(existing[Role.REQUIRED_ANTI]),
            preferred=tuple(
                (self._table_of(weighted.term), weighted.weight) for weighted in rules.preferred
            ),
            existing_preferred=tuple(existing[Role.PREFERRED]),
            existing_required=tuple(existing[Role.REQUIRED]),
        )

    def _table_of(self, term: Term) -> DomainTable:
        return self._table(frozenset((term.pods,)), term.topology_key)

    def _table(self, selectors: PodSelectors, topology_key: str) -> DomainTable:
        counted = self.counted.find(selectors, topology_key)
        if counted is None:
            counted = self.counted.add(selectors, topology_key)
            for placed in self._classes_of(counted.filed_under):
                pod_class = placed.pod_class
                if counted.matches(pod_class, self._namespace_labels(pod_class.namespace)):
                    placed.join(counted)
        return counted.table

    def _classes_of(self, pods: PodSelector) -> Iterable[PlacedClass]:
        """Return the placed classes that a selector can match, by namespace where it names them."""
        if pods.namespace_selector is not None:
            return self._placed.values()
        return (
            placed
            for namespace in sorted(pods.namespaces)
            for placed in self._placed_in.get(namespace, ())
        )
