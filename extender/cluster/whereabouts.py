"""What became of a pod that somebody remembers."""

from __future__ import annotations

from extender.cluster.state import ClusterState
from extender.model.objects import Pod


class Whereabouts:
    """Tells of one pod as the watch has shown it, and as it is reserved."""

    def __init__(self, state: ClusterState) -> None:
        self._state = state

    def is_known(self, pod: Pod) -> bool:
        """Tell whether the watch has shown this very pod, and not its end."""
        return self._state.pod(pod.key, pod.uid) is not None

    def place(self, pod: Pod) -> str | None:
        """Return where it is, or is about to be."""
        known = self._state.pod(pod.key, pod.uid)
        if known is not None and known.node is not None:
            return known.node
        return next((each.pod.node for each in self._state.reservations.of(pod.key, pod.uid)), None)

    def nominated(self, pod: Pod) -> str | None:
        """Return the node that it is nominated for, as we heard last."""
        known = self._state.pods.get(pod.key)
        return None if known is None else known.nominated

    def loses_victims(self, pod: Pod, node: str) -> bool:
        """Tell whether less important pods are on their way out of a node; O(pods on it)."""
        return any(
            each.deleting and each.priority < pod.priority for each in self._state.pods_on(node)
        )
