"""The last look before a pod is ended: does the API server have what the verdict hangs on?

A watch may be silent, and a picture old, without anybody knowing. So what a verdict hangs on is
read right before the act, and compared with the picture: whoever is to go, its node, the node that
would take it, those in its way. Where all of it is as the watch has shown it, the verdict is as
good as if it were made of what was read. Where anything differs, nobody goes, and the watch is
waited for.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import Final

from extender.cluster.audits.breaches import Breach, enough_to_push, in_force
from extender.cluster.state import ClusterState
from extender.errors import ExtenderError
from extender.model.execution import Execution, RuleKind
from extender.model.labels import HOSTNAME
from extender.model.objects import Namespace, Node, Pod, SeenPod
from extender.ports import ClusterReader
from extender.timing import LogThrottle
from extender.verbs.evicting import EvictionCause, culprits

LOOK_SECONDS: Final = 2.0
"""For all reads before one act."""
MOST_WITNESSES: Final = 3
"""Pods in the way that are read: any one of them is enough, where there is no limit."""
MOST_PUSHING: Final = 64
"""Pods that are read where a limit is exceeded; beyond a higher one nobody is evicted."""
MOST_NODES: Final = 32
"""Nodes that are read to find that none of the pods on them is where one is missed."""
UNREAD: Final = "%s: what its eviction hangs on cannot be read: %s"

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Looked:
    """What a look has found."""

    version: str = ""
    """The resourceVersion of the pod that is to go."""
    why: str | None = None
    """Why it must not go, in words that name nobody else; None when all is as it was judged."""


@dataclass(slots=True)
class _Read:
    """What the API server has, by key or name; None for what there is not."""

    pods: dict[str, SeenPod | None] = field(default_factory=dict)
    nodes: dict[str, Node | None] = field(default_factory=dict)
    namespaces: dict[str, Namespace | None] = field(default_factory=dict)
    matched: Sequence[Pod] | None = ()
    """Pods of which one would keep an affinity rule, wherever they are; None: too many."""


class LastLook:
    """Reads a bounded number of objects, within LOOK_SECONDS, under the budget for reads."""

    def __init__(self, state: ClusterState, objects: ClusterReader) -> None:
        self._state = state
        self._objects = objects
        self._log = LogThrottle(_log)

    async def at_breach(
        self, execution: Execution, pod: Pod, cause: EvictionCause, target: str
    ) -> Looked:
        """Look whether a pod breaks the rule for which it has to go, and would have a place.

        Nothing is awaited after the comparison with the picture.
        """
        breach, read = cause.breach, _Read()
        try:
            async with asyncio.timeout(LOOK_SECONDS):
                await self._read_pods(read, [pod], (pod.node, target))
                if breach.rule.kind is RuleKind.ANTI_AFFINITY:
                    found = culprits(self._state, execution, pod, breach)
                    enough = min(enough_to_push(self._state, pod, breach), MOST_PUSHING)
                    witnesses = list(islice(found, max(MOST_WITNESSES, enough)))
                    await self._read_pods(read, witnesses, (each.node for each in witnesses))
                elif breach.rule.kind is RuleKind.AFFINITY:
                    await self._read_matched(read, pod, breach)
        except (ExtenderError, TimeoutError) as error:
            # Which object could not be read is for operators: it may be somebody else's.
            self._log.log(logging.INFO, type(error).__name__, UNREAD, pod.key, error)
            return Looked(why="the API server could not be asked")
        return self._compare(read, execution, pod, breach, target)

    async def at_move(self, pod: Pod, target: str) -> Looked:
        """Look whether a pod and its node, and the one that would take it, are as was judged."""
        read = _Read()
        try:
            async with asyncio.timeout(LOOK_SECONDS):
                await self._read_pods(read, [pod], (pod.node, target))
        except (ExtenderError, TimeoutError) as error:
            self._log.log(logging.INFO, type(error).__name__, UNREAD, pod.key, error)
            return Looked(why="the API server could not be asked")
        return self._compare_places(read, pod, target)

    async def at_victim(self, victim: Pod, others: Iterable[Pod]) -> Looked:
        """Look whether a victim of preemption, its node and its namespace are as they were judged.

        Of `others`, whose rules count for it, only the namespaces are read.
        """
        read = _Read()
        try:
            async with asyncio.timeout(LOOK_SECONDS):
                await self._read_pods(read, [victim], (victim.node,))
                await self._read_namespaces(read, others)
        except TimeoutError:
            return Looked(why="the API server could not be asked in time")
        seen = read.pods[victim.key]
        if seen is None or seen.pod.uid != victim.uid:
            return Looked(why="the pod is gone")
        return Looked(seen.version, self._difference(read, victim))

    # What is read

    async def _read_pods(
        self, read: _Read, pods: Sequence[Pod], nodes: Iterable[str | None]
    ) -> None:
        for each in pods:
            read.pods[each.key] = await self._objects.pod(each.key)
        for name in nodes:
            if name is not None and name not in read.nodes:
                read.nodes[name] = await self._objects.node(name)
        await self._read_namespaces(read, pods)

    async def _read_namespaces(self, read: _Read, pods: Iterable[Pod]) -> None:
        for name in dict.fromkeys(each.pod_class.namespace for each in pods):
            if name not in read.namespaces:
                read.namespaces[name] = await self._objects.namespace(name)

    async def _read_matched(self, read: _Read, pod: Pod, breach: Breach) -> None:
        """Read all pods of which one would keep the rule, and the nodes they are on."""
        asked = min(breach.rule.counted, key=lambda pods: not pods.selector.pins_a_label)
        if asked.selector.matches_nothing or breach.domain is None:
            return
        term = breach.rule.term
        here = pod.node if term is not None and term.topology_key == HOSTNAME else None
        read.matched = await self._objects.pods(asked, here)
        nodes = {each.node for each in read.matched or () if each.node is not None}
        if len(nodes - read.nodes.keys()) > MOST_NODES:
            read.matched = None
            return
        await self._read_pods(read, (), sorted(nodes))

    # What is compared

    def _compare(
        self, read: _Read, execution: Execution, pod: Pod, breach: Breach, target: str
    ) -> Looked:
        state, places = self._state, self._compare_places(read, pod, target)
        why = places.why
        now = state.pod(pod.key, pod.uid)
        if why is None and (now is None or breach not in in_force(state, execution, now)):
            why = "the rule is not broken any more"
        if why is None and breach.rule.kind is RuleKind.ANTI_AFFINITY:
            pushing = culprits(state, execution, pod, breach)
            confirmed = (
                each
                for each in pushing
                if each.key in read.pods and self._difference(read, each) is None
            )
            enough = enough_to_push(state, pod, breach)
            if len(list(islice(confirmed, enough))) < enough:
                why = "whoever is in its way is not as the watch has shown it"
        if why is None and breach.rule.kind is RuleKind.AFFINITY:
            why = self._matched_in(read, breach)
        return Looked(places.version, why)

    def _compare_places(self, read: _Read, pod: Pod, target: str) -> Looked:
        seen = read.pods[pod.key]
        if seen is None or seen.pod.uid != pod.uid:
            return Looked(why="the pod is gone")
        why = self._difference(read, pod)
        if why is None and not self._is_node_known(read, target):
            why = "the node that would take it is not as the watch has shown it"
        return Looked(seen.version, why)

    def _difference(self, read: _Read, pod: Pod) -> str | None:
        """Say what of a pod, its node and its namespace is not as the watch has shown it."""
        known, seen = self._state.pod(pod.key, pod.uid), read.pods[pod.key]
        if known is None or seen is None or not self._state.is_as_shown(seen.pod):
            return "the pod is not as the watch has shown it"
        if known.node is None or not self._is_node_known(read, known.node):
            return "the labels of its node are not as the watch has shown them"
        space = pod.pod_class.namespace
        found = read.namespaces.get(space)
        marked = self._state.annotations.marked
        if found is None or marked(found.labels) != marked(self._state.namespace_labels(space)):
            return "the labels of its namespace are not as the watch has shown them"
        return None

    def _is_node_known(self, read: _Read, name: str) -> bool:
        found, state = read.nodes.get(name), self._state
        return (
            found is not None
            and name in state.nodes
            and found.labels == state.nodes.labels(name)
            and found.allocatable == state.node_resources.allocatable(name)
        )

    def _matched_in(self, read: _Read, breach: Breach) -> str | None:
        """Say that a pod keeps an affinity rule after all, or that nobody can tell."""
        if read.matched is None:
            return "it takes too many reads to tell that no such pod is there"
        key = breach.rule.term.topology_key if breach.rule.term is not None else ""
        for each in read.matched:
            node = None if each.node is None else read.nodes.get(each.node)
            if node is not None and node.labels.get(key) == breach.domain is not None:
                own = each.pod_class
                space = self._state.namespace_labels(own.namespace)
                if all(
                    pods.matches(own.namespace, space, own.labels) for pods in breach.rule.counted
                ):
                    return "a pod that it asks for is there"
        return None
