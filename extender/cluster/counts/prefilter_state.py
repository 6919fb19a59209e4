"""What an incoming pod's class has to be compared with, resolved to tables."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass, field

from extender.cluster.counts.topology import DomainTable, Topology, versions
from extender.model.objects import PodClass

PER_TABLE = 256
"""Bytes of what a question has for each table."""
PER_DOMAIN = 64
"""Bytes of a domain in a union."""


@dataclass(slots=True, eq=False)
class DomainUnion:
    """The domains of one topology in which any of several tables has an entry.

    Remembered until one of the tables changes: a refused pod is asked about again and again.
    """

    topology: Topology
    tables: tuple[DomainTable, ...]
    _versions: tuple[int, ...] | None = None
    _domains: Collection[int] = ()

    @property
    def most_domains(self) -> int:
        """Return how many domains are remembered beside the tables, with these entries at most."""
        if len(self.tables) == 1:
            return 0
        return min(self.topology.domains, sum(len(table.counts) for table in self.tables))

    def domains(self) -> Collection[int] | None:
        """Return the domain numbers, None when there are none; O(entries) after a change."""
        now = versions(self.tables)
        if now != self._versions:
            held = [table.counts for table in self.tables if table.counts]
            # A lone table is its own set of domains: no copy.
            self._domains = held[0] if len(held) == 1 else frozenset().union(*held)
            self._versions = now
        return self._domains if any(table.counts for table in self.tables) else None


@dataclass(slots=True, eq=False)
class Question:
    """The tables behind every answer about pods of one class.

    Stays true while `structure` does; the tables themselves move with every event.
    """

    pod_class: PodClass
    structure: tuple[int, int, int]
    """Counters.structure when the question was resolved."""
    affinity: tuple[DomainTable, ...]
    """Per key of the required affinity terms: the pods that match all terms."""
    starts_group: bool
    """The class matches all its own required affinity terms."""
    anti_affinity: tuple[DomainUnion, ...]
    """The class's own required anti-affinity, a union for each topology."""
    existing_anti_affinity: tuple[DomainUnion, ...]
    """Placed pods' required anti-affinity that matches the class, a union for each topology."""
    preferred: tuple[tuple[DomainTable, int], ...]
    """The class's own preferred terms: matching pods, and the signed weight."""
    existing_preferred: tuple[DomainTable, ...]
    """Placed pods' preferred terms that match the class: sums of signed weights."""
    existing_required: tuple[DomainTable, ...]
    """Placed pods' required affinity terms that match the class."""
    has_rules: bool = field(init=False)
    """Whether any rule, own or existing, can refuse a node."""

    @property
    def size(self) -> int:
        """Return about what it takes beside its tables, in bytes."""
        unions = (*self.anti_affinity, *self.existing_anti_affinity)
        tables = sum(len(union.tables) for union in unions)
        tables += len(self.affinity) + len(self.preferred)
        tables += len(self.existing_preferred) + len(self.existing_required)
        domains = sum(union.most_domains for union in unions)
        return self.pod_class.size + PER_TABLE * (1 + tables) + PER_DOMAIN * domains

    def __post_init__(self) -> None:
        self.has_rules = bool(self.affinity or self.anti_affinity or self.existing_anti_affinity)


def unions(tables: Iterable[DomainTable]) -> tuple[DomainUnion, ...]:
    """Group tables by topology."""
    grouped: dict[Topology, dict[DomainTable, None]] = {}
    for table in tables:
        grouped.setdefault(table.topology, {})[table] = None
    return tuple(DomainUnion(topology, tuple(group)) for topology, group in grouped.items())
