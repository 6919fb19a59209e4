"""Pods between their answer and their bind, and the calls that wait for them."""

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
FEW = 64
"""Pods of one class in a row for which scores wait. In `assist` the watch shows where a pod went
some milliseconds after the answer: of 6 replicas that prefer to be apart, 2 nodes got 4 and 2. One
pod more or less is little among many, and to wait for each would cost their rate."""
SCORE_HOLD_SECONDS = 0.2
"""How long scores wait, at most: for a bind of the scheduler's and for the watch."""
UNSEEN_HOLD_SECONDS = 0.5
"""Likewise a filter for hard rules in annotations, where the scheduler binds: the API server may be
slow, and nobody looks at these rules again."""
REST = 9
"""So many times as long as a wait of scores in vain, none waits: pods whose binds never come, of
which a tenant may make many, cost the scheduler a tenth of its time at most."""
ROW_SECONDS = 1.0
"""After so long without one of its pods, a class begins a new row."""


@dataclass(slots=True, eq=False)
class _InFlight:
    """A pod that was told where it may go."""

    pod: Pod
    since: float


class InFlightPods:
    """The pods that were answered and may be bound any moment.

    A pod is in flight until its bind is decided, or for HOLD_SECONDS: the scheduler may have
    dropped it without a word. Only calls about pods that interact with one wait at all.

    The pods of a pod group are bound together once all of them have been answered. So they do not
    wait for each other, and whoever waits for one of them counts from the last that was answered.
    """

    def __init__(
        self,
        interact: Callable[[PodClass, PodClass], bool],
        *,
        decided: Callable[[Pod], bool] = lambda _: False,
        most_alike: int | None = None,
        rest: float = 0.0,
        hold: float = HOLD_SECONDS,
        clock: Callable[[], float] = monotonic,
    ) -> None:
        """`decided` tells of a pod that nobody need wait for any more, whoever has bound it.

        Of pods of one class in a row, only the first `most_alike` are waited for. After a wait in
        vain nobody waits for `rest` times as long.
        """
        self._interact = interact
        self._decided = decided
        self._most_alike = most_alike
        self._rest = rest
        self._resting_until = clock()
        self._rows: dict[PodClass, tuple[int, float]] = {}
        """How many pods of a class came in a row, and when the last one did."""
        self._hold = hold
        self._clock = clock
        self._pods: dict[str, _InFlight] = {}
        self._one_left = asyncio.Event()

    def add(self, pod: Pod) -> None:
        """Note that a pod has been told where it may go."""
        now = self._clock()
        if self._most_alike is not None and self._in_a_row(pod.pod_class, now) > self._most_alike:
            return
        if pod.spec.group is not None:
            for each in self._pods.values():
                if each.pod.spec.group == pod.spec.group:
                    each.since = now
        self._pods.pop(pod.uid, None)
        self._pods[pod.uid] = _InFlight(pod, now)
        # A pod may be large: what nobody waits for any more is not held until it is pushed out.
        for uid, each in list(islice(self._pods.items(), 2)):
            if now - each.since >= self._hold or len(self._pods) > MOST_PODS:
                del self._pods[uid]

    def _in_a_row(self, pod_class: PodClass, now: float) -> int:
        count, last = self._rows.pop(pod_class, (0, now))
        count = count + 1 if now - last < ROW_SECONDS else 1
        self._rows[pod_class] = count, now
        if len(self._rows) > MOST_PODS:
            del self._rows[next(iter(self._rows))]
        return count

    def remove(self, uid: str) -> None:
        """Note that a pod's bind has been decided, one way or the other."""
        self.look_again(uid)
        self._pods.pop(uid, None)

    def look_again(self, uid: str) -> None:
        """Have those who wait for a pod look in the next turn whether its bind is decided."""
        if uid in self._pods:
            self._one_left.set()
            self._one_left = asyncio.Event()

    def interacting(self, pod: Pod) -> bool:
        """Tell whether a pod would have to wait."""
        now = self._clock()
        return now >= self._resting_until and self._patience(pod, now) > 0

    async def wait_for(self, pod: Pod) -> float:
        """Wait while pods in flight interact with a pod; return the seconds that it took.

        Each is waited for until HOLD_SECONDS after its answer, and none beyond as long after this
        call, so the wait is bounded however many pods are answered meanwhile.
        """
        start, in_vain = self._clock(), False
        while (patience := self._patience(pod, start)) > 0:
            in_vain = False
            try:
                async with asyncio.timeout(patience):
                    await self._one_left.wait()
            except TimeoutError:
                in_vain = True
        waited = self._clock() - start
        if in_vain:
            self._resting_until = start + waited * (1 + self._rest)
        return waited

    def _patience(self, pod: Pod, start: float) -> float:
        """Return how long a pod has to wait if no bind is decided, 0 or less when not at all."""
        now = self._clock()
        latest = 0.0
        for uid, each in list(self._pods.items()):
            if now - each.since >= self._hold or self._decided(each.pod):
                del self._pods[uid]
            elif self._may_meet(each.pod, pod):
                latest = max(latest, each.since)
        return min(latest, start) + self._hold - now if latest else 0.0

    def _may_meet(self, in_flight: Pod, asking: Pod) -> bool:
        same_group = in_flight.spec.group is not None and in_flight.spec.group == asking.spec.group
        if in_flight.uid == asking.uid or same_group:
            return False
        return self._interact(in_flight.pod_class, asking.pod_class)
