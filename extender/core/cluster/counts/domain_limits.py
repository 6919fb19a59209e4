"""Topology domains in which a term with `maxMatchingPods` allows no more pods."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from extender.core.cluster.counts.count_tables import versions
from extender.core.cluster.counts.topology import NO_DOMAIN, DomainTable, Topology
from extender.core.model.pod_affinity import LimitedTerm


@dataclass(slots=True, eq=False)
class DomainLimit:
    """A term with a limit, and what it says of pods of one class.

    Remembered until one of its tables changes, as a union of domains is.
    """

    term: LimitedTerm
    matched: DomainTable
    """The pods that the term matches."""
    owners: DomainTable | None
    """The placed pods that carry it; None where it is the term of the pod that is asked about."""
    adds: int
    """Whether one more pod of the class matches: 0 or 1."""
    number: int = 0
    """The existing term's number."""
    _versions: tuple[int, ...] | None = None
    _full: Collection[int] = ()

    @property
    def room(self) -> int:
        """Return how many that match may be in a domain already; below 0: none may come."""
        return self.term.most - self.adds

    @property
    def topology(self) -> Topology:
        return self.matched.topology

    @property
    def tables(self) -> tuple[DomainTable, ...]:
        return (self.matched,) if self.owners is None else (self.matched, self.owners)

    def holds(self, domain: int) -> bool:
        """Return whether the term speaks of a domain: an owner is there, or about to be."""
        return domain != NO_DOMAIN and (self.owners is None or domain in self.owners.counts)

    def full(self) -> Collection[int]:
        """Return the domains that have no room for one more.

        O(entries) after a change; O(domains) each time where none may come anywhere.
        """
        if self.owners is None and self.room < 0:
            # All there are: one that comes or goes with a node changes no table.
            return self.topology.inhabited
        now = versions(self.tables)
        if now != self._versions:
            self._full, self._versions = self._find(), now
        return self._full

    def among(self, places: Sequence[int]) -> Collection[int]:
        """Return those of some domains, one that has no node yet among them, without room."""
        get, room = self.matched.counts.get, self.room
        if self.owners is None and room < 0:
            return {each for each in places if each != NO_DOMAIN}
        spoken_of = (self.owners or self.matched).counts.keys()
        return {each for each in spoken_of & places if get(each, 0) > room}

    def _find(self) -> Collection[int]:
        matched, room = self.matched.counts, self.room
        if self.owners is None:
            return {domain for domain, pods in matched.items() if pods > room}
        get = matched.get
        return {domain for domain in self.owners.counts if get(domain, 0) > room}
