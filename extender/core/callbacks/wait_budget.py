"""What pods may cost the scheduler that calls wait for and that are not bound."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from typing import Final

from extender.core.model.objects import Pod
from extender.core.timing import CALL_LOG_SECONDS, LogThrottle

REST: Final = 9
"""After a wait for a pod that was not bound, nothing waits for this pod for REST times as long."""
BURST_SECONDS: Final = 5.0
"""Seconds of such waits that the pods of one namespace may cost beyond their share."""
MOST_PODS: Final = 256
MOST_NAMESPACES: Final = 256
"""That owe waits at a time; of more, the one that owes least is forgiven."""

_log = logging.getLogger(__name__)


class WaitBudget:
    """Says for which pods a call may wait.

    A tenant can make any number of pods that are let onto nodes and never bound. A pod that was
    waited for and not bound rests. So that many pods cost no more than a few, what was waited for
    the pods of a namespace is its debt. Of all debts together, one second is forgiven in REST + 1
    seconds, the same part of it to each namespace that has any. While a namespace owes
    BURST_SECONDS, nothing waits for its pods, so rules between them and pods that are placed right
    after them may be missed. Other namespaces lose nothing.

    In t seconds, these waits take at most t / (REST + 1) of a scheduler's time, and beyond that
    BURST_SECONDS and two waits for each namespace that has debts: what is in flight when it comes
    to owe that much is waited for.
    """

    def __init__(self, clock: Callable[[], float], loss: str | None = None) -> None:
        """`loss` is logged while nothing waits for a namespace: what may happen then."""
        self._clock = clock
        self._loss = loss
        self._resting: dict[str, float] = {}
        """Until when, by uid."""
        self._debts: dict[str, float] = {}
        """Seconds, by namespace."""
        self._forgiven_at = clock()
        self._log = LogThrottle(_log, seconds=CALL_LOG_SECONDS, clock=clock)

    def allows(self, pod: Pod) -> bool:
        """Tell whether a call may wait for a pod; O(namespaces with debts)."""
        now, namespace = self._clock(), pod.pod_class.namespace
        self._forgive(now)
        if self._debts.get(namespace, 0.0) < BURST_SECONDS:
            return self._resting.get(pod.uid, now) <= now
        if self._loss is not None:
            says = "pods of namespace %s are let onto nodes and not bound: for now, %s"
            self._log.log(logging.WARNING, namespace, says, namespace, self._loss)
        return False

    def rest(self, pod: Pod, seconds: float) -> None:
        """Note for how long a call has waited for a pod that was not bound."""
        now = self._clock()
        self._resting = {uid: until for uid, until in self._resting.items() if until > now}
        self._resting[pod.uid] = now + REST * seconds
        while len(self._resting) > MOST_PODS:
            del self._resting[next(iter(self._resting))]

    def charge(self, costs: Mapping[str, float]) -> None:
        """Note what one call has waited for pods that are not bound, in seconds by namespace."""
        self._forgive(self._clock())
        for namespace, seconds in costs.items():
            self._debts[namespace] = self._debts.get(namespace, 0.0) + seconds
        while len(self._debts) > MOST_NAMESPACES:
            del self._debts[min(self._debts, key=lambda each: self._debts[each])]

    def _forgive(self, now: float) -> None:
        share = (now - self._forgiven_at) / ((REST + 1) * max(len(self._debts), 1))
        self._forgiven_at = now
        self._debts = {each: debt - share for each, debt in self._debts.items() if debt > share}
