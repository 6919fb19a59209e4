"""Puts on record by which rules in annotations a pod is placed before the extender binds it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Final

from extender.core.cluster.state import ClusterState
from extender.core.model import memory
from extender.core.model.lru_cache import CountedCache
from extender.core.model.objects import Pod
from extender.core.ports import Hook

UNKNOWN: Final = "?"
"""Stands for what may be on record where that is unknown; no digest is like that."""


class RecordFirst(Hook):
    """Refuses a bind where that fails.

    After a restart nobody could tell these rules from those of a later edit. What is on record from
    an attempt that came to nothing is taken back in the same way.
    """

    def __init__(
        self, state: ClusterState, record: Callable[[Pod, str], Awaitable[str | None]]
    ) -> None:
        self._state = state
        self._record = record
        self._recorded: CountedCache[str, str] = CountedCache(memory.MOST_RECORDED)
        """What was put on record lately, by uid: the watch may be behind. Nothing is spared by
        it, as another replica may have put something else there since."""

    async def before_bind(self, placed: Pod) -> str | None:
        pod, digest = placed, placed.pod_class.digest
        known = self._recorded.get(pod.uid)
        if pod.status.record is None:
            return None
        for each in self._state.reservations.of(pod.key, pod.uid):
            if each.pod.node != pod.node and each.pod.pod_class.digest != digest:
                # It has one record, wherever it turns up, and was not judged by these rules there.
                return (
                    f"it may come to be bound to {each.pod.node} yet, where it was judged by other "
                    "rules in its annotation"
                )
        if digest == pod.status.record and known in {None, digest}:
            return None
        why = await self._record(pod, digest)
        self._recorded.put(pod.uid, digest if why is None else UNKNOWN)
        if why is None:
            return None
        return (
            "the rules in its annotation cannot be put on record in its status, which needs the "
            f"right to patch pods/status: {why}"
        )
