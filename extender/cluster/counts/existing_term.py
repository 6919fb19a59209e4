"""A term that placed pods carry, and where its owners are."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum
from typing import TypeAlias

from extender.cluster.counts.topology import DomainTable
from extender.model.objects import PodClass
from extender.model.pod_affinity import Affinity, Term


class Role(Enum):
    """What a term is to the pods that carry it."""

    REQUIRED = "required"
    REQUIRED_ANTI = "requiredAnti"
    PREFERRED = "preferred"


Named: TypeAlias = tuple[Term, Role, bool]
"""What tells an existing term from all others: the last is whether it is from annotations. Only
the rules of large classes may have it once more."""


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
    factor: int = 1
    """What each unit in the table stands for: the weight of a preferred term, where the table
    counts the carriers of many terms."""
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

    @property
    def amount(self) -> int:
        """Return what all domains hold of it together."""
        return self.factor * sum(self.owners.counts.values())

    def by_value(self) -> dict[str, int]:
        """Return what each domain holds, under the domains' label values."""
        held = self.owners.by_value()
        return {value: self.factor * count for value, count in held.items()} if self.factor else {}


def carried_by(pod_class: PodClass) -> Iterator[tuple[Named, int]]:
    """Yield the terms that pods of a class carry, with what one pod adds to the term's table."""
    for affinity, annotated in rules_by_source(pod_class):
        yield from by_role(affinity, annotated=annotated)


def rules_by_source(pod_class: PodClass) -> Iterator[tuple[Affinity, bool]]:
    """Yield the rules that pods of a class have in their spec, then those in their annotation."""
    annotated = pod_class.annotated
    if annotated is None:
        yield pod_class.affinity, False
    else:
        yield annotated.own, False
        yield annotated.added, True


def by_role(affinity: Affinity, *, annotated: bool) -> Iterator[tuple[Named, int]]:
    """Yield the terms of some rules in their roles, with what one carrier adds to each."""
    for term in affinity.required:
        yield (term, Role.REQUIRED, annotated), 1
    for term in affinity.required_anti:
        yield (term, Role.REQUIRED_ANTI, annotated), 1
    for weighted in affinity.preferred:
        yield (weighted.term, Role.PREFERRED, annotated), weighted.weight
