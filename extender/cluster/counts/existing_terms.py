"""Terms that placed pods carry, and where their owners are: the symmetric half of the rules."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum

from extender.cluster.counts.nodes import NodeRegistry
from extender.cluster.counts.selector_index import SelectorIndex
from extender.cluster.counts.topology import DomainTable
from extender.model.labels import Labels
from extender.model.objects import PodClass
from extender.model.pod_affinity import Affinity, Term


class Role(Enum):
    """What a term is to the pods that carry it."""

    REQUIRED = "required"
    REQUIRED_ANTI = "requiredAnti"
    PREFERRED = "preferred"


@dataclass(slots=True, eq=False)
class ExistingTerm:
    """A term in one role, and how much of it each domain holds."""

    term: Term
    role: Role
    owners: DomainTable
    """Carriers per domain; for preferred terms the sum of their signed weights."""
    number: int
    """Tells it from all others; later ones have higher numbers, and none is used twice."""
    classes: int = 0
    """Classes that carry it, each counted as often as it repeats the term."""


class ExistingTerms:
    """All terms that classes with placed pods carry."""

    def __init__(self, nodes: NodeRegistry) -> None:
        self.version = 0
        """Grows when a term appears or disappears."""
        self._nodes = nodes
        self._terms: dict[tuple[Term, Role], ExistingTerm] = {}
        self._last = 0
        self._index: SelectorIndex[ExistingTerm] = SelectorIndex()

    def __len__(self) -> int:
        return len(self._terms)

    def __iter__(self) -> Iterator[ExistingTerm]:
        """Yield them in the order of their numbers."""
        return iter(self._terms.values())

    def carry(self, affinity: Affinity) -> dict[DomainTable, int]:
        """Register the terms of a class; return their tables with what one pod adds to each."""
        tables: dict[DomainTable, int] = {}
        for term, role, weight in _roles(affinity):
            owners = self._registered(term, role).owners
            tables[owners] = tables.get(owners, 0) + weight
        return tables

    def holding(self, affinity: Affinity) -> Iterator[None]:
        """Register the terms of a class that has no placed pod yet, one at a step."""
        for term, role, _ in _roles(affinity):
            self._registered(term, role)
            yield

    def _registered(self, term: Term, role: Role) -> ExistingTerm:
        existing_term = self._terms.get((term, role))
        if existing_term is None:
            self._last += 1
            owners = self._nodes.table(term.topology_key)
            existing_term = ExistingTerm(term, role, owners, self._last)
            self._terms[term, role] = existing_term
            self._index.add(term.pods, existing_term)
            self.version += 1
        existing_term.classes += 1
        return existing_term

    def dropping(self, affinity: Affinity) -> Iterator[None]:
        """Take back the registration of a class that has no placed pod any more, term by term."""
        for term, role, _ in _roles(affinity):
            existing_term = self._terms[term, role]
            existing_term.classes -= 1
            if not existing_term.classes:
                del self._terms[term, role]
                self._index.remove(term.pods, existing_term)
                self._nodes.drop(existing_term.owners)
                self.version += 1
            yield

    def matching(self, pod_class: PodClass, namespace_labels: Labels) -> Iterator[ExistingTerm]:
        """Yield the existing terms that match pods of a class."""
        return self._index.matching(pod_class.namespace, namespace_labels, pod_class.labels)


def _roles(affinity: Affinity) -> Iterator[tuple[Term, Role, int]]:
    for term in affinity.required:
        yield term, Role.REQUIRED, 1
    for term in affinity.required_anti:
        yield term, Role.REQUIRED_ANTI, 1
    for weighted in affinity.preferred:
        yield weighted.term, Role.PREFERRED, weighted.weight
