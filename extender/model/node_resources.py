"""What a pod requires of a node besides other pods, and what a node has to give."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TypeAlias

Requests: TypeAlias = tuple[tuple[str, int], ...]
"""Amounts by resource, sorted; thousandths for cpu, whole units for the rest, rounded up."""

PODS = "pods"
JUST_A_POD: Requests = ((PODS, 1),)
"""A pod without requests still takes one of the places that a node has for pods."""


@dataclass(frozen=True, slots=True)
class Taint:
    """A reason for pods not to go to a node, NoSchedule or NoExecute."""

    key: str
    value: str
    effect: str


CORDONED = Taint("node.kubernetes.io/unschedulable", "", "NoSchedule")


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
class Requirements:
    """What a pod requires of a node besides its labels, as far as we look."""

    requests: Requests = JUST_A_POD
    tolerations: tuple[Toleration, ...] = ()
    size: int = field(default=0, compare=False)
    """About what it takes, in bytes."""

    @property
    def conditions(self) -> int:
        """Return how many conditions a node is compared with, at most."""
        return 1 + len(self.tolerations)

    def tolerates(self, allocatable: Allocatable) -> bool:
        """Return whether a node's taints do not keep the pod away."""
        return all(
            any(each.covers(taint) for each in self.tolerations) for taint in allocatable.taints
        )
