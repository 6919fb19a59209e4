"""What an incoming pod's class has to be compared with, resolved to tables."""

from __future__ import annotations

from collections.abc import Collection, Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import chain, islice

from extender.core.cluster.counts.count_tables import CountTable, Difference, versions
from extender.core.cluster.counts.counters import Counters
from extender.core.cluster.counts.domain_limits import DomainLimit
from extender.core.cluster.counts.existing_term import ExistingTerm, Role
from extender.core.cluster.counts.nodes import Nodes
from extender.core.cluster.counts.pod_sets import RuleSets, Sought, matched_by, rule_sets
from extender.core.cluster.counts.scope import Source
from extender.core.cluster.counts.term_index import TermGroup
from extender.core.cluster.counts.topology import DomainTable, Topology
from extender.core.model import memory
from extender.core.model.labels import Labels
from extender.core.model.lru_cache import ENTRY_BYTES, LruCache
from extender.core.model.objects import PodClass
from extender.core.model.pod_affinity import LimitedTerm

PER_TABLE = 256
"""Bytes of what a pre-filter state has for each table."""
PER_DOMAIN = 64
"""Bytes of a domain in a union."""


@dataclass(slots=True, eq=False)
class DomainUnion:
    """The domains of one topology in which any of several tables has an entry.

    Remembered until one of the tables changes: a refused pod is asked about again and again.
    """

    topology: Topology
    tables: tuple[CountTable, ...]
    _versions: tuple[int, ...] | None = None
    _domains: Collection[int] = ()

    @property
    def most_domains(self) -> int:
        """Return how many domains are remembered beside the tables, with these entries at most."""
        if len(self.tables) == 1 and isinstance(self.tables[0], DomainTable):
            return 0
        return min(self.topology.domains, sum(len(table.counts) for table in self.tables))

    def among(self, places: Sequence[int]) -> Collection[int] | None:
        """Return those of some domain numbers, None when there are none.

        O(places x tables), however many entries have changed.
        """
        tables = self.tables
        return {each for each in places if any(table.has(each) for table in tables)} or None

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
class PreFilterState:
    """The tables behind every answer about pods of one class.

    Stays true while `structure` does; the tables themselves move with every event.
    """

    pod_class: PodClass
    structure: tuple[int, int, int]
    """Counters.structure when the pre-filter state was resolved."""
    affinity: tuple[DomainTable, ...]
    """Per key of the required affinity terms: the pods that match all terms."""
    starts_group: bool
    """The class matches all its own required affinity terms."""
    anti_affinity: tuple[DomainUnion, ...]
    """The class's own required anti-affinity, a union for each topology."""
    existing_anti_affinity: tuple[DomainUnion, ...]
    """Placed pods' required anti-affinity that matches the class, a union for each topology."""
    preferred: tuple[tuple[CountTable, int], ...]
    """The class's own preferred terms: matching pods, and the signed weight."""
    existing_preferred: tuple[CountTable, ...]
    """Placed pods' preferred terms that match the class: sums of signed weights."""
    existing_required: tuple[CountTable, ...]
    """Placed pods' required affinity terms that match the class: carriers."""
    limits: tuple[DomainLimit, ...] = ()
    """Terms with `maxMatchingPods`, the class's own first, then placed pods' that match it."""
    has_rules: bool = field(init=False)
    """Whether any rule, own or existing, can refuse a node."""

    @property
    def is_first(self) -> bool:
        """Return whether a pod may start the group that its required affinity is about.

        It matches its own terms, and no placed pod does.
        """
        return self.starts_group and not any(table.counts for table in self.affinity)

    @property
    def size(self) -> int:
        """Return about what it takes beside its tables, in bytes."""
        unions = (*self.anti_affinity, *self.existing_anti_affinity)
        every = (
            *chain.from_iterable(each.tables for each in unions),
            *(table for table, _ in self.preferred),
            *self.existing_preferred,
            *self.existing_required,
        )
        tables = sum(len(table.parts) for table in every)
        tables += len(self.affinity) + 2 * len(self.limits)
        domains = sum(union.most_domains for union in unions)
        return self.pod_class.size + PER_TABLE * (1 + tables) + PER_DOMAIN * domains

    @property
    def required_rules(self) -> Hashable:
        """Return what is the same for classes that placed pods let onto the same nodes."""
        own = [table.parts for union in self.anti_affinity for table in union.tables]
        existing = [table.parts for union in self.existing_anti_affinity for table in union.tables]
        limits = [(each.tables, each.term.most, each.adds) for each in self.limits]
        sets = frozenset(own), frozenset(existing), frozenset(limits)
        return self.affinity, self.starts_group, *sets

    def __post_init__(self) -> None:
        self.has_rules = bool(self.affinity or self.anti_affinity or self.existing_anti_affinity)


