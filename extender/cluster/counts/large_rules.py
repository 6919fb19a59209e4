"""Rules of placed pods that are many or long, taken together: their owners are the same pods.

A tenant may place hundreds of pods with thousands of terms each. With a table for each of these
terms, a question about any pod would go through hundreds of thousands of tables.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Generator, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Final

from extender.cluster.counts.annotation_scope import Source
from extender.cluster.counts.existing_term import ExistingTerm, Role, by_role
from extender.cluster.counts.nodes import NodeRegistry
from extender.cluster.counts.topology import DomainTable, Topology
from extender.model.conjunctions import is_too_wide
from extender.model.labels import Labels
from extender.model.objects import PodClass
from extender.model.pod_affinity import Affinity, PodSelector, Term
from extender.model.selector_index import SelectorIndex

MANY_TERMS: Final = 16
"""Terms from which the rules of a class are large. Fewer have a table each, found by an index of
all: beside 3,000 workloads with six terms each, a class that is new is compared in 0.05 ms. Large
rules are looked at one by one: if these were large, it would take 33."""
CONDITIONS_A_TERM: Final = 16
"""That many times as many conditions make them large as well."""
LOOK_UP: Final = 8
"""Comparisons that take as long as to look up the terms that an index finds."""


def are_large(rules: Affinity, many_terms: int = MANY_TERMS) -> bool:
    """Return whether rules are many, long or wide; O(1), or O(terms) up to `many_terms`."""
    if rules.limits:
        return False
    if len(rules) > many_terms:
        return True
    terms = (*rules.required, *rules.required_anti, *(each.term for each in rules.preferred))
    if any(is_too_wide(each.pods) for each in terms):
        return True
    return sum(each.pods.conditions for each in terms) > many_terms * CONDITIONS_A_TERM


def _is_indexed(pods: PodSelector) -> bool:
    """Return whether an index finds a selector by a label's value or by namespaces."""
    return pods.selector.pins_a_label or pods.namespace_selector is None


@dataclass(frozen=True, slots=True)
class Matched:
    """What some large rules say of pods of a class: tables of their carriers."""

    anti_affinity: tuple[DomainTable, ...] = ()
    """One for each key of a required anti-affinity term that is about them."""
    required: tuple[tuple[DomainTable, int], ...] = ()
    """With how many required affinity terms over its key are about them."""
    preferred: tuple[tuple[DomainTable, int], ...] = ()
    """With the sum of the weights of those that are about them."""

    @property
    def tables(self) -> int:
        """Return how many tables it has."""
        return len(self.anti_affinity) + len(self.required) + len(self.preferred)


NOTHING: Final = Matched()


@dataclass(slots=True, eq=False)
class _Group:
    """The terms of one role over one topology key."""

    role: Role
    carriers: DomainTable
    filed: SelectorIndex[ExistingTerm] | None = None
    """Those that name a label's value or namespaces, found by it."""
    others: list[ExistingTerm] = field(default_factory=list)
    """Those that have to be tried one by one."""

    def add(self, existing: ExistingTerm) -> None:
        """Take in a term."""
        pods = existing.term.pods
        if pods.selector.matches_nothing:
            return
        if not _is_indexed(pods):
            self.others.append(existing)
            return
        if self.filed is None:
            # There may be thousands of keys, with a term each.
            self.filed = SelectorIndex()
        self.filed.add(pods, existing)

    def tried(
        self, pod_class: PodClass, namespace_labels: Labels
    ) -> Iterator[tuple[ExistingTerm | None, int]]:
        """Yield the terms that are about pods of a class, with the comparisons that it took.

        None for each of the others that had to be tried.
        """
        namespace, labels = pod_class.namespace, pod_class.labels
        if self.filed is not None:
            for existing in self.filed.matching(namespace, namespace_labels, labels):
                yield existing, 1
        for existing in self.others:
            pods: PodSelector = existing.term.pods
            met = pods.matches(namespace, namespace_labels, labels)
            yield (existing if met else None), pods.conditions


