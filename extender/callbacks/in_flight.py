"""Pods between their filter answer and their bind, and the filters that wait for them."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from itertools import islice
from time import monotonic

from extender.model.objects import Pod, PodClass

HOLD_SECONDS = 0.02
"""How long a filter waits for pods in flight, at most. The scheduler asks about the next pod
before it binds the last one; what it would be told now is about to be wrong, and a bind that is
refused costs its pod a back-off of a second or more."""
MOST_PODS = 256
"""Older ones are forgotten: their binds have long been decided, or never came."""


@dataclass(slots=True, eq=False)
class _InFlight:
    """A pod that was told where it may go."""

    pod: Pod
    since: float


class InFlightPods:
    """The pods that were answered and may be bound any moment.

    A pod is in flight until it is reserved, refused or gone, or for HOLD_SECONDS: the scheduler may
    have dropped it without a word. Only filters of pods that interact with one wait at all.

    The pods of a pod group are bound together once all of them have been answered. So they do not
    wait for each other, and whoever waits for one of them counts from the last that was answered.
    """

    def __init__(
        self,
        interact: Callable[[PodClass, PodClass], bool],
        *,
        hold: float = HOLD_SECONDS,
        clock: Callable[[], float] = monotonic,
    ) -> None:
        self._interact = interact
        self._hold = hold
        self._clock = clock
        self._pods: dict[str, _InFlight] = {}
        self._one_left = asyncio.Event()

    def add(self, pod: Pod) -> None:
        """Note that a pod has been told where it may go."""
        now = self._clock()
        if pod.group is not None:
            for each in self._pods.values():
                if each.pod.group == pod.group:
                    each.since = now
        self._pods.pop(pod.uid, None)
        self._pods[pod.uid] = _InFlight(pod, now)
        # A pod may be large: what nobody waits for any more is not held until it is pushed out.
        for uid, each in list(islice(self._pods.items(), 2)):
            if now - each.since >= self._hold or len(self._pods) > MOST_PODS:
                del self._pods[uid]

    def remove(self, uid: str) -> None:
        """Note that a pod's bind has been decided, one way or the other."""
        if self._pods.pop(uid, None) is not None:
            self._one_left.set()
            self._one_left = asyncio.Event()

    def interacting(self, pod: Pod) -> bool:
        """Tell whether a pod would have to wait."""
        return self._patience(pod, self._clock()) > 0

    async def wait_for(self, pod: Pod) -> float:
        """Wait while pods in flight interact with a pod; return the seconds that it took.

        Each is waited for until HOLD_SECONDS after its answer, and none beyond as long after this
        call, so the wait is bounded however many pods are answered meanwhile.
        """
        start = self._clock()
        while (patience := self._patience(pod, start)) > 0:
            try:
                async with asyncio.timeout(patience):
                    await self._one_left.wait()
            except TimeoutError:
                continue
        return self._clock() - start

    def _patience(self, pod: Pod, start: float) -> float:
        """Return how long a pod has to wait if no bind is decided, 0 or less when not at all."""
        now = self._clock()
        latest = 0.0
        for uid, each in list(self._pods.items()):
            if now - each.since >= self._hold:
                del self._pods[uid]
            elif self._may_meet(each.pod, pod):
                latest = max(latest, each.since)
        return min(latest, start) + self._hold - now if latest else 0.0

    def _may_meet(self, in_flight: Pod, asking: Pod) -> bool:
        same_group = in_flight.group is not None and in_flight.group == asking.group
        if in_flight.uid == asking.uid or same_group:
            return False
        return self._interact(in_flight.pod_class, asking.pod_class)
