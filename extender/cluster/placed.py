"""Pods of one class that are placed, and the tables that they count in."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

    from extender.cluster.counted import CountedPods
    from extender.cluster.topology import DomainTable
    from extender.model.objects import PodClass


class PlacedClass:
    """How many pods of a class each node holds, and where each of them counts.

    `place` is the one path on which counters move: an event of a pod, a node that changes its
    labels and a class that starts to match a term all go through it.
    """

    __slots__ = ("_tables", "counted", "on_nodes", "owned", "pod_class")

    def __init__(self, pod_class: PodClass, owned: list[tuple[DomainTable, int]]) -> None:
        self.pod_class = pod_class
        self.on_nodes: dict[int, int] = {}
        """Pods by node number; nodes without any are left out."""
        self.owned = owned
        """Tables of the terms that the class carries, each with what one pod adds."""
        self.counted: list[CountedPods] = []
        """The sets of counted pods that the class belongs to."""
        self._tables = list(owned)

    def place(self, node: int, pods: int) -> None:
        """Add pods, negative to take away, to a node and to every table of the class."""
        total = self.on_nodes.get(node, 0) + pods
        if total:
            self.on_nodes[node] = total
        else:
            self.on_nodes.pop(node, None)
        self.count(node, pods)

    def count(self, node: int, pods: int) -> None:
        """Move the tables only, for a node that is about to change or has changed its domains."""
        for table, amount in self._tables:
            table.add(node, amount * pods)

    def join(self, counted: CountedPods) -> None:
        """Become part of a set of counted pods."""
        self.counted.append(counted)
        self._tables.append((counted.table, 1))
        for node, pods in self.on_nodes.items():
            counted.table.add(node, pods)

    def leave(self, counted: CountedPods) -> None:
        """Stop being part of a set of counted pods."""
        self.abandon(counted)
        for node, pods in self.on_nodes.items():
            counted.table.add(node, -pods)

    def abandon(self, counted: CountedPods) -> None:
        """Stop keeping a set that is given up; its table stays as it is at this moment."""
        self.counted.remove(counted)
        self._tables.remove((counted.table, 1))

    def tables(self) -> Iterator[tuple[DomainTable, int]]:
        """Yield the tables of the class with what one pod adds to each."""
        return iter(self._tables)
