"""Which domain of a topology key each node is in, by number."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from operator import itemgetter
from typing import Any

NO_DOMAIN = -1
"""The domain number of a node that lacks the key; never an index into anything."""


class Topology:
    """One topology key: its domains, numbered, and the domain of each node.

    Numbers keep the hot loops of the callbacks to list and integer look-ups. A domain that lost
    its last node gives its number back, so hostnames that come and go do not pile up.
    """

    __slots__ = (
        "_free",
        "_nodes_in",
        "_numbers",
        "_strangers",
        "domain_of",
        "is_anywhere",
        "key",
        "values",
    )

    def __init__(self, key: str, nowhere: list[int] | None = None) -> None:
        """`nowhere` has NO_DOMAIN for each node; all keys that no node has share it."""
        self.key = key
        self.domain_of: list[int] = [] if nowhere is None else nowhere
        """Domain number by node number, NO_DOMAIN where the node lacks the key."""
        self.is_anywhere = nowhere is None
        """Whether some node has, or had, the key; until then this list belongs to others too."""
        self.values: list[str] = []
        """Label value by domain number."""
        self._numbers: dict[str, int] = {}
        self._nodes_in: list[int] = []
        self._free: list[int] = []
        self._strangers: set[int] = set()

    @property
    def domains(self) -> int:
        return len(self._numbers)

    @property
    def inhabited(self) -> frozenset[int]:
        """Return the numbers of the domains that have nodes; others may have one again."""
        return frozenset(self._numbers.values())

    @property
    def values_are_names(self) -> bool:
        """Return whether every domain is one node and has its name, as hostnames mostly do."""
        return not self._strangers

    def place(self, node: int, name: str, value: str | None) -> None:
        if not self.is_anywhere:
            if value is None:
                return
            self.domain_of, self.is_anywhere = list(self.domain_of), True
        domain_of = self.domain_of
        while len(domain_of) <= node:
            domain_of.append(NO_DOMAIN)
        if value is None or value == name:
            self._strangers.discard(node)
        else:
            self._strangers.add(node)
        old = domain_of[node]
        new = NO_DOMAIN if value is None else self._enter(value)
        domain_of[node] = new
        if old != NO_DOMAIN:
            self._leave(old)

    def number_of(self, value: str) -> int:
        """Return the number of a domain, NO_DOMAIN when no node is in it."""
        return self._numbers.get(value, NO_DOMAIN)

    def is_alone(self, node: int) -> bool:
        """Return whether a node is in a domain that has no other node."""
        domain = self.domain_of[node]
        return domain != NO_DOMAIN and self._nodes_in[domain] == 1

    def _enter(self, value: str) -> int:
        number = self._numbers.get(value)
        if number is None:
            if self._free:
                number = self._free.pop()
                self.values[number] = value
            else:
                number = len(self.values)
                self.values.append(value)
                self._nodes_in.append(0)
            self._numbers[value] = number
        self._nodes_in[number] += 1
        return number

    def _leave(self, domain: int) -> None:
        self._nodes_in[domain] -= 1
        if not self._nodes_in[domain]:
            del self._numbers[self.values[domain]]
            self._free.append(domain)


class DomainTable:
    """Signed counts per domain of one topology key; zero entries are removed.

    Removal matters: "no entry at all" means "no match anywhere", which the first pod of a group
    relies on, and the keys of a table are the set of domains that it speaks of.

    Where one pod counts, as on most nodes, the count is the very number that was added: another
    object for each would take 32 bytes, beyond those from -5 to 256 that Python keeps.
    """

    __slots__ = ("counts", "topology", "version")

    def __init__(self, topology: Topology) -> None:
        self.topology = topology
        self.counts: dict[int, int] = {}
        self.version = 0

    def add(self, node: int, amount: int) -> None:
        """Add an amount, negative to take away, to the domain that the node is in."""
        domain = self.topology.domain_of[node]
        if domain == NO_DOMAIN:
            return
        counts = self.counts
        before = counts.get(domain)
        total = amount if before is None else before + amount
        if total:
            counts[domain] = total
        else:
            counts.pop(domain, None)
        self.version += 1

    def add_all(self, nodes: Mapping[int, int], amount: int) -> None:
        """Add an amount for each pod of each node; takes half as long as one by one."""
        domain_of, counts = self.topology.domain_of, self.counts
        for node, pods in nodes.items():
            domain = domain_of[node]
            if domain != NO_DOMAIN:
                before, more = counts.get(domain), amount if pods == 1 else pods * amount
                total = more if before is None else before + more
                if total:
                    counts[domain] = total
                else:
                    counts.pop(domain, None)
        self.version += 1

    def has(self, domain: int) -> bool:
        return domain in self.counts

    @property
    def parts(self) -> tuple[DomainTable, ...]:
        return (self,)

    def has_part(self, table: DomainTable) -> bool:
        return table.is_part_of(self)

    def is_part_of(self, total: DomainTable) -> bool:
        return self is total

    def by_value(self) -> dict[str, int]:
        values = self.topology.values
        return {values[domain]: count for domain, count in self.counts.items()}


def picker(keys: Sequence[int] | Sequence[str]) -> Callable[[Any], Sequence[Any]]:
    """Return what picks the items at some indices or keys, in one C call for them all.

    A loop in Python costs three times as much, and callbacks do little else.
    """
    if len(keys) > 1:
        return itemgetter(*keys)
    return lambda items: [items[key] for key in keys]
