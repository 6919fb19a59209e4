"""Terms that placed pods carry, and where their owners are: the symmetric half of the rules."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum
from typing import TypeAlias

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


Named: TypeAlias = tuple[Term, Role, bool]
"""What tells an existing term from all others: the last is whether it is from annotations."""


@dataclass(slots=True, eq=False)
class ExistingTerm:
    """A term in one role, and how much of it each domain holds."""

    term: Term
    role: Role
    owners: DomainTable
    """Carriers per domain; for preferred terms the sum of their signed weights."""
    annotated: bool
    """Whether its carriers have it in an annotation, and not in their spec."""
    number: int
    """Tells it from all others; later ones have higher numbers, and none is used twice."""
    classes: int = 0
    """Classes that carry it, each counted as often as it repeats the term."""

    @property
    def named(self) -> Named:
        """Return what tells it from all others."""
        return self.term, self.role, self.annotated

    @property
    def is_annotated_anti(self) -> bool:
        """Return whether it keeps pods away by an annotation."""
        return self.annotated and self.role is Role.REQUIRED_ANTI


class ExistingTerms:
    """All terms that classes with placed pods carry."""

    def __init__(self, nodes: NodeRegistry) -> None:
        self.version = 0
        """Grows when a term appears or disappears."""
        self._nodes = nodes
        self.annotated_anti = 0
        """Required anti-affinity terms among them that come from annotations."""
        self._terms: dict[Named, ExistingTerm] = {}
        self._last = 0
        self._index: SelectorIndex[ExistingTerm] = SelectorIndex()

    def __len__(self) -> int:
        return len(self._terms)

    def __iter__(self) -> Iterator[ExistingTerm]:
        """Yield them in the order of their numbers."""
        return iter(self._terms.values())

    def carry(self, pod_class: PodClass) -> dict[DomainTable, int]:
        """Register the terms of a class; return their tables with what one pod adds to each."""
        tables: dict[DomainTable, int] = {}
        for named, weight in carried_by(pod_class):
            owners = self._registered(named).owners
            tables[owners] = tables.get(owners, 0) + weight
        return tables

    def holding(self, pod_class: PodClass) -> Iterator[None]:
        """Register the terms of a class that has no placed pod yet, one at a step."""
        for named, _ in carried_by(pod_class):
            self._registered(named)
            yield

    def _registered(self, named: Named) -> ExistingTerm:
        existing_term = self._terms.get(named)
        if existing_term is None:
            term, role, annotated = named
            self._last += 1
            owners = self._nodes.table(term.topology_key)
            existing_term = ExistingTerm(term, role, owners, annotated, self._last)
            self._terms[named] = existing_term
            self._index.add(term.pods, existing_term)
            self.annotated_anti += existing_term.is_annotated_anti
            self.version += 1
        existing_term.classes += 1
        return existing_term

    def dropping(self, pod_class: PodClass) -> Iterator[None]:
        """Take back the registration of a class that has no placed pod any more, term by term."""
        for named, _ in carried_by(pod_class):
            existing_term = self._terms[named]
            existing_term.classes -= 1
            if not existing_term.classes:
                del self._terms[named]
                self.annotated_anti -= existing_term.is_annotated_anti
                self._index.remove(existing_term.term.pods, existing_term)
                self._nodes.drop(existing_term.owners)
                self.version += 1
            yield

    def matching(self, pod_class: PodClass, namespace_labels: Labels) -> Iterator[ExistingTerm]:
        """Yield the existing terms that match pods of a class."""
        return self._index.matching(pod_class.namespace, namespace_labels, pod_class.labels)


def carried_by(pod_class: PodClass) -> Iterator[tuple[Named, int]]:
    """Yield the terms that pods of a class carry, with what one pod adds to the term's table."""
    annotated = pod_class.annotated
    if annotated is None:
        yield from _roles(pod_class.affinity, annotated=False)
    else:
        yield from _roles(annotated.own, annotated=False)
        yield from _roles(annotated.added, annotated=True)


def _roles(affinity: Affinity, *, annotated: bool) -> Iterator[tuple[Named, int]]:
    for term in affinity.required:
        yield (term, Role.REQUIRED, annotated), 1
    for term in affinity.required_anti:
        yield (term, Role.REQUIRED_ANTI, annotated), 1
    for weighted in affinity.preferred:
        yield (weighted.term, Role.PREFERRED, annotated), weighted.weight
