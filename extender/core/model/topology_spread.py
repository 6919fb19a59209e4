"""How the pods that a pod is one of are to be spread over topology domains."""

from __future__ import annotations

from dataclasses import dataclass

from extender.core.model.labels import Labels, Operator, Requirement, Selector


@dataclass(frozen=True, slots=True)
class SpreadConstraint:
    """A topologySpreadConstraint with DoNotSchedule."""

    max_skew: int
    topology_key: str
    selector: Selector
    """Which pods of the pod's namespace count; label keys are not merged into it."""
    label_keys: tuple[str, ...] = ()
    min_domains: int = 1
    honors_node_affinity: bool = True
    """Nodes that the pod's own node selector and node affinity rule out are no part of a domain."""
    honors_taints: bool = False
    """Nor are nodes with taints that the pod does not tolerate."""
    is_default: bool = False
    """A scheduler's configuration has it, for pods that have none of their own."""

    def selector_for(self, labels: Labels) -> Selector:
        """Return the selector narrowed to the pod's own values of the label keys.

        The API server has merged them when it stored the pod; the scheduler does so all the same.
        """
        return self.selector.also(
            Requirement(key, Operator.IN, frozenset((labels[key],)))
            for key in self.label_keys
            if key in labels
        )
