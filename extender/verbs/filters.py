"""The filters that decide together where a pod may go, in the scheduler's order.

`explain`, on the command line and in the server, and `simulate` go by these, so that they cannot
contradict each other. What is not modelled is among them: it refuses nothing, and says so.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import ClassVar, Final

from extender.cluster.state import ClusterState
from extender.model.node_resources import SPREAD
from extender.model.objects import Pod
from extender.model.verdict import (
    NODE_NAME,
    NODE_PORTS,
    NODE_RESOURCES_FIT,
    NODE_UNSCHEDULABLE,
    TAINT_TOLERATION,
)
from extender.verbs.inter_pod_affinity import InterPodAffinity
from extender.verbs.node_affinity import NodeAffinityPlugin
from extender.verbs.node_room import (
    NodeName,
    NodePorts,
    NodeResourcesFit,
    NodeUnschedulable,
    TaintToleration,
)
from extender.verbs.plugins import FilterPlugin, Plugins, Unknown
from extender.verbs.quota import CrossNamespacePodAffinity
from extender.verbs.rules import Rule
from extender.verbs.topology_spread import PodTopologySpread
from extender.verbs.volumes.binding import VolumeBinding
from extender.verbs.volumes.claims import VolumeClaims
from extender.verbs.volumes.limits import NodeVolumeLimits
from extender.verbs.volumes.restrictions import VolumeRestrictions
from extender.verbs.volumes.zone import VolumeZone

NOT_MODELLED: Final = (SPREAD, "resourceClaims")
"""Fields for which the scheduler may refuse nodes, and nothing here does; of the first, only what
cannot be read."""
OF_VOLUMES: Final = (VolumeRestrictions(), NodeVolumeLimits(), VolumeBinding(), VolumeZone())
OF_ROOM: Final = frozenset(
    (NODE_NAME, NODE_UNSCHEDULABLE, TAINT_TOLERATION, NODE_PORTS, NODE_RESOURCES_FIT)
)
"""Those that see a pod and a node alone, and no rule."""


def filters(
    nodes: NodeAffinityPlugin,
    affinity: InterPodAffinity,
    quota: CrossNamespacePodAffinity | None = None,
) -> Plugins:
    """Return all of them; three have arguments, and without quotas nobody looks at these."""
    return (
        VolumeClaims(),
        NodeName(),
        NodeUnschedulable(),
        TaintToleration(),
        replace(nodes, for_anybody=True),
        NodePorts(),
        NodeResourcesFit(),
        *OF_VOLUMES,
        PodTopologySpread(),
        affinity,
        NotModelled(),
        *(() if quota is None else (quota,)),
    )


@dataclass(frozen=True, slots=True)
class NotModelled(FilterPlugin):
    """What only the scheduler judges."""

    name: ClassVar[str] = "NotModelled"

    def rules(self, state: ClusterState, pod: Pod) -> tuple[Rule, ...]:
        """Return nothing: it is not known what would be refused."""
        del state, pod
        return ()

    def unknown(self, state: ClusterState, pod: Pod) -> Iterator[Unknown]:
        """Yield the fields of the pod that are not looked at."""
        del state
        for field in NOT_MODELLED:
            if field in pod.requirements.unmodelled:
                yield Unknown(field, f"its {field} are not looked at")
        if pod.group is not None:
            yield Unknown("schedulingGroup", "whether its whole pod group fits is not looked at")


def unknown(state: ClusterState, pod: Pod, plugins: Plugins) -> list[Unknown]:
    """Return all that may decide about a pod and is not looked at."""
    return [each for plugin in plugins for each in plugin.unknown(state, pod)]
