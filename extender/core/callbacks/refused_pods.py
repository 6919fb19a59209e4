"""Which pods filter refused on every node it was asked about, and why, for people to look at."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from time import time
from typing import Final

from extender.core.cluster.state import ClusterState
from extender.core.model.lru_cache import LruCache
from extender.core.model.objects import Pod
from extender.core.verbs.plugins import Refused

MOST: Final = 512
MOST_BYTES: Final = 256 << 10
ENTRY_BYTES: Final = 600
"""About what an entry takes beside its names."""


@dataclass(frozen=True, slots=True)
class RefusedPod:
    """A pod that was refused on every node it was asked about, when it was asked about last."""

    key: str
    uid: str
    since: float
    """When that began, in seconds since the epoch."""
    last: float
    times: int
    reasons: tuple[tuple[str, int], ...]
    """Each reason with the number of nodes, that of most nodes first."""

    @property
    def why(self) -> str:
        """The reasons in words, with how many nodes each refused."""
        return "; ".join(f"{number:,} {reason}" for reason, number in self.reasons)


class RefusedPods:
    """The refused pods that were asked about last; a pod goes when it is admitted, placed or gone.

    It is told by filter, as those are who help such pods.
    """

    def __init__(self, state: ClusterState, clock: Callable[[], float] = time) -> None:
        self._state = state
        self._clock = clock
        self._pods: LruCache[str, RefusedPod] = LruCache(MOST_BYTES, most=MOST)

    def refused(self, pod: Pod, refused: Refused) -> None:
        now, known = self._clock(), self._pods.get(pod.uid)
        since, times = (now, 0) if known is None else (known.since, known.times)
        counted = sorted(
            ((reason.value, len(names)) for reason, names in refused), key=lambda each: -each[1]
        )
        found = RefusedPod(pod.key, pod.uid, since, now, times + 1, tuple(counted))
        self._pods.put(pod.uid, found, ENTRY_BYTES + 4 * (len(pod.key) + len(pod.uid)))

    def admitted(self, pod: Pod) -> None:
        self._pods.pop(pod.uid)

    def latest(self) -> Sequence[RefusedPod]:
        """Return those that still wait, the one that was asked about last first; O(MOST)."""
        waiting = []
        for uid in list(self._pods):
            each = self._pods.get(uid)
            pod = None if each is None else self._state.pod(each.key, uid)
            if each is not None and pod is not None and pod.node is None:
                waiting.append(each)
            else:
                self._pods.pop(uid)
        return sorted(waiting, key=lambda each: -each.last)
