"""Leads the successors of moved pods to the nodes for which the pods were moved."""

from __future__ import annotations

from collections.abc import Callable

from extender.cluster.state import ClusterState
from extender.model.objects import Pod
from extender.verbs.plugins import Plugins
from extender.verbs.repair import better_node, chooser_of_places


class Steering:
    """Keeps a successor, once, from a node while another is better, and has that one nominated.

    The scheduler asks for scores of a sample of the nodes, which may have none of the better ones.
    Only the replica that has moved the pod knows of its successor.
    """

    def __init__(
        self,
        state: ClusterState,
        plugins: Plugins,
        point: Callable[[Pod, str], None],
        min_gain: int,
    ) -> None:
        self._state = state
        self._chooser = chooser_of_places(state, plugins)
        self._point = point
        self._min_gain = min_gain

    def turn_away(self, pod: Pod, node: str) -> str | None:
        """Say why a pod is not to be bound to a node, None if it may be; O(nodes) for successors.

        Whoever is turned away has a better node nominated soon, and may go anywhere after that.
        """
        if not self._state.successors:
            return None
        succession = self._state.successors.of(pod)
        if succession is None or succession.turned_away:
            return None
        better = better_node(self._state, self._chooser, pod, node, self._min_gain)
        if better is None:
            return None
        succession.turned_away = True
        self._point(pod, better)
        return (
            f"it replaces a pod that was moved for its preferred rules, which node {better} meets "
            "better; that one is tried first now"
        )
