"""Existing terms by the pods that they are about, those that differ in what they refuse together.

Thousands of pods may each exclude all others but their own (`NotIn`): about any other pod, nearly
all of these terms say the same. So what they say is a sum, less what the terms add that are not
about it; these name one of its labels.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import chain
from typing import TypeAlias

from extender.core.cluster.counts.count_tables import CountTable, Difference, MemberTable
from extender.core.cluster.counts.existing_term import ExistingTerm, Named, Role
from extender.core.cluster.counts.nodes import NodeRegistry
from extender.core.cluster.counts.scope import Source
from extender.core.cluster.counts.topology import DomainTable, Topology
from extender.core.model.conjunctions import (
    NAME,
    Conjunction,
    Unwanted,
    conjunctions,
    is_conjunction,
    is_too_wide,
)
from extender.core.model.labels import Labels
from extender.core.model.objects import PodClass
from extender.core.model.pod_affinity import PodSelector
from extender.core.model.selector_index import SelectorIndex

_Members: TypeAlias = dict[ExistingTerm, MemberTable]
_Shape: TypeAlias = tuple[PodSelector, str, Role, Source]
"""What the terms of a group have in common."""


class TermSum:
    """Some terms over one topology key, and what their owners add to each domain."""

    __slots__ = ("_total", "members")

    def __init__(self, members: _Members) -> None:
        self.members = members
        """With their tables."""
        self._total: DomainTable | None = None

    @property
    def table(self) -> DomainTable:
        """Return the sum; that of one term is the term's own table."""
        return self._total or next(iter(self.members.values()))

    def add(self, existing: ExistingTerm, owners: MemberTable) -> None:
        self.members[existing] = owners
        if self._total is not None:
            owners.join(self._total)
        elif len(self.members) > 1:
            self._total = DomainTable(owners.topology)
            for each in self.members.values():
                each.join(self._total)


_Bag: TypeAlias = ExistingTerm | TermSum
"""One term on its own, for there are thousands of values with one each."""
_Bags: TypeAlias = dict[str, dict[str | None, _Bag]]
"""By label key and value, None: whatever the value."""


class TermGroup(TermSum):
    """Terms of one role and source, over one topology key, that want the same of pods."""

    __slots__ = ("_spared", "_unwanted", "_unwanted_spaces", "role", "source", "topology")

    def __init__(self, role: Role, source: Source, topology: Topology) -> None:
        super().__init__({})
        self.role = role
        self.source = source
        self.topology = topology
        self._unwanted: _Bags = {}
        """The terms that are not about pods with a label."""
        self._unwanted_spaces: _Bags = {}
        """The same of a label, or the name, of their namespace."""
        self._spared: _Bags = {}
        """Those that are not about some pods of a workload."""

    @property
    def annotated(self) -> bool:
        return self.source is not None

    def file(self, existing: ExistingTerm, owners: MemberTable, part: Conjunction) -> None:
        self.add(existing, owners)
        for bags, unwanted in self._sides(part):
            for key, value in unwanted:
                values = bags.setdefault(key, {})
                bag = values.get(value)
                if bag is None:
                    values[value] = existing
                elif isinstance(bag, TermSum):
                    bag.add(existing, owners)
                else:
                    values[value] = both = TermSum({bag: self.members[bag]})
                    both.add(existing, owners)

    def take_out(self, existing: ExistingTerm, part: Conjunction) -> None:
        del self.members[existing]
        for bags, unwanted in self._sides(part):
            for key, value in unwanted:
                values = bags[key]
                bag = values[value]
                if isinstance(bag, TermSum):
                    del bag.members[existing]
                    if bag.members:
                        continue
                del values[value]
                if not values:
                    del bags[key]

    def sums(self) -> Iterator[TermSum]:
        """Yield the group, and those of its terms together that refuse the same."""
        yield self
        for bags in (self._unwanted, self._unwanted_spaces, self._spared):
            for values in bags.values():
                yield from (bag for bag in values.values() if isinstance(bag, TermSum))

    def _sides(self, part: Conjunction) -> Iterator[tuple[_Bags, Sequence[Unwanted]]]:
        yield self._unwanted, part.unwanted
        yield self._unwanted_spaces, part.unwanted_spaces
        yield self._spared, part.spared

    def owners(self, pod_class: PodClass, namespace_labels: Labels) -> CountTable | None:
        refusing = self._refusing(pod_class, namespace_labels)
        if not refusing:
            return self.table
        first, *others = sorted(refusing, key=lambda each: len(each.members), reverse=True)
        without, seen = [first.table], [first.members]
        refused = len(first.members)
        for each in others:
            more = [
                owners
                for existing, owners in each.members.items()
                if not any(existing in members for members in seen)
            ]
            without += [each.table] if len(more) == len(each.members) else more
            refused += len(more)
            seen.append(each.members)
        return None if refused == len(self.members) else Difference(self.table, without)

    def about(self, pod_class: PodClass, namespace_labels: Labels) -> Iterator[ExistingTerm]:
        """Yield the terms that are about pods of a class; O(terms), which may change meanwhile."""
        refusing = [each.members for each in self._refusing(pod_class, namespace_labels)]
        for existing in list(self.members):
            if not any(existing in members for members in refusing):
                yield existing

    def _refusing(self, pod_class: PodClass, namespace_labels: Labels) -> list[TermSum]:
        """Return the terms that are not about pods of a class; some may be there twice."""
        labels = pod_class.labels
        found = [*self._holding(self._unwanted, labels)] if self._unwanted else []
        if self._unwanted_spaces:
            spaces = {**namespace_labels, NAME: pod_class.namespace}
            found += self._holding(self._unwanted_spaces, spaces)
        for each in self._holding(self._spared, labels) if self._spared else ():
            for existing, owners in each.members.items():
                spared = existing.term.pods.spared
                if spared is not None and spared.has(namespace_labels, labels):
                    found.append(TermSum({existing: owners}))
        return found

    def _holding(self, bags: _Bags, labels: Labels) -> Iterator[TermSum]:
        for key in bags if len(bags) <= len(labels) else labels:
            value = labels.get(key)
            values = None if value is None else bags.get(key)
            for bag in () if values is None else (values.get(value), values.get(None)):
                if isinstance(bag, TermSum):
                    yield bag
                elif bag is not None:
                    yield TermSum({bag: self.members[bag]})


