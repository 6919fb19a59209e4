"""What is known of the place that a placed pod has, by its preferred rules."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from extender.core.cluster.state import ClusterState
from extender.core.model.objects import Pod


@dataclass(frozen=True, slots=True)
class BetterPlace:
    """A node that suits a placed pod better than its own."""

    target: str
    own: int
    """What the pod gains there by its own terms, in their weights."""
    total: int
    """What it gains by all terms, those of other pods too."""


@dataclass(frozen=True, slots=True)
class Sitting:
    """How a pod sits."""

    better: BetterPlace | None
    """The node that suits it best, if that is another one."""
    stays: str | None
    """Why it would not be moved for the sake of a preference, if it would not."""


Sits: TypeAlias = Callable[[ClusterState, Pod, Sequence[str]], Sitting | None]
"""Finds out whether a node of those that would take a placed pod suits it better."""
