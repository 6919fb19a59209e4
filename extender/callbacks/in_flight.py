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
MOST_FLIGHTS = 256
"""Older ones are forgotten: their binds have long been decided, or never came."""


@dataclass(slots=True, eq=False)
class Flight:
    """A pod that was told where it may go."""

    pod: Pod
    since: float


class Flights:
    """The pods that were answered and may be bound any moment.

    A flight ends when its pod is reserved, refused or gone, or after HOLD_SECONDS: the scheduler
    may have dropped it without a word. Only filters of pods that interact with one wait at all.

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
        self._flying: dict[str, Flight] = {}
        self._landed = asyncio.Event()

    def depart(self, pod: Pod) -> None:
        """Note that a pod has been told where it may go."""
        now = self._clock()
        if pod.group is not None:
            for flight in self._flying.values():
                if flight.pod.group == pod.group:
                    flight.since = now
        self._flying.pop(pod.uid, None)
        self._flying[pod.uid] = Flight(pod, now)
        # A pod may be large: what nobody waits for any more is not held until it is pushed out.
        for uid, flight in list(islice(self._flying.items(), 2)):
            if now - flight.since >= self._hold or len(self._flying) > MOST_FLIGHTS:
                del self._flying[uid]

    def land(self, uid: str) -> None:
        """Note that a pod's bind has been decided, one way or the other."""
        if self._flying.pop(uid, None) is not None:
            self._landed.set()
            self._landed = asyncio.Event()

    def interacting(self, pod: Pod) -> bool:
        """Tell whether a pod would have to wait."""
        return self._patience(pod, self._clock()) > 0

    async def clear(self, pod: Pod) -> float:
        """Wait while pods in flight interact with a pod; return the seconds that it took.

        Each flight is waited for until HOLD_SECONDS after it began, and none beyond as long after
        this call, so the wait is bounded however many pods take off meanwhile.
        """
        start = self._clock()
        while (patience := self._patience(pod, start)) > 0:
            try:
                async with asyncio.timeout(patience):
                    await self._landed.wait()
            except TimeoutError:
                continue
        return self._clock() - start

    def _patience(self, pod: Pod, start: float) -> float:
        """Return for how long a pod has to wait if nothing lands, 0 or less when not at all."""
        now = self._clock()
        latest = 0.0
        for uid, flight in list(self._flying.items()):
            if now - flight.since >= self._hold:
                del self._flying[uid]
            elif self._may_meet(flight.pod, pod):
                latest = max(latest, flight.since)
        return min(latest, start) + self._hold - now if latest else 0.0

    def _may_meet(self, flying: Pod, asking: Pod) -> bool:
        if flying.uid == asking.uid or (flying.group is not None and flying.group == asking.group):
            return False
        return self._interact(flying.pod_class, asking.pod_class)
