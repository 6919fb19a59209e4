"""Victims that were named a moment ago, and pods that wait for theirs to be gone.

The scheduler's own watch may be ahead of ours: it asks about a pod anew the moment that its victim
is gone, when we still see the victim there. Refused then, the pod would be given other victims.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping

from extender.core.cluster.state import ClusterState
from extender.core.controllers.pod_events import PodEvents
from extender.core.model import memory
from extender.core.model.disruption import Victims
from extender.core.model.lru_cache import PER_NAME, LruCache
from extender.core.model.objects import Pod
from extender.core.ports import Preemptor
from extender.core.verbs.plugins import Plugins
from extender.core.verbs.preempting import only_waits

LAG_SECONDS = 2.0
"""How long victims that we have just named count as on their way out before any watch tells.
Longer, and an eviction that failed would hold up the pod."""
CATCH_UP_SECONDS = 0.05
"""How long one call waits while our watch shows nothing of victims that are being deleted."""
MOST_REMEMBERED = 64


class NamedVictims:
    """What was answered to /preempt lately, and the pods that this program itself evicts."""

    def __init__(
        self,
        state: ClusterState,
        plugins: Plugins,
        preemption: Preemptor | None,
        clock: Callable[[], float],
    ) -> None:
        self._state = state
        self._plugins = plugins
        self._preemption = preemption
        self._clock = clock
        self._events = PodEvents(state)
        self._told: LruCache[str, tuple[float, Mapping[str, Victims]]] = LruCache(
            memory.VICTIMS, most=MOST_REMEMBERED
        )

    def remember(self, uid: str, chosen: Mapping[str, Victims]) -> None:
        now = self._clock()
        self._told.put(uid, (now, chosen), _size(chosen))
        while (oldest := self._told.oldest()) is not None and now - oldest[0] >= LAG_SECONDS:
            self._told.pop_oldest()

    def waits_on(self, pod: Pod) -> str | None:
        node = self._held_for(pod)
        if node is None:
            return None
        ours = None if self._preemption is None else self._preemption.going(pod)
        named = self._named(pod, node)
        if pod.status.nominated is None and ours is not None and not named:
            # The scheduler does not know of the nomination, and would look for victims there.
            return None
        going = named or ours or ()
        held = pod.with_status(nominated=node)
        return node if only_waits(self._state, held, going, self._plugins) else None

    async def catch_up(self, pod: Pod) -> None:
        """Wait until our watch shows of a pod's victims what it must show any moment.

        Refused before, the pod would lose its nomination, and come back only when something wakes
        it; and once they are gone, it is let in by the same call.
        """
        leaving = self._leaving(pod)
        if leaving:
            await self._events.until(lambda: not self._leaving(pod), leaving, CATCH_UP_SECONDS)

    def _leaving(self, pod: Pod) -> Collection[str]:
        """Return the uids of the victims that look as if nothing had happened to them."""
        node = self._held_for(pod)
        if node is None:
            return ()
        ours = None if self._preemption is None else self._preemption.leaving(pod)
        going = self._named(pod, node) or ours
        if not going:
            return ()
        there = self._state.pods_on(node)
        return [each.uid for each in there if each.uid in going and not each.status.deleting]

    def _held_for(self, pod: Pod) -> str | None:
        """Return where a pod is nominated; the request may be older than what we know."""
        if pod.status.nominated is not None:
            return pod.status.nominated
        known = self._state.nominated.get(pod.uid)
        return None if known is None else known.status.nominated

    def _named(self, pod: Pod, node: str) -> Collection[str]:
        told, candidates = self._told.get(pod.uid) or (0.0, {})
        victims = candidates.get(node)
        if victims is None or self._clock() - told >= LAG_SECONDS:
            return ()
        return victims.uids


def _size(chosen: Mapping[str, Victims]) -> int:
    """Estimate what it takes to remember some victims, in bytes."""
    return sum(
        PER_NAME * (2 + len(victims.uids)) + len(node) + sum(map(len, victims.uids))
        for node, victims in chosen.items()
    )