class LargeRules:
    """Rules that are many or long, and the pods that carry all of them.

    A term may be read from them, like any existing one, once it is `filled`.
    """

    def __init__(self, rules: Affinity, nodes: NodeRegistry, number: int, source: Source) -> None:
        """`number` is that of the first term; the others have those that follow."""
        self.rules = rules
        self.source = source
        self.number = number
        self.classes = 0
        """Classes that carry them, or are about to."""
        self.terms: list[ExistingTerm] = []
        self.by_topology: Counter[Topology] = Counter()
        """How many of the terms are over each topology key."""
        self._nodes = nodes
        self._tables: dict[str, DomainTable] = {}
        self._groups: dict[tuple[Role, str], _Group] = {}
        self._left: Iterator[object] | None = self._filling()

    @property
    def annotated(self) -> bool:
        """Return whether their carriers have them in an annotation."""
        return self.source is not None

    @property
    def is_filled(self) -> bool:
        """Return whether all terms are there."""
        return self._left is None

    @property
    def tables(self) -> Iterable[DomainTable]:
        """Return the tables, one for each topology key, to which each carrier adds one."""
        return self._tables.values()

    def filling(self) -> Iterator[None]:
        """Take the terms apart, one at a step; another who does so goes on where this stopped."""
        while self._left is not None:
            if next(self._left, self) is self:
                self._left = None
            else:
                yield

    def _filling(self) -> Iterator[object]:
        source = self.source
        for at, ((term, role, _), weight) in enumerate(by_role(self.rules, source)):
            key = term.topology_key
            table = self._tables.get(key)
            if table is None:
                table = self._tables[key] = self._nodes.table(key)
            existing = ExistingTerm(term, role, table, source, self.number + at, weight, 1)
            self.terms.append(existing)
            self.by_topology[table.topology] += 1
            group = self._groups.get((role, key))
            if group is None:
                group = self._groups[role, key] = _Group(role, table)
            group.add(existing)
            yield existing

    def emptying(self) -> Iterator[None]:
        """Let go of the terms and tables of rules that nobody carries any more, one at a step."""
        self._left = None
        self._groups = {}
        while self.terms:
            self.terms.pop()
            yield
        while self._tables:
            _, table = self._tables.popitem()
            self._nodes.drop(table)
            yield

    def matching(
        self, pod_class: PodClass, namespace_labels: Labels, comparisons: int
    ) -> Generator[int, None, Matched]:
        """Find out what they say of pods of a class, in steps; yield what each step took.

        Of anti-affinity, one term over a key says what all would.
        """
        if pod_class.of_annotations and not self.annotated:
            return NOTHING
        found: dict[Role, list[tuple[DomainTable, int]]] = {role: [] for role in Role}
        spent = LOOK_UP
        for group in list(self._groups.values()):
            # Over a key that no node has, nobody is near to anybody.
            if not group.carriers.topology.is_anywhere:
                continue
            factors = []
            for existing, took in group.tried(pod_class, namespace_labels):
                spent += took
                if existing is not None:
                    factors.append(existing.factor)
                    if group.role is Role.REQUIRED_ANTI:
                        break
                if spent >= comparisons:
                    yield spent
                    spent = 0
            if factors:
                found[group.role].append((group.carriers, sum(factors)))
        yield spent
        if not any(found.values()):
            return NOTHING
        return Matched(
            tuple(table for table, _ in found[Role.REQUIRED_ANTI]),
            tuple(found[Role.REQUIRED]),
            tuple(found[Role.PREFERRED]),
        )

    def excluding(
        self,
        pod_class: PodClass,
        namespace_labels: Labels,
        matters: Callable[[DomainTable], object] = lambda _: True,
    ) -> Iterator[tuple[DomainTable, tuple[Term, ...]]]:
        """Yield the carriers by each key over which they exclude pods of a class, and by what.

        O(required anti-affinity terms over keys for which it matters).
        """
        for group in list(self._groups.values()):
            carriers = group.carriers
            if group.role is Role.REQUIRED_ANTI and carriers.counts and matters(carriers):
                tried = group.tried(pod_class, namespace_labels)
                terms = tuple(existing.term for existing, _ in tried if existing is not None)
                if terms:
                    yield group.carriers, terms
