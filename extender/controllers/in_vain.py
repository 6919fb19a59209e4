"""Refused pods looked at in vain: others like them need not be, until something changes."""

from __future__ import annotations

from collections.abc import Hashable

from extender.cluster.state import ClusterState
from extender.model.lru_cache import LruCache
from extender.model.node_resources import Requirements
from extender.model.objects import Pod


def prospects(pod: Pod, requirements: Requirements) -> Hashable:
    """Return what is the same for all pods with the same prospects, such as replicas."""
    return pod.pod_class, pod.node_affinity, pod.ports, pod.priority, pod.charge, requirements


class InVain:
    """Keys that nothing was found for, bounded in bytes; all are forgotten with the next change."""

    def __init__(self, state: ClusterState, budget: int) -> None:
        self._state = state
        self._budget = budget
        self._version = -1
        """Of the state that it is true of."""
        self._known: LruCache[Hashable, bool] = LruCache(budget)

    def knows(self, key: Hashable) -> bool:
        """Return whether nothing was found for a key in the state as it is now."""
        if self._version != self._state.version:
            self._version, self._known = self._state.version, LruCache(self._budget)
        return bool(self._known.get(key))

    def note(self, key: Hashable, size: int) -> None:
        """Note that nothing was found, unless the state has changed since somebody asked last."""
        if self._version == self._state.version:
            self._known.put(key, value=True, size=size)
