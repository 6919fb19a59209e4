"""Label requirements and selectors, parsed once and asked often."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from enum import Enum
from typing import Final, TypeAlias

from msgspec import Struct
from msgspec.structs import force_setattr

Labels: TypeAlias = Mapping[str, str]

NO_LABELS: Labels = {}

HOSTNAME: Final = "kubernetes.io/hostname"
"""The topology key whose domains are single nodes."""
SUCCESSORS: Final[Mapping[str, str]] = {
    "failure-domain.beta.kubernetes.io/zone": "topology.kubernetes.io/zone",
    "failure-domain.beta.kubernetes.io/region": "topology.kubernetes.io/region",
    "beta.kubernetes.io/instance-type": "node.kubernetes.io/instance-type",
    "beta.kubernetes.io/arch": "kubernetes.io/arch",
    "beta.kubernetes.io/os": "kubernetes.io/os",
    "node-role.kubernetes.io/master": "node-role.kubernetes.io/control-plane",
}
"""Labels, and one taint, that new nodes do not have any more, and what took their place."""

ZONE: Final = "topology.kubernetes.io/zone"
WRITTEN_AT_BIND: Final = (ZONE, "topology.kubernetes.io/region")
"""Labels that an API server since 1.35 copies from its node to a pod (PodTopologyLabels)."""
TEMPLATE_HASH: Final = "pod-template-hash"
"""Tells the pods of one version of a Deployment's template from those of another."""


class Operator(Enum):
    IN = "In"
    NOT_IN = "NotIn"
    EXISTS = "Exists"
    DOES_NOT_EXIST = "DoesNotExist"


# One answer may ask thousands of requirements; looking a member up takes as long as asking one.
_IN, _NOT_IN, _DOES_NOT_EXIST = Operator.IN, Operator.NOT_IN, Operator.DOES_NOT_EXIST
_EXISTS = Operator.EXISTS


def compact(values: Collection[str]) -> Collection[str]:
    """Return a set as what takes least: one value is a tuple, which the collector lets alone."""
    return tuple(values) if len(values) == 1 else values


class Requirement(Struct, frozen=True, gc=False):
    """One condition on one label key.

    Rules refer to each other in no circle, and there may be hundreds of thousands: the collector
    would take a second to walk them.
    """

    key: str
    operator: Operator
    values: Collection[str] = frozenset()
    """A set; one value alone becomes a tuple."""

    def __post_init__(self) -> None:
        force_setattr(self, "values", compact(self.values))

    @property
    def is_negative(self) -> bool:
        """Return whether labels without the key meet the condition."""
        operator = self.operator
        return operator is _NOT_IN or operator is _DOES_NOT_EXIST

    @property
    def opposite(self) -> Requirement:
        """Return the condition that is met where this negative one is not."""
        return Requirement(self.key, _IN if self.operator is _NOT_IN else _EXISTS, self.values)

    def matches(self, labels: Labels) -> bool:
        """Return whether labels meet the condition; a missing key meets the negative ones."""
        value, operator = labels.get(self.key), self.operator
        if operator is _IN:
            return value is not None and value in self.values
        if operator is _NOT_IN:
            return value is None or value not in self.values
        return (value is None) is (operator is _DOES_NOT_EXIST)


class Selector(Struct, frozen=True, gc=False):
    """A conjunction of requirements; none at all matches everything, NOTHING matches nothing."""

    requirements: tuple[Requirement, ...] = ()
    matches_nothing: bool = False

    @classmethod
    def of(cls, requirements: Iterable[Requirement]) -> Selector:
        """Build a selector in canonical order, so that equal conditions are equal values."""
        return cls(tuple(sorted(set(requirements), key=_canonical)))

    def matches(self, labels: Labels) -> bool:
        if self.matches_nothing:
            return False
        # A generator would take as long again.
        for requirement in self.requirements:  # noqa: SIM110
            if not requirement.matches(labels):
                return False
        return True

    def requires(self, key: str, operator: Operator) -> bool:
        return any(r.key == key and r.operator is operator for r in self.requirements)

    @property
    def pins_a_label(self) -> bool:
        """Return whether only pods with one of a few values under some key can match."""
        return any(r.operator is Operator.IN for r in self.requirements)

    def also(self, extra: Iterable[Requirement]) -> Selector:
        if self.matches_nothing:
            return self
        return Selector.of((*self.requirements, *extra))


NOTHING = Selector(matches_nothing=True)
EVERYTHING = Selector()


def _canonical(requirement: Requirement) -> tuple[str, str, tuple[str, ...]]:
    return requirement.key, requirement.operator.value, tuple(sorted(requirement.values))
