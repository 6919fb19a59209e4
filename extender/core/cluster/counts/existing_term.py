"""A term that placed pods carry, and where its owners are."""

from __future__ import annotations

from collections.abc import Iterator
from enum import Enum
from typing import TypeAlias

from msgspec import Struct

from extender.core.cluster.counts.scope import SPEC, Carried, Source
from extender.core.cluster.counts.topology import DomainTable
from extender.core.model.objects import PodClass
from extender.core.model.pod_affinity import Affinity, Term


class Role(Enum):
    """What a term is to the pods that carry it."""

    REQUIRED = "required"
    REQUIRED_ANTI = "requiredAnti"
    PREFERRED = "preferred"
    LIMIT = "limit"
    """Anti-affinity with `maxMatchingPods`; the table counts carriers."""


Named: TypeAlias = tuple[Term, Role, Source]
"""What tells an existing term from all others: the last is where its carriers have it."""


class ExistingTerm(Struct, eq=False, gc=False):
    """A term in one role, and how much of it each domain holds."""

    term: Term
    role: Role
    owners: DomainTable
    """Carriers per domain; for preferred terms the sum of their signed weights."""
    source: Source
    number: int
    """Tells it from all others; later ones have higher numbers, and none is used twice."""
    classes: int = 0
    """Classes that carry it, each counted as often as it repeats the term."""

    @property
    def named(self) -> Named:
        return self.term, self.role, self.source

    @property
    def annotated(self) -> bool:
        return self.source is not None

    @property
    def amount(self) -> int:
        return sum(self.owners.counts.values())


def carried_by(pod_class: PodClass) -> Iterator[tuple[Named, int]]:
    """Yield the terms that pods of a class carry, with what one pod adds to each.

    Those of the spec come first, then those of the annotation. A term may come twice.
    """
    yield from by_role(pod_class.of_spec.affinity, SPEC)
    annotated = pod_class.annotated
    if annotated is not None:
        yield from by_role(annotated.added, Carried(pod_class.namespace, pod_class.later))


def by_role(affinity: Affinity, source: Source) -> Iterator[tuple[Named, int]]:
    """Yield the terms of some rules in their roles, with what one carrier adds to each."""
    for term in affinity.required:
        yield (term, Role.REQUIRED, source), 1
    for term in affinity.required_anti:
        yield (term, Role.REQUIRED_ANTI, source), 1
    for weighted in affinity.preferred:
        yield (weighted.term, Role.PREFERRED, source), weighted.weight
    for limited in affinity.limits:
        yield (limited, Role.LIMIT, source), 1
