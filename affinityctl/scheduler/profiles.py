"""What a scheduler judges pods by: its plugins, and whom it would evict."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from operator import attrgetter
from typing import Final

from affinityctl.scheduler.volumes.binding import VolumeBinding, VolumeZone
from affinityctl.scheduler.volumes.claims import VolumeClaims
from affinityctl.scheduler.volumes.limits import NodeVolumeLimits, VolumeRestrictions
from extender.core.cluster.state import ClusterState
from extender.core.model.node_selection import NO_NODE_SELECTION
from extender.core.model.objects import Pod
from extender.core.model.topology_spread import SpreadConstraint
from extender.core.model.verdict import (
    NAMED_NODES,
    NODE_AFFINITY,
    NODE_NAME,
    NODE_PORTS,
    NODE_RESOURCES_FIT,
    NODE_UNSCHEDULABLE,
    POD_TOPOLOGY_SPREAD,
    TAINT_TOLERATION,
)
from extender.core.verbs.inter_pod_affinity import InterPodAffinity
from extender.core.verbs.node_selection import NodeSelectionPlugin
from extender.core.verbs.plugins import Plugins, ScorePlugins
from extender.core.verbs.victims import Candidate, candidates, ineligible
from extender.diagnosis.verbs.filters import OWN_SPREAD, ROOM, filters
from extender.diagnosis.verbs.node_room import NodeResourcesFit
from extender.diagnosis.verbs.topology_spread import PodTopologySpread

OF_VOLUMES: Final = (VolumeRestrictions(), NodeVolumeLimits(), VolumeBinding(), VolumeZone())
OF_ROOM: Final = frozenset(
    (NODE_NAME, NODE_UNSCHEDULABLE, TAINT_TOLERATION, NODE_PORTS, NODE_RESOURCES_FIT)
)
"""Plugins that see a pod and a node alone, and no rule."""
OF_NAMES: Final = frozenset((NODE_AFFINITY, NAMED_NODES))


@dataclass(frozen=True)
class Profile:
    """The plugins with their arguments, and those of each scheduler that has others."""

    nodes: NodeSelectionPlugin
    affinity: InterPodAffinity
    further: Plugins = ()
    """Those of features."""
    spread: PodTopologySpread = OWN_SPREAD
    room: NodeResourcesFit = ROOM
    off: frozenset[str] = frozenset()
    """Plugins that refuse no node."""
    unscored: frozenset[str] = frozenset()
    """Plugins that score none."""
    by_scheduler: Mapping[str, Profile] = field(default_factory=dict)
    left: frozenset[str] = frozenset()
    """Profiles whose pods the scheduler's own plugins judge, and the extender when it binds."""

    def of(self, pod: Pod) -> Profile:
        return self.by_scheduler.get(pod.spec.requirements.scheduler, self)

    @property
    def known(self) -> frozenset[str]:
        """Return the schedulers that configurations name."""
        return self.left | self.by_scheduler.keys()

    @cached_property
    def filters(self) -> Plugins:
        """Return all that keeps a pod from a node, in the scheduler's order."""
        volumes = VolumeClaims(self.off), [replace(each, off=self.off) for each in OF_VOLUMES]
        return filters(
            self.nodes,
            self.affinity,
            self.further,
            *volumes,
            spread=self.spread,
            room=self.room,
            off=self.off,
        )

    @cached_property
    def rules(self) -> Plugins:
        """Return what refuses nodes, whatever room they have."""
        return [each for each in self.filters if each.name not in OF_ROOM]

    @cached_property
    def rules_beyond_own(self) -> Plugins:
        """Return what may refuse nodes with room that match the pod's own node affinity.

        `Rooms` knows those nodes; to match them once more took a tenth of the time of 1,000 pods.
        """
        known = OF_NAMES if self.nodes.added == NO_NODE_SELECTION else frozenset[str]()
        return [each for each in self.rules if each.name not in known]

    @property
    def is_usual(self) -> bool:
        """Return whether all that `Rooms` looks at counts, and in full."""
        return self.room == ROOM and self.off.isdisjoint(OF_ROOM | {NODE_AFFINITY})

    @property
    def scoring(self) -> ScorePlugins:
        """Return what prefers some nodes to others, whatever room they have."""
        every = self.affinity, self.nodes
        return [each for each in every if each.name not in self.unscored]

    def constraints(self, pod: Pod) -> Sequence[SpreadConstraint]:
        return () if POD_TOPOLOGY_SPREAD in self.off else self.spread.constraints(pod)


def preemption(
    state: ClusterState, pod: Pod, profile: Profile, chance: Callable[[], float]
) -> Candidate | None:
    """Return whom the scheduler would evict, and where, for a pod that no node takes; O(nodes).

    None where the pod's scheduler does not look at all of the room: it is not known whom then.
    """
    profile = profile.of(pod)
    if not (profile.is_usual and state.has_less_important(pod.spec.priority)):
        return None
    if ineligible(state, pod, profile.rules) is not None:
        return None
    return best_of(candidates(state, pod, profile.rules, chance=chance()))


def best_of(found: Iterable[Candidate | None]) -> Candidate | None:
    """Return the candidate that the scheduler would take, the first of equal ones."""
    return min(filter(None, found), key=attrgetter("rank"), default=None)


BY_DEFAULT = Profile(NodeSelectionPlugin(), InterPodAffinity())
