"""Pods of one class that are placed, and the tables that they count in."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

    from extender.cluster.counts.matching_pods import MatchingPods
    from extender.cluster.counts.topology import DomainTable
    from extender.model.objects import PodClass


class PlacedClass:
    """How many pods of a class each node holds, and where each of them counts.

    `place` is the one path on which counters move: an event of a pod, a node that changes its
    labels and a class that starts to match a term all go through it.
    """

    __slots__ = ("_tables", "counted", "on_nodes", "owned", "pod_class")

    def __init__(self, pod_class: PodClass, owned: dict[DomainTable, int]) -> None:
        self.pod_class = pod_class
        self.on_nodes: dict[int, int] = {}
        """Pods by node number; nodes without any are left out."""
        self.owned = owned
        """Tables of the terms that the class carries, each with what one pod adds."""
        self.counted: dict[MatchingPods, int] = {}
        """The sets of counted pods that the class belongs to, with what one pod adds to each."""
        self._tables = dict(owned)

    def place(self, node: int, pods: int) -> None:
        """Add pods, negative to take away, to a node and to every table of the class."""
        total = self.on_nodes.get(node, 0) + pods
        if total:
            self.on_nodes[node] = total
        else:
            self.on_nodes.pop(node, None)
        for table, amount in self._tables.items():
            table.add(node, amount * pods)

    def belong(self, counted: MatchingPods, amount: int) -> None:
        """Add so much for each pod to a set of counted pods from now on, 0 to be no part of it.

        O(nodes) when that is a change, O(1) when it is not.
        """
        before = self.counted.get(counted, 0)
        if amount == before:
            return
        table = counted.table
        if amount:
            self.counted[counted] = self._tables[table] = amount
            counted.members[self] = None
        else:
            self.abandon(counted)
            del counted.members[self]
        table.add_all(self.on_nodes, amount - before)

    def abandon(self, counted: MatchingPods) -> None:
        """Stop keeping a set that is given up; its table stays as it is at this moment."""
        del self.counted[counted], self._tables[counted.table]

    def tables(self) -> Iterable[tuple[DomainTable, int]]:
        """Return the tables of the class with what one pod adds to each."""
        return self._tables.items()
