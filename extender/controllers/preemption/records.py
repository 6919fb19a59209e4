"""The records of all pods for which others may be evicted, and how many of what is remembered."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterator

import msgspec

from extender.controllers.preemption.record import Preemption, Record, Refusal, Refused
from extender.model import memory
from extender.model.lru_cache import LruCache
from extender.model.objects import Pod

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


class Records:
    """One record a pod, by uid, for as long as any part of it is of use."""

    def __init__(
        self,
        clock: Callable[[], float],
        forgotten: Callable[[str], None],
        *,
        most_refused: int = MOST_REFUSED,
    ) -> None:
        """`forgotten` is told the uid of each record that is dropped."""
        self._clock = clock
        self._forgotten = forgotten
        self._records: dict[str, Record] = {}
        self._refused: LruCache[str, Record] = LruCache(
            memory.PREEMPTORS, most=most_refused, dropped=self._drop_refusal
        )
        self._active: dict[str, Record] = {}
        self._claims: OrderedDict[str, float] = OrderedDict()
        """Until when the scheduler is taken to preempt for a pod itself, the latest last."""

    def __len__(self) -> int:
        return len(self._records)

    def get(self, uid: str) -> Record | None:
        """Return what is known about a pod."""
        return self._records.get(uid)

    @property
    def refused(self) -> Iterator[Record]:
        """Return the pods that were refused, the one that was heard of longest ago first."""
        return (self._records[uid] for uid in self._refused)

    @property
    def active(self) -> dict[str, Record]:
        """Return the pods that others are evicted for, by uid."""
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
        record = self._records.setdefault(pod.uid, Record(pod.uid))
        refusal = record.refusal or Refusal(pod, self._clock())
        refusal.hear(pod, pod_json, refused, self._clock())
        record.refusal = refusal
        self.keep_refusal(record)
        return record

    def keep_refusal(self, record: Record) -> None:
        """Measure a refusal anew, which has changed."""
        refusal = record.refusal
        if refusal is not None and not self._refused.put(record.uid, record, refusal.size):
            self._drop_refusal(record)

    def admit(self, record: Record) -> None:
        """Forget that a pod was refused."""
        self._refused.pop(record.uid)
        self._drop_refusal(record)

    def _drop_refusal(self, record: Record) -> None:
        record.refusal = None
        self._tidy(record)

    # Sets of victims

    def begin(self, record: Record, preemption: Preemption) -> None:
        """Note that others are evicted for a pod."""
        record.preemption = preemption
        self._active[record.uid] = record

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

    def _tidy(self, record: Record) -> None:
        """Drop a record of which no part is left."""
        if record.refusal is not None or record.preemption is not None:
            return
        if self._records.get(record.uid) is record:
            del self._records[record.uid]
            self._forgotten(record.uid)
