"""PodTopologySpread as a scheduler's configuration has it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from affinityctl.default_spread.arguments import SpreadProfile
from affinityctl.default_spread.selectors import Selectors
from extender.cluster.state import ClusterState
from extender.model.node_resources import SPREAD
from extender.model.objects import Pod
from extender.model.topology_spread import SpreadConstraint
from extender.verbs.plugins import Unknown
from extender.verbs.topology_spread import PodTopologySpread

_FIELD: Final = f"{SPREAD} (default)"
_BUILT_IN: Final = SpreadProfile()


@dataclass(frozen=True, slots=True)
class ConfiguredTopologySpread(PodTopologySpread):
    """Judges a pod by the constraints of its scheduler where it has none of its own."""

    profiles: Mapping[str, SpreadProfile] = field(default_factory=dict)
    """By the name of a scheduler; of one that is not there, the defaults refuse no node."""
    selectors: Selectors = field(default_factory=Selectors)

    @property
    def has_defaults(self) -> bool:
        """Return whether there is a pod that default constraints may keep from a node."""
        return any(each.filters and each.constraints for each in self.profiles.values())

    def constraints(self, pod: Pod) -> Sequence[SpreadConstraint]:
        """Return the pod's own constraints, or else those of its scheduler (getConstraints)."""
        profile = self._profile(pod)
        if not profile.filters:
            return ()
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

    def _profile(self, pod: Pod) -> SpreadProfile:
        return self.profiles.get(pod.spec.requirements.scheduler, _BUILT_IN)

    def _defaults(self, pod: Pod) -> Sequence[SpreadConstraint]:
        """Return the constraints for a pod that has none, ScheduleAnyway included."""
        asks, profile = pod.spec.requirements, self._profile(pod)
        own = asks.spread or any(each.startswith(SPREAD) for each in asks.unmodelled)
        return () if own or not profile.filters else profile.constraints
