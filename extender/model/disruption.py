"""How many pods of a workload may be away at a time."""

from __future__ import annotations

from dataclasses import dataclass

from extender.model.labels import Selector
from extender.model.objects import Pod


@dataclass(frozen=True, slots=True)
class PodDisruptionBudget:
    """One budget, reduced to what decides whether an eviction goes beyond it."""

    key: str
    """namespace/name."""
    uid: str
    selector: Selector
    allowed: int
    """Further pods that may go now; negative when too many are away already."""
    disrupted: frozenset[str] = frozenset()
    """Names of pods whose eviction was granted already: `allowed` is without them."""

    @property
    def namespace(self) -> str:
        """Return the namespace whose pods it is about."""
        return self.key.partition("/")[0]

    def is_charged_for(self, pod: Pod) -> bool:
        """Tell whether taking this pod away counts against the budget.

        As in the scheduler's preemption, whose numbers ours are compared with: there a selector
        without conditions means no pod, though for evictions it means every pod, and a pod without
        labels is in no budget, whatever labels the selector wants to be absent.
        """
        return (
            pod.pod_class.namespace == self.namespace
            and bool(pod.pod_class.labels)
            and bool(self.selector.requirements)
            and self.selector.matches(pod.pod_class.labels)
            and pod.key.partition("/")[2] not in self.disrupted
        )