def unions(tables: Iterable[CountTable]) -> tuple[DomainUnion, ...]:
    grouped: dict[Topology, dict[CountTable, None]] = {}
    for table in tables:
        grouped.setdefault(table.topology, {})[table] = None
    return tuple(DomainUnion(topology, tuple(group)) for topology, group in grouped.items())


MOST_LIMITS = 64
"""Different limits about a pod that the placed pods of one namespace may have."""
LARGE_SHARE = 2
"""A pre-filter state may take half of the budget: resolving a large one is expensive."""
OUTDATED_AT_ONCE = 8
"""States from before the last change of structure that are given up with each new one."""


class PreFilterStates:
    def __init__(self, counters: Counters, nodes: Nodes, most: int) -> None:
        self._counters = counters
        self._nodes = nodes
        self._known: LruCache[PodClass, PreFilterState] = LruCache(
            memory.PREFILTER_STATES, most=most, share=LARGE_SHARE
        )

    def about(self, pod_class: PodClass) -> PreFilterState:
        """Resolve what pods of a class have to be compared with.

        Costs a look-up when the class was asked about before and no term came or went since; a term
        that is new to all questions is counted once over the placed classes.
        """
        known = self.find(pod_class)
        if known is not None:
            return known
        prefilter = self._resolve(pod_class)
        # A larger one counts as the largest that is kept: what is asked for is kept in any case.
        self._known.put(
            pod_class, prefilter, min(prefilter.size, self._known.largest - ENTRY_BYTES)
        )
        self._drop_outdated()
        # Only now: the state just resolved may itself have asked for too many sets. Its tables
        # are right at this moment, and the new structure makes it resolve them again next time.
        self._counters.give_up_excess()
        return prefilter

    def find(self, pod_class: PodClass) -> PreFilterState | None:
        known = self._known.get(pod_class)
        return known if known and known.structure == self._counters.structure else None

    def forgetting(self) -> Iterator[None]:
        """Give up those that were not asked for since this was gone through last."""
        return self._known.forgetting()

    def _drop_outdated(self) -> None:
        """Give up some states that have to be resolved again when they are asked for.

        They would keep tables alive in which nothing is counted any more. Those asked longest ago
        are the oldest, so an up-to-date one ends the search.
        """
        for _ in range(OUTDATED_AT_ONCE):
            oldest = self._known.oldest()
            if oldest is None or oldest.structure == self._counters.structure:
                return
            self._known.pop_oldest()

    def preparing(self, pod_class: PodClass, comparisons: int) -> Iterator[int]:
        """Count what a state needs, about `comparisons` at a step; yield what each step took.

        The state may change between two steps. A set that was started is kept up to date from then
        on, so the work serves the next question even if this one is given up.
        """
        counters, spent = self._counters, 0
        if self.find(pod_class) is not None:
            return
        sets = dict.fromkeys(rule_sets(pod_class.affinity, self._nodes))
        yield 0
        sets.update((matched_by(each.term), None) for each in self._existing_limits(pod_class))
        for named in sets:
            for step in counters.counting(*named, comparisons):
                spent += step
                yield step
        # Sets that were given up for new ones; not what others have left behind.
        while spent > 0 and counters.deferred:
            done = counters.deferred.do(min(spent, comparisons))
            spent -= done
            yield done

    def _resolve(self, pod_class: PodClass) -> PreFilterState:
        counters, nodes = self._counters, self._nodes
        structure = counters.structure
        rules = pod_class.affinity
        namespace, labels = pod_class.namespace, pod_class.labels
        namespace_labels = counters.namespace_labels(namespace)
        existing: dict[Role, list[CountTable]] = {role: [] for role in Role}
        limits: list[ExistingTerm] = []
        for each in counters.existing_terms.summed(pod_class, namespace_labels):
            if pod_class.of_annotations and not each.annotated:
                continue
            if each.role is Role.LIMIT:
                limits += _some(each, pod_class, namespace_labels)
            elif isinstance(each, ExistingTerm):
                existing[each.role].append(each.owners)
            elif (owners := each.owners(pod_class, namespace_labels)) is not None:
                existing[each.role].append(owners)
        sets = rule_sets(rules, nodes)
        return PreFilterState(
            pod_class=pod_class,
            structure=structure,
            affinity=(
                *(counters.matching(*named) for named in sets.affinity),
                *(() if sets.elsewhere is None else (nodes.nowhere(sets.elsewhere),)),
            ),
            starts_group=all(
                term.pods.matches(namespace, namespace_labels, labels) for term in rules.required
            ),
            anti_affinity=unions(map(self._where, sets.anti_affinity)),
            existing_anti_affinity=unions(existing[Role.REQUIRED_ANTI]),
            preferred=tuple((self._where(sought), factor) for sought, factor in sets.preferred),
            existing_preferred=tuple(existing[Role.PREFERRED]),
            existing_required=tuple(existing[Role.REQUIRED]),
            limits=(
                *self._own_limits(pod_class, sets),
                *map(self._existing_limit, _countable(limits)),
            ),
        )

    def _where(self, sought: Sought) -> CountTable:
        among, *without = (self._counters.matching(*named) for named in sought.sets)
        return Difference(among, without) if without else among

    def _existing_limits(self, pod_class: PodClass) -> list[ExistingTerm]:
        if not self._counters.existing_terms.limits:
            return []
        labels = self._counters.namespace_labels(pod_class.namespace)
        limits: list[ExistingTerm] = []
        for each in self._counters.existing_terms.summed(pod_class, labels):
            if each.role is Role.LIMIT:
                limits += _some(each, pod_class, labels)
        return _countable(limits)

    def _own_limits(self, pod_class: PodClass, sets: RuleSets) -> Iterator[DomainLimit]:
        labels = self._counters.namespace_labels(pod_class.namespace)
        for named, term in sets.limits:
            itself = term.pods.matches(pod_class.namespace, labels, pod_class.labels)
            yield DomainLimit(term, self._counters.matching(*named), None, int(itself))

    def _existing_limit(self, existing: ExistingTerm) -> DomainLimit:
        term = existing.term
        if not isinstance(term, LimitedTerm):
            raise TypeError(f"{term} has no limit")
        matched = self._counters.matching(*matched_by(term))
        return DomainLimit(term, matched, existing.owners, 1, existing.number)


def _some(
    each: ExistingTerm | TermGroup, pod_class: PodClass, namespace_labels: Labels
) -> Iterable[ExistingTerm]:
    """Return the limits about pods of a class; of very many in a group, one more than count."""
    if isinstance(each, ExistingTerm):
        return (each,)
    return islice(each.about(pod_class, namespace_labels), MOST_LIMITS + 1)


def _countable(limits: Iterable[ExistingTerm]) -> list[ExistingTerm]:
    """Return the limits but those of a namespace that has very many about the same pods.

    What others have to count is not for it to say.
    """
    by_namespace: dict[Source, list[ExistingTerm]] = {}
    for each in limits:
        by_namespace.setdefault(each.source, []).append(each)
    few = (some for some in by_namespace.values() if len(some) <= MOST_LIMITS)
    return [each for some in few for each in some]
