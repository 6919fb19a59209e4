"""PodTopologySpread as a scheduler's configuration has it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from affinityctl.scheduler.default_spread.selectors import Selectors
from extender.core.cluster.state import ClusterState
from extender.core.model.node_resources import SPREAD
from extender.core.model.objects import Pod
from extender.core.model.topology_spread import SpreadConstraint
from extender.core.verbs.plugins import Unknown
from extender.diagnosis.verbs.topology_spread import PodTopologySpread

_FIELD: Final = f"{SPREAD} (default)"


@dataclass(frozen=True, slots=True)
class ConfiguredTopologySpread(PodTopologySpread):
    """Judges a pod by the constraints of its scheduler where it has none of its own."""

    by_default: Sequence[SpreadConstraint] = ()
    """Those of its scheduler."""
    selectors: Selectors = field(default_factory=Selectors)

    def constraints(self, pod: Pod) -> Sequence[SpreadConstraint]:
        """Return the pod's own constraints, or else those of its scheduler (getConstraints)."""
        defaults = self._defaults(pod)
        if not defaults or self.selectors.lacking(pod):
            return pod.spec.requirements.spread
        selector = self.selectors.of(pod)
        # What nothing selects is not spread.
        alike = defaults if selector.requirements else ()
        return tuple(replace(each, selector=selector) for each in alike)

    def unknown(self, state: ClusterState, pod: Pod) -> Iterator[Unknown]:
        """Say besides what is not known of services and controllers."""
        # Not super(): a class with slots is made anew.
        yield from PodTopologySpread.unknown(self, state, pod)
        lacking = self.selectors.lacking(pod) if self._defaults(pod) else ()
        if lacking:
            what = "default topology spread constraints of its scheduler are not looked at without"
            yield Unknown(_FIELD, f"{what} {', '.join(lacking)}")

    def _defaults(self, pod: Pod) -> Sequence[SpreadConstraint]:
        """Return the constraints for a pod that has none, ScheduleAnyway included."""
        asks = pod.spec.requirements
        own = asks.spread or any(each.startswith(SPREAD) for each in asks.unmodelled)
        return () if own else self.by_default
