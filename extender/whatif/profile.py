"""The plugins that pods are placed by, with their arguments; the scheduler calls it a profile."""

from __future__ import annotations

from dataclasses import dataclass

from extender.model.node_affinity import NO_NODE_AFFINITY
from extender.verbs.inter_pod_affinity import InterPodAffinity
from extender.verbs.node_affinity import NodeAffinityPlugin
from extender.verbs.node_room import NodePorts, NodeResourcesFit, TaintToleration
from extender.verbs.plugins import Plugins, ScorePlugins
from extender.verbs.quota import CrossNamespacePodAffinity


@dataclass(frozen=True, slots=True)
class Profile:
    """The plugins about affinity with their arguments; those about room on nodes have none."""

    nodes: NodeAffinityPlugin
    affinity: InterPodAffinity
    quota: CrossNamespacePodAffinity

    @property
    def rules(self) -> Plugins:
        """Return what refuses nodes, whatever room they have, in the scheduler's order."""
        return (self.nodes, self.affinity, self.quota)

    @property
    def rules_beyond_own(self) -> Plugins:
        """Return what may refuse nodes that match the pod's own node affinity.

        `Rooms` knows those nodes; to match them once more took a tenth of the time of 1,000 pods.
        """
        if self.nodes.added == NO_NODE_AFFINITY:
            return (self.affinity, self.quota)
        return self.rules

    @property
    def everything(self) -> Plugins:
        """Return all that keeps a pod from a node, in the scheduler's order."""
        room = (NodePorts(), NodeResourcesFit())
        return (TaintToleration(), self.nodes, *room, self.affinity, self.quota)

    @property
    def scoring(self) -> ScorePlugins:
        """Return what prefers some nodes to others, whatever room they have."""
        return (self.affinity, self.nodes)


BY_DEFAULT = Profile(NodeAffinityPlugin(), InterPodAffinity(), CrossNamespacePodAffinity())
"""The scheduler's own arguments."""
