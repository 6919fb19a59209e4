"""The records of all pods for which others may be evicted, and how many of what is remembered."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Mapping

import msgspec

from extender.controllers.preemption.record import Preemption, Record, Refusal
from extender.controllers.refusals import RefusalRecords
from extender.model import memory
from extender.model.objects import Pod
from extender.verbs.plugins import Refused

MOST_REFUSED = 1024
"""Refused pods, within memory.PREEMPTORS."""
MOST_ACTIVE = 512
"""Pods that others are being evicted for at a time; the rest waits for its turn."""
MOST_CLAIMS = 1024
CLAIM_SECONDS = 2.0
"""From the answer to /preempt until we may evict anybody for the pod. By then the watch has shown
whom the scheduler evicts for it."""
CYCLE_SECONDS = 1.0
"""From filter's answer until the scheduler has asked /preempt in the same cycle."""
MOST_KEPT = MOST_REFUSED + MOST_ACTIVE


class Records(RefusalRecords[Record]):
    """The records of all pods that others are, or may be, evicted for."""

    def __init__(
        self,
        clock: Callable[[], float],
        forgotten: Callable[[str], None],
        *,
        most_refused: int = MOST_REFUSED,
    ) -> None:
        """`forgotten` is told the uid of each record that is dropped."""
        super().__init__(Record, forgotten, budget=memory.PREEMPTORS, most=most_refused)
        self._clock = clock
        self._active: dict[str, Preemption] = {}
        self._claims: OrderedDict[str, float] = OrderedDict()
        """Until when the scheduler is taken to preempt for a pod itself, the latest last."""

    @property
    def active(self) -> Mapping[str, Preemption]:
        """Return the sets of victims that are not over, by the uid of their preemptor."""
        return self._active

    def latest(self, uid: str) -> Refusal | None:
        """Return the refusal of a pod in the scheduling cycle that preempts for it now."""
        record = self._records.get(uid)
        refusal = None if record is None else record.refusal
        if refusal is None or self._clock() - refusal.heard >= CYCLE_SECONDS:
            return None
        return refusal

    # Refusals

    def refuse(self, pod: Pod, pod_json: msgspec.Raw, refused: Refused) -> Record:
        """Remember a refusal; those that nobody heard of for longest go when there are too many."""
        record = self._of(pod.uid)
        record.refusal = record.refusal or Refusal(pod, self._clock())
        record.refusal.hear(pod, pod_json, self._clock())
        record.refusal.refused = refused
        self.keep_refusal(record)
        return record

    # Sets of victims

    def begin(self, record: Record, preemption: Preemption) -> None:
        """Note that others are evicted for a pod."""
        record.preemption = self._active[record.uid] = preemption

    def end(self, record: Record) -> None:
        """Note that nobody is evicted for a pod (any more)."""
        record.preemption = None
        self._active.pop(record.uid, None)
        self._tidy(record)

    # What the scheduler does by itself

    def claim(self, uid: str) -> None:
        """Note that the scheduler is about to evict others for a pod."""
        now = self._clock()
        self._claims[uid] = now + CLAIM_SECONDS
        self._claims.move_to_end(uid)
        while len(self._claims) > MOST_CLAIMS or next(iter(self._claims.values())) <= now:
            self._claims.popitem(last=False)

    def claimed_until(self, uid: str) -> float:
        """Return until when nobody is to be evicted for a pod."""
        return self._claims.get(uid, 0.0)
