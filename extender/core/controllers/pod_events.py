"""Lets tasks wait until the watch has shown something of a pod, in place of looking again."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection
from contextlib import suppress

from extender.core.cluster.state import ClusterState


class PodEvents:
    """Wakes who waits for an event about a pod."""

    def __init__(self, state: ClusterState) -> None:
        self._waiting: dict[str, list[asyncio.Event]] = {}
        """By the uid of a pod."""
        state.pod_observers.append(self._tell)

    def _tell(self, uid: str) -> None:
        # Who is woken looks when the loop comes to it, which is after the step that tells.
        for each in self._waiting.get(uid, ()):
            each.set()

    async def until(self, holds: Callable[[], bool], uids: Collection[str], within: float) -> bool:
        """Wait until `holds()` is true, at most `within` seconds; return whether it is.

        It is asked at first, and again after each event about one of these pods.
        """
        event = asyncio.Event()
        for uid in uids:
            self._waiting.setdefault(uid, []).append(event)
        try:
            with suppress(TimeoutError):
                async with asyncio.timeout(within):
                    while not holds():
                        event.clear()
                        await event.wait()
        finally:
            for uid in uids:
                self._waiting[uid].remove(event)
                if not self._waiting[uid]:
                    del self._waiting[uid]
        return holds()
