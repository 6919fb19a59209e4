"""What a change did: pods that were placed or went, and what is to be remarked."""

from __future__ import annotations

from collections.abc import Generator, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import TypeAlias

from extender.cluster.state import ClusterState
from extender.model.keys import Key
from extender.verbs.node_room import is_unmeasured
from extender.whatif.pending import PendingPods
from extender.whatif.scheduling import Placement, Preemption, Scheduler


class After(Enum):
    """What comes after a pod that went; the value is what programs read."""

    MADE_ANEW = "madeAnew"
    """Its controller makes another one, of the same name here."""
    WITH_NODE = "withNode"
    """It belonged to its node, as those of a DaemonSet."""
    REPLACED = "replaced"
    """It made room for pods of a new version, or there were to be fewer."""
    GONE = "gone"
    """It had no controller that would make another one."""


@dataclass(frozen=True, slots=True)
class Removal:
    """A pod that went."""

    pod: Key
    node: str | None
    """The node that it was on; None for one that waited."""
    after: After


@dataclass(frozen=True, slots=True)
class Blocked:
    """A pod that a disruption budget keeps on a node that is drained."""

    pod: Key
    node: str
    budget: str


@dataclass(frozen=True, slots=True)
class UpdateStep:
    """One turn of a controller that updates its pods."""

    removed: Sequence[Removal]
    created: Sequence[Key]
    placed: Sequence[Placement]


@dataclass(slots=True)
class Update:
    """How far a rolling update came."""

    steps: list[UpdateStep] = field(default_factory=list)
    stuck: str | None = None
    """Who waits for whom; None where it came to its end."""
    waits: Sequence[Key] = ()
    """New pods that found no node."""
    kept: Sequence[Key] = ()
    """Old pods that stay until these run."""


@dataclass(slots=True)
class Step:
    """One change, and what came of it."""

    change: str
    """In words: drain 2 nodes."""
    placed: Sequence[Placement] = ()
    removed: list[Removal] = field(default_factory=list)
    blocked: Sequence[Blocked] = ()
    waiting: Sequence[Key] = ()
    """Pods of this change that wait after it."""
    full: PendingPods | None = None
    """The first pod that found no node any more, of those that were placed until then."""
    update: Update | None = None
    notes: list[str] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Simulation:
    """Everything that came of some changes."""

    state: ClusterState
    """The cluster as it is after them."""
    seed: int
    steps: Sequence[Step]
    pending: Sequence[PendingPods]
    preemptions: Sequence[Preemption] = ()
    beyond: Mapping[str, Sequence[Key]] = field(default_factory=dict)
    """Pods that ask for what is not looked at, by the field in which they do."""

    @property
    def is_fine(self) -> bool:
        """Return whether every pod has a node, no drain is blocked and no update is stuck."""
        return not self.pending and not any(
            each.blocked or (each.update is not None and each.update.stuck is not None)
            for each in self.steps
        )

    @property
    def unmeasured(self) -> int:
        """Return the number of nodes that nothing is known of but their labels."""
        return sum(is_unmeasured(self.state, name) for name in self.state.nodes)


def ended(scheduler: Scheduler, step: Step, before: int, of: Iterable[Key]) -> Step:
    """Take up what was placed since so many placements, and which of some pods wait."""
    step.placed = scheduler.placements[before:]
    step.waiting = [key for key in of if scheduler.waits(key)]
    return step


Looks: TypeAlias = Generator[None, None, Step]
"""Takes a tick for each pod that is looked at, and returns what came of it."""
