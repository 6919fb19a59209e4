"""Terms that placed pods carry, and where their owners are: the symmetric half of the rules."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from extender.core.cluster.counts.existing_term import (
    ExistingTerm,
    Named,
    Role,
    carried_by,
)
from extender.core.cluster.counts.nodes import NodeRegistry
from extender.core.cluster.counts.scope import Scope, Source
from extender.core.cluster.counts.term_index import TermGroup, TermIndex, TermSum
from extender.core.cluster.counts.topology import DomainTable
from extender.core.model.labels import Labels
from extender.core.model.objects import PodClass
from extender.core.model.signed import shift


class ExistingTerms:
    """All terms that classes with placed pods carry, each once, whichever classes carry it."""

    def __init__(self, nodes: NodeRegistry, scope: Scope) -> None:
        self.version = 0
        """Grows when a term appears or disappears, and when one begins or ceases to count."""
        self._scope = scope
        self._nodes = nodes
        self._annotated_anti: dict[str, int] = {}
        """Number of required anti-affinity terms from annotations, by their owners' namespace."""
        self.limits = 0
        """How many of the terms have `maxMatchingPods`."""
        self._terms: dict[Named, ExistingTerm] = {}
        self._last = 0
        self._index: Final = TermIndex(nodes)

    def __len__(self) -> int:
        return len(self._terms)

    def __iter__(self) -> Iterator[ExistingTerm]:
        """Yield them in the order of their numbers."""
        return iter(self._terms.values())

    def after(self, number: int) -> Iterator[ExistingTerm]:
        """Yield those with higher numbers, in order. Terms may come and go meanwhile."""
        for existing in [each for each in self if each.number > number]:
            if existing.classes:
                yield existing

    @property
    def sums(self) -> Iterator[TermSum]:
        """Yield the terms that are counted together as well."""
        return self._index.sums

    @property
    def keeps_away_by_annotation(self) -> bool:
        """Return whether anti-affinity in annotations counts anywhere."""
        return self._scope.is_anywhere and any(map(self._scope.covers, self._annotated_anti))

    def carry(self, pod_class: PodClass) -> dict[DomainTable, int]:
        """Register the terms of a class; return their tables with what one pod adds to each."""
        tables: dict[DomainTable, int] = {}
        for named, weight in carried_by(pod_class):
            owners = self._registered(named).owners
            tables[owners] = tables.get(owners, 0) + weight
        return tables

    def _registered(self, named: Named) -> ExistingTerm:
        existing_term = self._terms.get(named)
        if existing_term is None:
            _, role, source = named
            self._last += 1
            existing_term = self._index.add(named, self._last)
            self._terms[named] = existing_term
            self._count_annotated(source, role is Role.REQUIRED_ANTI)
            self.limits += role is Role.LIMIT
            self.version += 1
        existing_term.classes += 1
        return existing_term

    def drop(self, pod_class: PodClass) -> None:
        """Take back the registration of a class that has no placed pod any more."""
        for named, _ in carried_by(pod_class):
            self._dropped(named)

    def _dropped(self, named: Named) -> None:
        existing_term = self._terms[named]
        existing_term.classes -= 1
        if not existing_term.classes:
            del self._terms[named]
            self._count_annotated(existing_term.source, -(existing_term.role is Role.REQUIRED_ANTI))
            self._index.remove(existing_term)
            self._nodes.drop(existing_term.owners)
            self.limits -= existing_term.role is Role.LIMIT
            self.version += 1

    def _count_annotated(self, source: Source, terms: int) -> None:
        if terms and source is not None and not source.later:
            shift(self._annotated_anti, source.namespace, terms)

    def summed(
        self, pod_class: PodClass, namespace_labels: Labels
    ) -> Iterator[ExistingTerm | TermGroup]:
        """Yield what about pods of a class counts for them: terms, and groups of terms.

        Of a group, it may be that no term is about them.
        """
        counts, namespace = self._scope.counts, pod_class.namespace
        for each in self._index.about(pod_class, namespace_labels):
            if each.source is None or counts(each.source, namespace):
                yield each

    def matching(self, pod_class: PodClass, namespace_labels: Labels) -> Iterator[ExistingTerm]:
        """Yield the existing terms that are about pods of a class, and something to them."""
        for each in self.summed(pod_class, namespace_labels):
            if isinstance(each, ExistingTerm):
                yield each
            else:
                yield from each.about(pod_class, namespace_labels)

    def speaking_of(
        self, pod_class: PodClass, namespace_labels: Labels
    ) -> Iterator[ExistingTerm | TermGroup]:
        """Yield the same as `summed`, whether it counts for pods of the class or not."""
        return self._index.about(pod_class, namespace_labels)
