"""What a pod requires of a node besides other pods, and what a node has to give."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TypeAlias

from extender.model.labels import EVERYTHING, Labels, Requirement, Selector

Requests: TypeAlias = tuple[tuple[str, int], ...]
"""Amounts by resource, sorted; thousandths for cpu, whole units for the rest, rounded up."""

PODS = "pods"
JUST_A_POD: Requests = ((PODS, 1),)
"""A pod without requests still takes one of the places that a node has for pods."""

METADATA_NAME = "metadata.name"


@dataclass(frozen=True, slots=True)
class Taint:
    """A reason for pods not to go to a node, NoSchedule or NoExecute."""

    key: str
    value: str
    effect: str


@dataclass(frozen=True, slots=True)
class Toleration:
    """Taints that a pod does not mind; an empty key or effect means any."""

    key: str
    value: str | None
    """None for any value."""
    effect: str

    def covers(self, taint: Taint) -> bool:
        """Return whether a taint is tolerated."""
        return (
            self.effect in {"", taint.effect}
            and self.key in {"", taint.key}
            and self.value in {None, taint.value}
        )


@dataclass(frozen=True, slots=True)
class Allocatable:
    """What a node has for pods, and which pods it keeps away."""

    amounts: Mapping[str, int]
    """Amounts as in Requests; what is missing is not there."""
    taints: tuple[Taint, ...] = ()
    """Those that keep pods away. A node that is cordoned has one for that."""


NOTHING_ALLOCATABLE = Allocatable({})


@dataclass(frozen=True, slots=True)
class Comparison:
    """A label that has to be above or below an integer."""

    key: str
    bound: int
    above: bool

    def matches(self, labels: Labels) -> bool:
        """Return whether the label is an integer on the right side."""
        try:
            value = int(labels[self.key])
        except (KeyError, ValueError):
            return False
        return value > self.bound if self.above else value < self.bound


@dataclass(frozen=True, slots=True)
class NodeTerm:
    """A conjunction of conditions on a node."""

    selector: Selector = EVERYTHING
    comparisons: tuple[Comparison, ...] = ()
    names: tuple[Requirement, ...] = ()
    """Conditions on metadata.name."""

    @property
    def conditions(self) -> int:
        """Return how many comparisons it takes, at most."""
        return 1 + len(self.selector.requirements) + len(self.comparisons) + len(self.names)

    def matches(self, name: str, labels: Labels) -> bool:
        """Return whether a node meets all of them."""
        return (
            self.selector.matches(labels)
            and all(comparison.matches(labels) for comparison in self.comparisons)
            and all(condition.matches({METADATA_NAME: name}) for condition in self.names)
        )


@dataclass(frozen=True, slots=True)
class Requirements:
    """What a pod requires of a node, as far as we look: the scheduler has the last word."""

    requests: Requests = JUST_A_POD
    tolerations: tuple[Toleration, ...] = ()
    node_selector: Selector = EVERYTHING
    node_terms: tuple[NodeTerm, ...] | None = None
    """Required node affinity, one of which has to match; None for no such rule."""
    size: int = field(default=0, compare=False)
    """About what it takes, in bytes."""

    @property
    def conditions(self) -> int:
        """Return how many conditions a node is compared with, at most."""
        terms = self.node_terms or ()
        return (
            1
            + len(self.node_selector.requirements)
            + len(self.tolerations)
            + sum(term.conditions for term in terms)
        )

    def accepts(self, name: str, labels: Labels) -> bool:
        """Return whether a node is one that the pod asks for."""
        return self.node_selector.matches(labels) and (
            self.node_terms is None or any(term.matches(name, labels) for term in self.node_terms)
        )

    def tolerates(self, allocatable: Allocatable) -> bool:
        """Return whether a node's taints do not keep the pod away."""
        return all(
            any(each.covers(taint) for each in self.tolerations) for taint in allocatable.taints
        )