class TermIndex:
    """Finds the existing terms that are about pods of a class.

    Bounded by the terms themselves: each has as many entries as it names values and namespaces,
    or MOST_ENTRIES. A look-up costs the keys of nodes that terms are over, and under each the terms
    that stand alone and the groups; each wants another selection of the labels of the class.
    """

    def __init__(self, nodes: NodeRegistry) -> None:
        self._nodes = nodes
        self._indexes: dict[str, SelectorIndex[ExistingTerm | TermGroup]] = {}
        """By topology key; terms over keys that no node has are not looked at."""
        self._groups: dict[_Shape, TermGroup] = {}

    def add(self, named: Named, number: int) -> ExistingTerm:
        """File a term that no placed pod has carried so far."""
        term, role, source = named
        pods, key = term.pods, term.topology_key
        index = self._indexes.setdefault(key, SelectorIndex())
        if stands_alone(pods):
            existing = ExistingTerm(term, role, self._nodes.table(key), source, number)
            index.add(pods, existing)
            return existing
        owners = self._nodes.member_table(key)
        existing = ExistingTerm(term, role, owners, source, number)
        for part in conjunctions(pods):
            shape = part.wanted, key, role, source
            group = self._groups.get(shape)
            if group is None:
                group = self._groups[shape] = TermGroup(role, source, owners.topology)
                index.add(part.wanted, group)
            group.file(existing, owners, part)
        return existing

    def remove(self, existing: ExistingTerm) -> None:
        term, role, source = existing.named
        pods, key = term.pods, term.topology_key
        # A term that matches nothing is in no index.
        index = self._indexes.setdefault(key, SelectorIndex())
        if stands_alone(pods):
            index.remove(pods, existing)
        else:
            for part in conjunctions(pods):
                shape = part.wanted, key, role, source
                group = self._groups[shape]
                group.take_out(existing, part)
                if not group.members:
                    del self._groups[shape]
                    index.remove(part.wanted, group)
        if index.is_empty:
            del self._indexes[key]

    @property
    def sums(self) -> Iterator[TermSum]:
        return chain.from_iterable(group.sums() for group in self._groups.values())

    def about(
        self, pod_class: PodClass, namespace_labels: Labels
    ) -> Iterator[ExistingTerm | TermGroup]:
        """Yield the terms that are about pods of a class, and groups with some that may be.

        Terms over a key that no node has are left out: no pod shares a domain.
        """
        for key in [*self._nodes.located_keys]:
            index = self._indexes.get(key)
            if index is not None:
                yield from index.matching(pod_class.namespace, namespace_labels, pod_class.labels)


def stands_alone(pods: PodSelector) -> bool:
    """Return whether a selector is filed as it is: it is one part, or too wide."""
    return is_conjunction(pods) or is_too_wide(pods)
