"""Pods between their answer and their bind, and the calls that wait for them."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass
from itertools import islice
from time import monotonic

from extender.core.callbacks.wait_budget import WaitBudget
from extender.core.cluster.state import ClusterState
from extender.core.model.objects import Pod, PodClass

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
slow, and these rules are not looked at again."""
ROW_SECONDS = 1.0
"""A class begins a new row after this long without one of its pods."""


@dataclass(slots=True, eq=False)
class _InFlight:
    pod: Pod
    since: float
    shown: bool = False
    """Whether the watch has told of it. If it is not known then, it is gone."""


class InFlightPods:
    """The pods that were answered and may be bound any moment.

    A pod is in flight until its bind is decided or it is gone, or for HOLD_SECONDS: the scheduler
    may have dropped it without a word. Only calls about pods that interact with one wait at all.

    The pods of a pod group are bound together once all of them have been answered. So they do not
    wait for each other, and whoever waits for one of them counts from the last that was answered.
    """

    def __init__(
        self,
        interact: Callable[[PodClass, PodClass], bool],
        *,
        known: Callable[[Pod], Pod | None] = lambda _: None,
        most_alike: int | None = None,
        budget: WaitBudget | None = None,
        hold: float = HOLD_SECONDS,
        clock: Callable[[], float] = monotonic,
    ) -> None:
        """`known` returns a pod as the watch shows it, where binds are not decided by us.

        Of pods of one class in a row, only the first `most_alike` are waited for. The `budget` is
        charged for pods that were waited for and not bound.
        """
        self._interact = interact
        self._known = known
        self._most_alike = most_alike
        self._budget = budget
        self._rows: dict[PodClass, tuple[int, float]] = {}
        """How many pods of a class came in a row, and when the last one did."""
        self._hold = hold
        self._clock = clock
        self._pods: dict[str, _InFlight] = {}
        self._one_left = asyncio.Event()

    def add(self, pod: Pod) -> None:
        now = self._clock()
        if self._most_alike is not None and self._in_a_row(pod.pod_class, now) > self._most_alike:
            return
        if pod.spec.group is not None:
            for each in self._pods.values():
                if each.pod.spec.group == pod.spec.group:
                    each.since = now
        self._pods.pop(pod.uid, None)
        if self._budget is not None and not self._budget.allows(pod):
            return
        self._pods[pod.uid] = _InFlight(pod, now, self._known(pod) is not None)
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
        self.look_again(uid)
        self._pods.pop(uid, None)

    def look_again(self, uid: str) -> None:
        """Have those who wait for a pod look in the next turn whether its bind is decided."""
        if (found := self._pods.get(uid)) is not None:
            found.shown = True
            self._one_left.set()
            self._one_left = asyncio.Event()

    def interacting(self, pod: Pod) -> bool:
        return bool(self._met_by(pod))

    async def wait_for(self, pod: Pod) -> float:
        """Wait while pods in flight interact with a pod; return the seconds that it took.

        Each is waited for until HOLD_SECONDS after its answer, and none beyond as long after this
        call, so the wait is bounded however many pods are answered meanwhile.
        """
        start = self._clock()
        waited_for: set[_InFlight] = set()
        while met := self._met_by(pod):
            latest = max(each.since for each in met)
            patience = min(latest, start) + self._hold - self._clock()
            if patience <= 0:
                break
            waited_for.update(met)
            with suppress(TimeoutError):
                async with asyncio.timeout(patience):
                    await self._one_left.wait()
        self._charge(waited_for, start)
        return self._clock() - start

    def _met_by(self, pod: Pod) -> list[_InFlight]:
        """Return the pods in flight that a pod interacts with; drop those that are it no more."""
        now = self._clock()
        self._pods = {uid: each for uid, each in self._pods.items() if not self._is_over(each, now)}
        return [each for each in self._pods.values() if self._may_meet(each.pod, pod)]

    def _is_over(self, each: _InFlight, now: float) -> bool:
        if now - each.since >= self._hold:
            return True
        known = self._known(each.pod)
        return each.shown if known is None else known.node is not None

    def _charge(self, waited_for: Iterable[_InFlight], start: float) -> None:
        """Charge for what was waited for pods that are not bound, as far as that is known.

        One whose time is not over may be bound yet, so it does not rest: it was answered later, or
        again by another scheduler.
        """
        if self._budget is None:
            return
        now = self._clock()
        spans: dict[str, tuple[float, float]] = {}
        for each in waited_for:
            known = self._known(each.pod)
            if known is not None and known.node is not None:
                continue
            since, until = max(start, each.since), min(now, each.since + self._hold)
            if self._is_over(each, now):
                self._budget.rest(each.pod, until - since)
            namespace = each.pod.pod_class.namespace
            first, last = spans.get(namespace, (since, until))
            spans[namespace] = min(first, since), max(last, until)
        self._budget.charge({each: last - first for each, (first, last) in spans.items()})

    def _may_meet(self, in_flight: Pod, asking: Pod) -> bool:
        same_group = in_flight.spec.group is not None and in_flight.spec.group == asking.spec.group
        if in_flight.uid == asking.uid or same_group:
            return False
        return self._interact(in_flight.pod_class, asking.pod_class)


def unseen(
    state: ClusterState,
    clock: Callable[[], float],
    interact: Callable[[PodClass, PodClass], bool],
    budget: WaitBudget,
    *,
    hold: float,
    most_alike: int | None = None,
) -> InFlightPods:
    """Return the pods that the scheduler places by our answers, until the watch shows where."""
    in_flight = InFlightPods(
        interact,
        known=lambda pod: state.pod(pod.key, pod.uid),
        most_alike=most_alike,
        budget=budget,
        hold=hold,
        clock=clock,
    )
    state.pod_observers.append(in_flight.look_again)
    return in_flight
