"""Placed pods by class, and every counter that they move."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from extender.cluster.carried import CarriedTerm, CarriedTerms
from extender.cluster.counted import CountedPods, CountedSets, PodSelectors
from extender.cluster.nodes import Nodes
from extender.cluster.placed import PlacedClass
from extender.cluster.topology import DomainTable
from extender.model.labels import NO_LABELS, Labels
from extender.model.objects import PodClass
from extender.model.pod_affinity import PodSelector


class Counters:
    """The signed counters of a cluster, moved by the pods that are placed.

    Knows classes and nodes, not single pods: who counts, and why, is ClusterState's business.
    """

    def __init__(self, nodes: Nodes, namespaces: Mapping[str, Labels], most_sets: int) -> None:
        self._nodes = nodes
        self._namespaces = namespaces
        self._carried = CarriedTerms(nodes)
        self._sets = CountedSets(nodes, most_sets)
        self._placed: dict[PodClass, PlacedClass] = {}
        self._placed_in: dict[str, dict[PlacedClass, None]] = {}
        self._placed_on: dict[int, list[PlacedClass]] = {}
        self._rematches = 0

    @property
    def carried(self) -> CarriedTerms:
        """Return the terms that placed pods carry."""
        return self._carried

    @property
    def counted(self) -> CountedSets:
        """Return the sets of matching pods that are kept up to date."""
        return self._sets

    @property
    def classes(self) -> Iterable[PlacedClass]:
        """Return the classes that have placed pods."""
        return self._placed.values()

    @property
    def structure(self) -> tuple[int, int]:
        """Return what changes whenever a class may have to be compared with other tables."""
        return self._carried.version, self._rematches

    # Pods

    def place(self, pod_class: PodClass, node: str) -> PodClass:
        """Count one more pod on a node; return the class object that all its pods share."""
        placed = self._placed.get(pod_class)
        if placed is None:
            placed = self._add_class(pod_class)
        number = self._nodes.number_for_pod(node)
        placed.place(number, 1)
        if placed.on_nodes[number] == 1:
            self._placed_on.setdefault(number, []).append(placed)
        return placed.pod_class

    def displace(self, pod_class: PodClass, node: str) -> None:
        """Count one pod less on a node."""
        placed = self._placed[pod_class]
        number = self._nodes.number_of(node)
        placed.place(number, -1)
        if number not in placed.on_nodes:
            self._placed_on[number].remove(placed)
            if not self._placed_on[number]:
                del self._placed_on[number]
        self._nodes.release_for_pod(number)
        if not placed.on_nodes:
            self._drop_class(placed)

    def shift(self, pod_class: PodClass, node: str, pods: int) -> None:
        """Move the counters for a while, by a pod that is not to count, or counts again."""
        self._placed[pod_class].place(self._nodes.number_of(node), pods)

    def _add_class(self, pod_class: PodClass) -> PlacedClass:
        placed = PlacedClass(pod_class, self._carried.carry(pod_class.affinity))
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
        self._carried.drop(pod_class.affinity)

    # Nodes and namespaces

    def move_node(self, name: str, sign: int) -> None:
        """Take what a node's pods count for out of the tables (-1), or put it in again (1)."""
        number = self._nodes.number(name)
        if number is not None:
            for placed in self._placed_on.get(number, ()):
                placed.count(number, sign * placed.on_nodes[number])

    def rematch(self, namespace: str, before: Labels) -> None:
        """Compare the classes of a namespace with the terms that its labels make a difference to.

        O(sets + classes of the namespace), and only O(sets) when the change means nothing to any.
        """
        moved = self._sets.moved_by(namespace, before, self.namespace_labels(namespace))
        for placed in self._placed_in.get(namespace, ()) if moved else ():
            was = [counted for counted in placed.counted if counted in moved]
            now = moved.matching(placed.pod_class)
            for counted in was:
                if counted not in now:
                    placed.leave(counted)
            for counted in now:
                if counted not in was:
                    placed.join(counted)
        self._rematches += 1

    # Terms

    def carried_against(self, pod_class: PodClass) -> Iterable[CarriedTerm]:
        """Return the carried terms that match pods of a class."""
        return self._carried.matching(pod_class, self.namespace_labels(pod_class.namespace))

    def matching(self, selectors: PodSelectors, topology_key: str) -> DomainTable:
        """Return the table of the placed pods that match, counted over the classes when new."""
        counted = self._sets.find(selectors, topology_key)
        if counted is None:
            counted = self._sets.add(selectors, topology_key)
            for placed in self._classes_of(counted.filed_under):
                namespace = placed.pod_class.namespace
                if counted.matches(placed.pod_class, self.namespace_labels(namespace)):
                    placed.join(counted)
        return counted.table

    def give_up_excess(self) -> None:
        """Stop keeping the sets beyond the bound; their tables stay as they are at this moment."""
        while (excess := self._sets.pop_excess()) is not None:
            for placed in self._classes_of(excess.filed_under):
                if excess in placed.counted:
                    placed.abandon(excess)
            self._rematches += 1

    def namespace_labels(self, namespace: str) -> Labels:
        """Return the labels of a namespace, none for one that is unknown."""
        return self._namespaces.get(namespace, NO_LABELS)

    def _sets_of(self, pod_class: PodClass) -> list[CountedPods]:
        return self._sets.matching(pod_class, self.namespace_labels(pod_class.namespace))

    def _classes_of(self, pods: PodSelector) -> Iterable[PlacedClass]:
        """Return the placed classes that a selector can match, by namespace where it names them."""
        if pods.namespace_selector is not None:
            return self._placed.values()
        return (
            placed
            for namespace in sorted(pods.namespaces)
            for placed in self._placed_in.get(namespace, ())
        )
