"""Disruptions: who is to go, how many pods may be away at a time, and the mark on those that go."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple, TypeAlias

from extender.core.model.keys import Key, name_of, namespace_of
from extender.core.model.labels import Selector
from extender.core.model.objects import Pod

_BEFORE: Final = " (uid "
_AFTER: Final = ")"


def mark_message(scheduler: str, preemptor: str) -> str:
    """Return the scheduler's own words, and the uid of the preemptor."""
    words = f"{scheduler}: preempting to accommodate a higher priority pod"
    return f"{words}{_BEFORE}{preemptor}{_AFTER}"


def preemptor_in(message: str) -> str | None:
    """Return the uid of the preemptor; None in the words of a scheduler, which do not tell."""
    _, found, rest = message.rpartition(_BEFORE)
    return rest.removesuffix(_AFTER) if found and rest.endswith(_AFTER) else None


@dataclass(frozen=True, slots=True)
class Victims:
    uids: Sequence[str]
    """The most important one first: the scheduler takes its priority for the highest."""
    violations: int
    """How many of them a disruption budget does not allow."""


Rank: TypeAlias = tuple[int, int, int, int, float]
"""How bad it is to evict some victims; the scheduler takes the lowest."""


class Counted(NamedTuple):
    """What the disruption controller counted of a budget's pods."""

    healthy: int
    """Ready, not being deleted, and without a granted eviction."""
    desired: int
    expected: int
    """What the controllers of these pods want, or of a budget with a number as minAvailable, how
    many pods there are."""


@dataclass(frozen=True, slots=True)
class PodDisruptionBudget:
    """One budget, reduced to what decides whether an eviction goes beyond it."""

    key: Key
    uid: str
    selector: Selector
    allowed: int
    """Further pods that may go now; negative when too many are away already."""
    disrupted: frozenset[str] = frozenset()
    """Names of pods whose eviction was granted already: `allowed` is without them."""
    min_available: int | str | None = None
    max_unavailable: int | str | None = None
    evicts_unready: bool = False
    """Pods that are not ready may always be evicted."""
    counted: Counted | None = None
    """None where its status does not say, as in a manifest."""
    is_current: bool = True
    """It has a status that is not older than its spec."""
    failed: bool = False
    """The disruption controller could not count its pods, so none of them may go."""

    @property
    def namespace(self) -> str:
        return namespace_of(self.key)

    def is_charged_for(self, pod: Pod, *, empty_selects_all: bool = False) -> bool:
        """Return whether taking away a pod of the namespace that is selected counts against it.

        As in the scheduler's preemption, whose numbers ours are compared with. Up to 1.37, a
        selector without conditions means no pod there, though for evictions it means every pod, and
        a pod without labels is in no budget, whatever labels the selector wants to be absent.
        """
        is_meant = bool(pod.pod_class.labels) and bool(self.selector.requirements)
        return (empty_selects_all or is_meant) and name_of(pod.key) not in self.disrupted
