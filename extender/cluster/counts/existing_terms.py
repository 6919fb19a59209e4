"""Terms that placed pods carry, and where their owners are: the symmetric half of the rules."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Final, TypeAlias

from extender.cluster.counts.annotation_scope import AnnotationScope, Source
from extender.cluster.counts.existing_term import (
    ExistingTerm,
    Named,
    Role,
    by_role,
    rules_by_source,
)
from extender.cluster.counts.large_rules import LargeRules, are_large
from extender.cluster.counts.nodes import NodeRegistry
from extender.cluster.counts.term_index import TermGroup, TermIndex, TermSum
from extender.cluster.counts.topology import DomainTable
from extender.model.labels import Labels
from extender.model.objects import PodClass
from extender.model.pod_affinity import Affinity
from extender.model.signed import shift

_Carried: TypeAlias = tuple[Affinity, Source]


class ExistingTerms:
    """All terms that classes with placed pods carry.

    Usually each has a table of its own, whoever carries it. The terms of large rules are kept
    together, and a term that is in two such, or in one of them and elsewhere, is here as often.
    """

    def __init__(self, nodes: NodeRegistry, many_terms: int, scope: AnnotationScope) -> None:
        """Rules of more terms than `many_terms` are large."""
        self.version = 0
        """Grows when a term appears or disappears, and when one begins or ceases to count."""
        self._scope = scope
        self._nodes = nodes
        self._many_terms = many_terms
        self._annotated_anti: dict[str, int] = {}
        """Required anti-affinity terms from annotations among them, by their owners' namespace."""
        self.limits = 0
        """How many of them have `maxMatchingPods`."""
        self._terms: dict[Named, ExistingTerm] = {}
        self._large: dict[_Carried, LargeRules] = {}
        self._in_order: dict[int, ExistingTerm | LargeRules] = {}
        """By the number of the (first) term."""
        self._last = 0
        self._index: Final = TermIndex(nodes)

    def __len__(self) -> int:
        return len(self._terms) + sum(len(each.terms) for each in self._large.values())

    def __iter__(self) -> Iterator[ExistingTerm]:
        """Yield them in the order of their numbers."""
        for each in self._in_order.values():
            if isinstance(each, LargeRules):
                yield from each.terms
            else:
                yield each

    def after(self, number: int) -> Iterator[ExistingTerm]:
        """Yield those with higher numbers, in order; large rules before them cost a step each.

        Terms may come and go meanwhile.
        """
        for first in list(self._in_order):
            each = self._in_order.get(first)
            if isinstance(each, LargeRules):
                yield from islice(each.terms, max(0, number + 1 - first), None)
            elif each is not None and first > number:
                yield each

    @property
    def alone(self) -> Iterable[ExistingTerm]:
        """Return those that are not of large rules, in the order of their numbers."""
        return self._terms.values()

    @property
    def sums(self) -> Iterator[TermSum]:
        """Yield the terms that are counted together as well."""
        return self._index.sums

    def are_large(self, rules: Affinity) -> bool:
        """Return whether the terms of some rules are kept together."""
        return are_large(rules, self._many_terms)

    @property
    def large(self) -> Iterator[LargeRules]:
        """Yield the large rules, without those whose terms are not all there yet."""
        return (each for each in self._large.values() if each.is_filled)

    def large_for(self, namespace: str) -> Iterator[LargeRules]:
        """Yield those that count for pods of a namespace."""
        counts = self._scope.counts
        return (each for each in self.large if counts(each.source, namespace))

    @property
    def keeps_away_by_annotation(self) -> bool:
        """Return whether anti-affinity in annotations counts anywhere."""
        return self._scope.is_anywhere and any(map(self._scope.covers, self._annotated_anti))

    @property
    def most_large(self) -> int:
        """Return how many large rules there are, with those whose terms are not all there yet."""
        return len(self._large)

    def find_large(self, rules: Affinity, source: Source) -> LargeRules | None:
        """Return what is known of large rules, None when no placed pod carries them."""
        found = self._large.get((rules, source))
        return found if found is not None and found.is_filled else None

    def carry(self, pod_class: PodClass) -> dict[DomainTable, int]:
        """Register the terms of a class; return their tables with what one pod adds to each."""
        tables: dict[DomainTable, int] = {}
        for source in rules_by_source(pod_class):
            if self.are_large(source[0]):
                large = self._held(source)
                deque(self.filling(large), maxlen=0)
                tables.update(dict.fromkeys(large.tables, 1))
                continue
            for named, weight in by_role(*source):
                owners = self._registered(named).owners
                tables[owners] = tables.get(owners, 0) + weight
        return tables

    def hold(self, pod_class: PodClass) -> list[LargeRules]:
        """Register the large rules of a class that has no placed pod yet, without their terms."""
        return [self._held(each) for each in rules_by_source(pod_class) if self.are_large(each[0])]

    def filling(self, large: LargeRules) -> Iterator[None]:
        """Take the terms of large rules apart, one at a step, and count them from then on."""
        if not large.is_filled:
            yield from large.filling()
            self.version += 1

    def _held(self, carried: _Carried) -> LargeRules:
        large = self._large.get(carried)
        if large is None:
            rules, source = carried
            number = self._last + 1
            large = LargeRules(rules, self._nodes, number, source)
            self._large[carried] = self._in_order[number] = large
            self._last += len(rules)
            self._count_annotated(source, len(rules.required_anti))
        large.classes += 1
        return large

    def _registered(self, named: Named) -> ExistingTerm:
        existing_term = self._terms.get(named)
        if existing_term is None:
            _, role, source = named
            self._last += 1
            existing_term = self._index.add(named, self._last)
            self._terms[named] = self._in_order[self._last] = existing_term
            self._count_annotated(source, role is Role.REQUIRED_ANTI)
            self.limits += role is Role.LIMIT
            self.version += 1
        existing_term.classes += 1
        return existing_term

    def drop(self, pod_class: PodClass) -> list[LargeRules]:
        """Take back the registration of a class that has no placed pod any more.

        Return the large rules that nobody carries any more, which are to be emptied.
        """
        unused = []
        for source in rules_by_source(pod_class):
            if self.are_large(source[0]):
                large = self._large[source]
                if self.release(large):
                    unused.append(large)
                continue
            for named, _ in by_role(*source):
                self._dropped(named)
        return unused

    def release(self, large: LargeRules) -> bool:
        """Take back one registration of large rules; return whether nobody carries them now."""
        large.classes -= 1
        if large.classes:
            return False
        del self._large[large.rules, large.source], self._in_order[large.number]
        self._count_annotated(large.source, -len(large.rules.required_anti))
        self.version += 1
        return True

    def _dropped(self, named: Named) -> None:
        existing_term = self._terms[named]
        existing_term.classes -= 1
        if not existing_term.classes:
            del self._terms[named], self._in_order[existing_term.number]
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

        Of a group, it may be that no term is about them. Large rules are left out.
        """
        counts, namespace = self._scope.counts, pod_class.namespace
        for each in self._index.about(pod_class, namespace_labels):
            if each.source is None or counts(each.source, namespace):
                yield each

    def matching(self, pod_class: PodClass, namespace_labels: Labels) -> Iterator[ExistingTerm]:
        """Yield the existing terms that are about pods of a class, and something to them.

        Those of large rules are left out.
        """
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
