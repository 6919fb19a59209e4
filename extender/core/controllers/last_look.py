"""The last look before a pod is ended: does the API server have what the verdict hangs on?

A watch may be silent, and a picture old, unnoticed. So what a verdict hangs on is read right before
the act, and compared with the picture: the pod that is to go, its node, the node that would take
it, those in its way. Where all of it is as the watch has shown it, the verdict is as good as if it
were made of what was read. Where anything differs, no pod goes, and the watch is waited for.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Final

from extender.core.cluster.state import ClusterState
from extender.core.model.objects import Namespace, Node, Pod, SeenPod
from extender.core.ports import ClusterReader

LOOK_SECONDS: Final = 2.0
"""For all reads before one act."""


@dataclass(frozen=True, slots=True)
class Looked:
    version: str = ""
    """The resourceVersion of the pod that is to go."""
    why: str | None = None
    """Why it must not go, in words that name no other pod; None when all is as it was judged."""


@dataclass(slots=True)
class Read:
    """What the API server has, by key or name; None for what there is not."""

    pods: dict[str, SeenPod | None] = field(default_factory=dict)
    nodes: dict[str, Node | None] = field(default_factory=dict)
    namespaces: dict[str, Namespace | None] = field(default_factory=dict)


class LastLook:
    """Reads a bounded number of objects, within LOOK_SECONDS, under the budget for reads."""

    def __init__(self, state: ClusterState, objects: ClusterReader) -> None:
        self.state: Final = state
        self.objects: Final = objects

    async def at_victim(self, victim: Pod, others: Iterable[Pod]) -> Looked:
        """Look whether a victim of preemption, its node and its namespace are as they were judged.

        Of `others`, whose rules count for it, only the namespaces are read.
        """
        read = Read()
        try:
            async with asyncio.timeout(LOOK_SECONDS):
                await self.read_pods(read, [victim], (victim.node,))
                await self.read_namespaces(read, others)
        except TimeoutError:
            return Looked(why="the API server could not be asked in time")
        seen = read.pods[victim.key]
        if seen is None or seen.pod.uid != victim.uid:
            return Looked(why="the pod is gone")
        return Looked(seen.version, self.difference(read, victim))

    # What is read

    async def read_pods(self, read: Read, pods: Sequence[Pod], nodes: Iterable[str | None]) -> None:
        """Read pods with their namespaces, and nodes."""
        for each in pods:
            read.pods[each.key] = await self.objects.pod(each.key)
        for name in nodes:
            if name is not None and name not in read.nodes:
                read.nodes[name] = await self.objects.node(name)
        await self.read_namespaces(read, pods)

    async def read_namespaces(self, read: Read, pods: Iterable[Pod]) -> None:
        """Read the namespaces of pods."""
        for name in dict.fromkeys(each.pod_class.namespace for each in pods):
            if name not in read.namespaces:
                read.namespaces[name] = await self.objects.namespace(name)

    # What is compared

    def difference(self, read: Read, pod: Pod) -> str | None:
        """Say what of a pod, its node and its namespace is not as the watch has shown it."""
        known, seen = self.state.pod(pod.key, pod.uid), read.pods[pod.key]
        if known is None or seen is None or not self.state.is_as_shown(seen.pod):
            return "the pod is not as the watch has shown it"
        if known.node is None or not self.is_node_known(read, known.node):
            return "the labels of its node are not as the watch has shown them"
        space = pod.pod_class.namespace
        found = read.namespaces.get(space)
        marked = self.state.scope.marked
        if found is None or marked(found.labels) != marked(self.state.namespace_labels(space)):
            return "the labels of its namespace are not as the watch has shown them"
        return None

    def is_node_known(self, read: Read, name: str) -> bool:
        """Return whether a node is as the watch has shown it."""
        found, state = read.nodes.get(name), self.state
        return (
            found is not None
            and name in state.nodes
            and found.labels == state.nodes.labels(name)
            and found.allocatable == state.node_resources.allocatable(name)
        )
