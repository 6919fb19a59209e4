"""Which pods of each pod group wait for a node."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from extender.model.objects import Pod, PodClass

_NOBODY: Mapping[str, PodClass] = MappingProxyType({})


class WaitingGroups:
    """The classes of waiting pods by pod group and by the pod's key; O(1) for each event."""

    def __init__(self) -> None:
        self._waiting: dict[str, dict[str, PodClass]] = {}

    def of(self, group: str) -> Mapping[str, PodClass]:
        """Return the classes of a group's waiting pods, by namespace/name of the pod."""
        return self._waiting.get(group, _NOBODY)

    def add(self, pod: Pod) -> None:
        """Note a pod; one that has its node, or no group, is none of ours."""
        if pod.group is not None and pod.node is None:
            self._waiting.setdefault(pod.group, {})[pod.key] = pod.pod_class

    def remove(self, pod: Pod) -> None:
        """Forget a pod that was added."""
        if pod.group is not None and pod.node is None:
            group = self._waiting[pod.group]
            del group[pod.key]
            if not group:
                del self._waiting[pod.group]
