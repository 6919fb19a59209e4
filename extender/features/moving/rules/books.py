"""What is booked of running pods and their rules."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

from extender.core.cluster.state import ClusterState
from extender.features.moving.rules.execution import Execution
from extender.features.moving.rules.rule_watch import RuleWatch
from extender.features.moving.rules.successors import Successors


@dataclass(frozen=True, slots=True)
class Books:
    """The ledgers of one program."""

    watch: RuleWatch
    successors: Successors

    @classmethod
    def of(cls, state: ClusterState, execution: Execution) -> Self:
        """Have nothing booked yet; `execution` says which rules are watched."""
        return cls(RuleWatch(state, execution), Successors(state))

    @property
    def ledgers(self) -> tuple[RuleWatch, Successors]:
        """Return what has to hear of changes."""
        return self.watch, self.successors

    @property
    def state(self) -> ClusterState:
        """Return what they book."""
        return self.watch.state

    @property
    def placed(self) -> int:
        """Return how many pods have a node: of those that wait, anybody may create any number."""
        return len(self.state.pods) - len(self.state.waiting_pods)
