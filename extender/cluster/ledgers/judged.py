"""Which rules in annotations pods were judged by when they got their places."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from extender.cluster.ledgers.reservations import Reservations
from extender.model import memory
from extender.model.lru_cache import LruCache
from extender.model.objects import Pod

PER_POD: Final = 256
"""Bytes of a digest, under a uid."""


class JudgedAnnotations:
    """The digests of annotations by which pods are judged until that is on record.

    A placed pod has it in its status. Until the watch shows that, it is what was reserved for the
    pod, or what somebody asked about last. Where none of these tells, as of pods that were placed
    before this process began and have no record, it was judged by nothing in an annotation.
    """

    def __init__(self, reservations: Reservations) -> None:
        self._reservations = reservations
        self._asked: LruCache[str, str] = LruCache(memory.ASKED)
        """By the uid of a waiting pod, the digest with which it was asked about last."""

    def note_asked(self, uid: str, digest: str) -> None:
        """Remember which rules in its annotation a waiting pod is judged by, "" for none.

        They count for others if it gets a place by that.
        """
        if digest:
            self._asked.put(uid, digest, PER_POD)
        elif self._asked.size:
            self._asked.pop(uid)

    def forget(self, uid: str) -> None:
        """Forget a pod that waits no more."""
        if self._asked.size:
            self._asked.pop(uid)

    def applied(self, pod: Pod, old: Pod | None) -> Pod:
        """Return a pod as it stands by what was judged, after what it was before, if known.

        One that waits stands as it is, whatever place is held for it; see `Pod.judged_by`.
        """
        judged = None if pod.record is None else self._judged(pod, pod.record, old)
        if pod.node is not None:
            return pod.judged_by(judged)
        return pod if judged == pod.judged else replace(pod, judged=judged)

    def _judged(self, pod: Pod, record: str, old: Pod | None) -> str:
        """Return the digest, "" for none and where nobody knows."""
        if pod.node is None:
            if pod.nominated is None:
                return ""
            held = old is not None and old.nominated == pod.nominated
        elif record:
            return record
        else:
            held = old is not None and old.node is not None
        if held and old is not None:
            return old.judged or ""
        for reservation in self._reservations.of(pod.key, pod.uid):
            if reservation.pod.node == pod.node:
                return reservation.pod.pod_class.digest
        return self._asked.get(pod.uid) or ""
