"""The pods that were refused lately, and the few nodes that each was pointed to in vain."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, field

import msgspec

from extender.model import memory
from extender.model.lru_cache import LruCache
from extender.model.node_resources import Wish
from extender.model.objects import Pod
from extender.wire.placement import read_wish

MOST_REFUSED = 512
"""Pods remembered, within memory.REFUSALS; with the last request of each until it is looked at,
a few kilobytes."""
PER_POD = 1024
"""Bytes of a refused pod beside its class and its wish."""
SETTLING_SECONDS = 0.03
"""After a refusal. The scheduler comes back once or twice within some 10 ms, and may find a node by
itself; and when it ends an attempt, it wipes out a nomination that came during it."""
TRIED = 8
"""Nodes remembered that a pod was pointed to in vain."""
FIRST_PAUSE_SECONDS = 0.25
LONGEST_PAUSE_SECONDS = 300.0
"""After a hint that was of no use; it doubles each time. The scheduler itself retries a pod that
nothing wakes after as long."""


@dataclass(slots=True, eq=False)
class Refused:
    """A pod that was refused, as the last request had it."""

    pod: Pod
    heard: float
    """When it was refused last."""
    ripe: float = 0.0
    """When the pod may be looked at."""
    not_before: float = 0.0
    """When it may be pointed somewhere again."""
    tried: deque[str] = field(default_factory=lambda: deque(maxlen=TRIED))
    _pause: float = FIRST_PAUSE_SECONDS
    _wish: Wish | None = None
    _unread: bytes | None = None

    def hear(self, pod: Pod, pod_json: msgspec.Raw, now: float) -> None:
        """Take over what the latest request says; it is read when somebody wants to know."""
        self.pod, self.heard, self._unread = pod, now, bytes(pod_json)
        self.ripe = now + SETTLING_SECONDS

    def read(self) -> bool:
        """Read the latest request, ObjectError when it is broken; tell whether it is news."""
        if self._unread is None:
            return False
        unread, self._unread = self._unread, None
        self._wish = read_wish(unread, self.pod.requests)
        return True

    @property
    def size(self) -> int:
        """Return about what it takes, in bytes."""
        # The JSON is there for a moment; what is read from it is measured when it was read.
        unread = 0 if self._unread is None else len(self._unread)
        return PER_POD + self.pod.pod_class.size + self.wish.size + unread

    @property
    def wish(self) -> Wish:
        """Return what the pod asks of its node."""
        return self._wish or Wish(self.pod.requests)

    def pause(self, now: float) -> None:
        """Leave the pod alone for a while, each time for longer."""
        self.not_before = now + self._pause
        self._pause = min(2 * self._pause, LONGEST_PAUSE_SECONDS)


class Refusals:
    """Refused pods by uid; those that nobody looked at for longest go when there are too many."""

    def __init__(self, most: int = MOST_REFUSED) -> None:
        self._pods: LruCache[str, Refused] = LruCache(memory.REFUSALS, most=most)

    def __len__(self) -> int:
        return len(self._pods)

    def __iter__(self) -> Iterator[str]:
        return iter(self._pods)

    def get(self, uid: str) -> Refused | None:
        """Return a pod that was refused."""
        return self._pods.get(uid)

    def note(self, pod: Pod, pod_json: msgspec.Raw, now: float) -> None:
        """Remember a refusal."""
        refused = self._pods.get(pod.uid) or Refused(pod, now)
        refused.hear(pod, pod_json, now)
        self._pods.put(pod.uid, refused, refused.size)

    def read(self, refused: Refused) -> bool:
        """Read a pod's latest request, ObjectError when it is broken; tell whether it is news."""
        news = refused.read()
        if news and self._pods.get(refused.pod.uid) is refused:
            self._pods.put(refused.pod.uid, refused, refused.size)
        return news

    def drop(self, uid: str) -> None:
        """Forget a pod."""
        self._pods.pop(uid)
