"""Counts by topology domain that are made of others: sums, kept as they grow, and differences."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Protocol

from extender.core.cluster.counts.topology import DomainTable, Topology
from extender.core.model.signed import shift


class MemberTable(DomainTable):
    """A table whose counts are part of others, over the same topology."""

    __slots__ = ("_sums",)

    def __init__(self, topology: Topology) -> None:
        super().__init__(topology)
        self._sums: tuple[DomainTable, ...] = ()

    def join(self, total: DomainTable) -> None:
        """Count in a sum as well, from now on and with what there is."""
        self._sums += (total,)
        for domain, count in self.counts.items():
            shift(total.counts, domain, count)
        total.version += 1

    def is_part_of(self, total: DomainTable) -> bool:
        return self is total or any(each is total for each in self._sums)

    def add(self, node: int, amount: int) -> None:
        super().add(node, amount)
        for each in self._sums:
            each.add(node, amount)

    def add_all(self, nodes: Mapping[int, int], amount: int) -> None:
        super().add_all(nodes, amount)
        for each in self._sums:
            each.add_all(nodes, amount)


class CountTable(Protocol):
    """Signed counts per domain of one topology key, as they are read."""

    @property
    def topology(self) -> Topology: ...

    @property
    def counts(self) -> Mapping[int, int]:
        """Return the counts by domain number, without zeros."""

    @property
    def version(self) -> int:
        """Return what grows whenever a count changes."""

    @property
    def parts(self) -> tuple[DomainTable, ...]: ...

    def has(self, domain: int) -> bool: ...

    def by_value(self) -> dict[str, int]: ...

    def has_part(self, table: DomainTable) -> bool:
        """Return whether all that a table counts is counted here."""


class Difference:
    """The counts of a table without those of some others that are part of it.

    So whatever moves these moves the table as well.
    """

    __slots__ = ("_counts", "_table", "_version", "_without", "topology")

    def __init__(self, table: DomainTable, without: Sequence[DomainTable]) -> None:
        self.topology = table.topology
        self._table = table
        self._without = without
        self._version = -1
        self._counts: dict[int, int] = {}

    @property
    def version(self) -> int:
        return self._table.version

    @property
    def parts(self) -> tuple[DomainTable, ...]:
        return self._table, *self._without

    @property
    def counts(self) -> Mapping[int, int]:
        """Return the counts; O(entries) after a change."""
        now = self.version
        if now != self._version:
            counts = self._table.counts.copy()
            for table in self._without:
                for domain, count in table.counts.items():
                    shift(counts, domain, -count)
            self._counts, self._version = counts, now
        return self._counts

    def has(self, domain: int) -> bool:
        """Return whether a domain has a count; O(tables), however many have changed."""
        count = self._table.counts.get(domain, 0)
        return count != sum(each.counts.get(domain, 0) for each in self._without)

    def by_value(self) -> dict[str, int]:
        values = self.topology.values
        return {values[domain]: count for domain, count in self.counts.items()}

    def has_part(self, table: DomainTable) -> bool:
        is_refused = any(each.has_part(table) for each in self._without)
        return self._table.has_part(table) and not is_refused


def versions(tables: Iterable[CountTable]) -> tuple[int, ...]:
    return tuple([table.version for table in tables])
