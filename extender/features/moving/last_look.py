"""The last look before a pod goes: is the rule still broken, or the other place still better?"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Final

from extender.core.controllers.last_look import LOOK_SECONDS, LastLook, Looked, Read
from extender.core.errors import ExtenderError
from extender.core.model.labels import HOSTNAME
from extender.core.model.objects import Pod
from extender.core.ports import ClusterReader
from extender.core.timing import LogThrottle
from extender.features.moving.rules.breaches import Breach, enough_to_push, in_force
from extender.features.moving.rules.evicting import EvictionCause, culprits
from extender.features.moving.rules.execution import Execution, RuleKind
from extender.features.moving.rules.rule_watch import RuleWatch

MOST_WITNESSES: Final = 3
"""Pods in the way that are read: any one of them is enough, where there is no limit."""
MOST_PUSHING: Final = 64
"""Pods that are read where a limit is exceeded; beyond a higher one no pod is evicted."""
MOST_NODES: Final = 32
"""Nodes that are read to find that none of the pods on them is where one is missed."""
MOST_SPACES: Final = 32
"""Namespaces of pods that are there after all, whose labels are read: a rule may choose by them."""
UNREAD: Final = "%s: what its eviction hangs on cannot be read: %s"

_log = logging.getLogger(__name__)


@dataclass(slots=True)
class _Matched(Read):
    matched: Sequence[Pod] | None = ()
    """Pods in its domain of which one may keep an affinity rule; None: too many to tell."""


class LastLookAtMoves(LastLook):
    """Looks at what a broken rule or a better place hangs on."""

    def __init__(self, watch: RuleWatch, objects: ClusterReader) -> None:
        super().__init__(watch.state, objects)
        self._watch = watch
        self._log = LogThrottle(_log)

    async def at_breach(
        self, execution: Execution, pod: Pod, cause: EvictionCause, target: str
    ) -> Looked:
        """Look whether a pod breaks the rule for which it has to go, and would have a place.

        Nothing is awaited after the comparison with the picture.
        """
        breach, read = cause.breach, _Matched()
        try:
            async with asyncio.timeout(LOOK_SECONDS):
                await self.read_pods(read, [pod], (pod.node, target))
                if breach.rule.kind is RuleKind.ANTI_AFFINITY:
                    found = culprits(self._watch, execution, pod, breach)
                    enough = min(enough_to_push(self._watch, pod, breach), MOST_PUSHING)
                    witnesses = list(islice(found, max(MOST_WITNESSES, enough)))
                    await self.read_pods(read, witnesses, (each.node for each in witnesses))
                elif breach.rule.kind is RuleKind.AFFINITY:
                    await self._read_matched(read, pod, breach)
        except (ExtenderError, TimeoutError) as error:
            return self._unread(pod, error)
        return self._compare(read, execution, pod, breach, target)

    async def at_move(self, pod: Pod, target: str) -> Looked:
        """Look whether a pod and its node, and the one that would take it, are as was judged."""
        read = _Matched()
        try:
            async with asyncio.timeout(LOOK_SECONDS):
                await self.read_pods(read, [pod], (pod.node, target))
        except (ExtenderError, TimeoutError) as error:
            return self._unread(pod, error)
        return self._compare_places(read, pod, target)

    def _unread(self, pod: Pod, error: Exception) -> Looked:
        # Which object could not be read is for operators: it may be somebody else's.
        why = str(error) or f"not all of it within {LOOK_SECONDS:g} s"
        self._log.log(logging.INFO, type(error).__name__, UNREAD, pod.key, why)
        return Looked(why="the API server could not be asked")

    async def _read_matched(self, read: _Matched, pod: Pod, breach: Breach) -> None:
        """Read all pods of which one would keep the rule, and the nodes they are on."""
        asked = min(breach.rule.counted, key=lambda pods: not pods.selector.pins_a_label)
        if asked.selector.matches_nothing or breach.domain is None:
            return
        term = breach.rule.term
        here = pod.node if term is not None and term.topology_key == HOSTNAME else None
        found = await self.objects.pods(asked, here)
        read.matched = None
        nodes = {each.node for each in found or () if each.node is not None}
        if found is None or len(nodes - read.nodes.keys()) > MOST_NODES:
            return
        await self.read_pods(read, (), sorted(nodes))
        there = [each for each in found if self._domain(read, each, breach) == breach.domain]
        spaces = {each.pod_class.namespace for each in there}
        if any(each.namespace_selector is not None for each in breach.rule.counted):
            if len(spaces - read.namespaces.keys()) > MOST_SPACES:
                return
            await self.read_namespaces(read, there)
        read.matched = there

    def _domain(self, read: Read, pod: Pod, breach: Breach) -> str | None:
        node = None if pod.node is None else read.nodes.get(pod.node)
        key = breach.rule.term.topology_key if breach.rule.term is not None else ""
        return None if node is None else node.labels.get(key)

    def _compare(
        self, read: _Matched, execution: Execution, pod: Pod, breach: Breach, target: str
    ) -> Looked:
        places = self._compare_places(read, pod, target)
        why = places.why
        now = self.state.pod(pod.key, pod.uid)
        if why is None and (now is None or breach not in in_force(self._watch, execution, now)):
            why = "the rule is not broken any more"
        if why is None and breach.rule.kind is RuleKind.ANTI_AFFINITY:
            pushing = culprits(self._watch, execution, pod, breach)
            confirmed = (
                each
                for each in pushing
                if each.key in read.pods and self.difference(read, each) is None
            )
            enough = enough_to_push(self._watch, pod, breach)
            if len(list(islice(confirmed, enough))) < enough:
                why = "whoever is in its way is not as the watch has shown it"
        if why is None and breach.rule.kind is RuleKind.AFFINITY:
            why = self._matched_in(read, breach)
        return Looked(places.version, why)

    def _compare_places(self, read: _Matched, pod: Pod, target: str) -> Looked:
        seen = read.pods[pod.key]
        if seen is None or seen.pod.uid != pod.uid:
            return Looked(why="the pod is gone")
        why = self.difference(read, pod)
        if why is None and not self.is_node_known(read, target):
            why = "the node that would take it is not as the watch has shown it"
        return Looked(seen.version, why)

    def _matched_in(self, read: _Matched, breach: Breach) -> str | None:
        """Say that a pod keeps an affinity rule after all, or that nobody can tell."""
        if read.matched is None:
            return "it takes too many reads to tell that no such pod is there"
        for each in read.matched:
            own = each.pod_class
            space = self.state.namespace_labels(own.namespace)
            if (seen := read.namespaces.get(own.namespace)) is not None:
                space = self.state.scope.marked(seen.labels)
            if all(pods.matches(own.namespace, space, own.labels) for pods in breach.rule.counted):
                return "a pod that it asks for is there"
        return None
