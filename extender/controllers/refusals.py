"""Pods refused on every node, as controllers remember them, and which were looked at in vain."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

from extender.cluster.state import ClusterState
from extender.model.lru_cache import LruCache
from extender.model.objects import Pod
from extender.timing import LONGEST_PAUSE_SECONDS, Pause
from extender.verbs.plugins import Refused

PER_POD = 1024
"""Bytes of a refused pod, beside what it shares with others."""
SETTLING_SECONDS = 0.03
"""After a refusal. The scheduler comes back once or twice within some 10 ms, and may find a node by
itself or preempt; and when it ends an attempt, it wipes out a nomination that came during it."""
GONE_SECONDS = 5.0
"""After the last refusal of a pod that the watch shows no more; a list may have come too early."""
LOOKS_PER_AGE = 8
"""Between two looks whether the watch shows a pod, a part of the time since its refusal."""

WHOLE_SEARCH = 100
"""The scheduler never stops looking before it has found as many nodes that pass its own plugins."""

F = TypeVar("F", bound="Refusal")
R = TypeVar("R", bound="RefusalRecord[Any]")


def is_whole_search(refused: Refused) -> bool:
    """Return whether these are all nodes that pass the scheduler's own plugins."""
    return sum(len(names) for _, names in refused) < WHOLE_SEARCH


@dataclass(slots=True, eq=False)
class Refusal:
    """A pod that was refused, as the last request had it."""

    pod: Pod
    heard: float
    """When it was refused last."""
    pause: Pause = field(default_factory=lambda: Pause(0.0))
    """Until it may be helped again."""
    _shown: bool = False
    """Whether the watch has shown it since it was refused first."""

    @property
    def settled_at(self) -> float:
        """Return when the scheduler is no longer expected to come back by itself."""
        return self.heard + SETTLING_SECONDS

    @property
    def size(self) -> int:
        """Return about what it takes, in bytes."""
        return PER_POD + self.pod.size

    def hear(self, pod: Pod, now: float) -> None:
        """Take over what the latest request says."""
        self.pod, self.heard = pod, now

    def wait_for_watch(self, now: float, *, known: bool) -> float | None:
        """Return after how many seconds to look for the pod again, None if there is no need to.

        `known` says that the watch shows it. A pod that is not shown in time is taken to be gone.
        """
        # An API server that lags still sends bookmarks, so that nobody notices: what was never
        # shown is remembered until the scheduler comes back with it by itself.
        self._shown |= known
        age, longest = now - self.heard, GONE_SECONDS if self._shown else LONGEST_PAUSE_SECONDS
        return None if known or age >= longest else age / LOOKS_PER_AGE


@dataclass(slots=True, eq=False)
class RefusalRecord(Generic[F]):
    """What is known about a pod; each part for as long as it is of use."""

    uid: str
    refusal: F | None = None

    @property
    def is_blank(self) -> bool:
        """Return whether nothing is left to be remembered."""
        return self.refusal is None


class RefusalRecords(Generic[R]):
    """One record a pod, by uid, for as long as any part of it is of use."""

    def __init__(
        self,
        make: Callable[[str], R],
        forgotten: Callable[[str], None],
        *,
        budget: int,
        most: int,
    ) -> None:
        """Keep so many refused pods, in so many bytes.

        `forgotten` is told the uid of each record that is dropped.
        """
        self._make = make
        self._forgotten = forgotten
        self._records: dict[str, R] = {}
        self._refused: LruCache[str, R] = LruCache(budget, most=most, dropped=self._drop_refusal)

    def __len__(self) -> int:
        return len(self._records)

    def get(self, uid: str) -> R | None:
        """Return what is known about a pod."""
        return self._records.get(uid)

    @property
    def refused(self) -> Iterator[R]:
        """Return the pods that were refused, the one that was heard of longest ago first."""
        return (self._records[uid] for uid in self._refused)

    def keep_refusal(self, record: R) -> None:
        """Measure a refusal that is new or has changed; the oldest go when there are too many."""
        refusal = record.refusal
        if refusal is not None and not self._refused.put(record.uid, record, refusal.size):
            self._drop_refusal(record)

    def admit(self, record: R) -> None:
        """Forget that a pod was refused."""
        self._refused.pop(record.uid)
        self._drop_refusal(record)

    def _drop_refusal(self, record: R) -> None:
        record.refusal = None
        self._do_deferred(record)

    def _of(self, uid: str) -> R:
        record = self._records.get(uid)
        if record is None:
            record = self._records[uid] = self._make(uid)
        return record

    def _do_deferred(self, record: R) -> None:
        """Drop a record of which no part is left."""
        if record.is_blank and self._records.get(record.uid) is record:
            del self._records[record.uid]
            self._forgotten(record.uid)


def prospects(pod: Pod) -> Hashable:
    """Return what is the same for all pods with the same prospects, such as replicas."""
    return pod.pod_class, wishes(pod)


def wishes(pod: Pod) -> Hashable:
    """Return what a pod asks of nodes and of others beside the rules of its class."""
    of_node = pod.node_affinity, pod.ports, pod.requests, pod.requirements.tolerations
    return *of_node, pod.priority, pod.charge


class UnschedulableCache:
    """Keys that nothing was found for, bounded in bytes; all are forgotten with the next change."""

    def __init__(self, state: ClusterState, budget: int) -> None:
        self._state = state
        self._budget = budget
        self._version = -1
        """Of the state that it is true of."""
        self._known: LruCache[Hashable, bool] = LruCache(budget)

    def knows(self, key: Hashable) -> bool:
        """Return whether nothing was found for a key in the state as it is now."""
        if self._version != self._state.version:
            self._version, self._known = self._state.version, LruCache(self._budget)
        return bool(self._known.get(key))

    def note(self, key: Hashable, size: int) -> None:
        """Note that nothing was found, unless the state has changed since somebody asked last."""
        if self._version == self._state.version:
            self._known.put(key, value=True, size=size)
