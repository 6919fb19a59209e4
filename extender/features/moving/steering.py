"""Leads the successors of moved pods to the nodes for which the pods were moved."""

from __future__ import annotations

from collections.abc import Callable

from extender.core.cluster.counts.nodes import NodeList
from extender.core.cluster.state import ClusterState
from extender.core.model.objects import Pod
from extender.core.ports import BetterNode, Hook
from extender.core.verbs.plugins import Plugins
from extender.core.verbs.prioritizing import Scored
from extender.features.moving.rules.improving import better_node, chooser_of_places, steered
from extender.features.moving.rules.successors import Successors


class Steering(Hook):
    """Scores successors, and keeps each, once, from a node while another is better.

    The scheduler asks for scores of a sample of the nodes, which may have none of the better ones.
    Only the replica that has moved the pod knows of its successor.
    """

    def __init__(
        self, state: ClusterState, successors: Successors, plugins: Plugins, min_gain: int
    ) -> None:
        self._state = state
        self._successors = successors
        self._chooser = chooser_of_places(state, plugins)
        self._min_gain = min_gain

    def scores(self, pod: Pod, asked: Callable[[], NodeList], max_score: int) -> Scored | None:
        """Give points only to the nodes that suit a successor best."""
        if not self._successors or not self._successors.expects(pod):
            return None
        return steered(self._state, pod, asked(), max_score)

    def better(self, pod: Pod, node: str) -> BetterNode | None:
        """Return a better node for a successor, once; O(nodes) for these."""
        if not self._successors:
            return None
        succession = self._successors.of(pod)
        if succession is None or succession.turned_away:
            return None
        found = better_node(self._state, self._chooser, pod, node, self._min_gain)
        if found is None:
            return None
        succession.turned_away = True
        why = (
            f"it replaces a pod that was moved for its preferred rules, which node {found} meets "
            "better; that one is tried first now"
        )
        return BetterNode(found, why)
