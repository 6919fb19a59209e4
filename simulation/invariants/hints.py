"""Judges hints where the extender preempts for no pod: each nomination that it sets is one."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from math import inf
from typing import Any, Final

import msgspec

from simulation.apiserver.store import RESTORE, Change, Store, is_live
from simulation.apiserver.verbs import NOMINATED
from simulation.invariants.broken import BrokenError
from simulation.invariants.writers import is_extender

A_SECOND: Final = 20.0
"""Hints on average, and the largest burst."""
FIRST_OPEN: Final = 10
MOST_OPEN: Final = 100
LATE: Final = 5.0
"""So many may be made later than they were decided, with the next."""
CLAIMED: Final = 1.0, 30.0
"""Seconds after `preempt` in which a pod gets no hint; one may have been decided just before."""


@dataclass(slots=True, eq=False)
class Nominated:
    key: str
    node: str
    by: str
    used: bool = False
    """Whether a scheduler has tried the pod since, and knew of it."""
    left: bool = False
    """Whether a scheduler may preempt for the pod: then it is no hint any more."""


class Hints:
    def __init__(self, store: Store, clock: Callable[[], float], broken: list[BrokenError]) -> None:
        self._clock = clock
        self._broken = broken
        self._nominated: dict[str, Nominated] = {}
        """By the uid of the pod."""
        self._withdrawn: dict[str, str] = {}
        """The node of the last hint that was withdrawn, by uid: it may be given back."""
        self._preempting: dict[tuple[str, str], float] = {}
        """When a process was last asked to preempt for a pod."""
        self._uses: Counter[str] = Counter()
        self._sent: dict[tuple[str, str], bytes] = {}
        self._left: dict[str, tuple[float, float]] = {}
        """How many hints a process may set at a moment."""
        store.observers.append(self._take)

    def note_asked(self, by: str, verb: str, body: bytes) -> None:
        """Note which hints schedulers come to, and for whom they preempt."""
        if verb not in {"filter", "preempt"}:
            return
        asked = msgspec.json.decode(body)
        uid, node = asked["Pod"]["metadata"]["uid"], asked["Pod"]["status"].get("nominatedNodeName")
        known = self._nominated.get(uid)
        if verb == "preempt":
            self._preempting[by, uid] = self._clock()
            if known is not None:
                known.left = True
        elif known is not None and known.node == node:
            self._use(uid)

    def note_preemption(self, uid: str, node: str) -> None:
        """Note that a scheduler nominates a node, perhaps where it is nominated already."""
        known = self._nominated.get(uid)
        if known is not None and known.node == node:
            known.by = "a scheduler"

    def note_begun(self, by: str, method: str, path: str, body: bytes) -> None:
        """Judge a request for a hint, when it is made."""
        if method != "PATCH" or not path.endswith("/status") or not body.startswith(b"["):
            return
        patch: dict[str, Any] = {each["path"]: each for each in msgspec.json.decode(body)}
        uid, change = patch["/metadata/uid"]["value"], patch[NOMINATED]
        if change["op"] != "add" or self._withdrawn.get(uid) == change["value"]:
            return
        now, about = self._clock(), f"{path} to {change['value']} by {by}"
        since, until = CLAIMED
        if since < now - self._preempting.get((by, uid), -inf) < until:
            self._break("hint after a preemption", about)
        if self._sent.get((by, uid)) == body:
            return  # It may be the same request once more.
        self._sent[by, uid] = body
        left, at = self._left.get(by, (A_SECOND, now))
        left = min(left + A_SECOND * (now - at), A_SECOND) - 1.0
        self._left[by] = left, now
        if left < -LATE:
            self._break("too many hints in a second", about)

    def _take(self, change: Change) -> None:
        old, new = change.old, change.new
        if change.resource != "pods":
            return
        uid = (new or old or {})["metadata"]["uid"]
        if new is None or not is_live(new) or new["spec"].get("nodeName"):
            self._use(uid)
            for each in (self._nominated, self._withdrawn):
                each.pop(uid, None)
            return
        after = new["status"].get("nominatedNodeName")
        known = self._nominated.get(uid)
        if after == (known and known.node):
            return
        self._nominated.pop(uid, None)
        if change.by == RESTORE:
            return  # Nobody knows any more whose it was.
        ours = is_extender(change.by)
        if ours and known is not None and not is_extender(known.by):
            about = f"{change.key} to {after}, from {known.node} by {known.by}"
            self._break("hint over a nomination", about, change.key)
        if after is not None:
            self._nominated[uid] = Nominated(change.key, after, change.by)
        elif ours and known is not None:
            self._withdrawn[uid] = known.node
        if ours and after is not None:
            self._count(change.by)

    def _use(self, uid: str) -> None:
        known = self._nominated.get(uid)
        if known is not None and not known.used:
            known.used = True
            self._uses[known.by] += 1

    def _count(self, by: str) -> None:
        hints = (each for each in self._nominated.values() if each.by == by and not each.left)
        number, most = sum(1 for _ in hints), min(FIRST_OPEN + self._uses[by], MOST_OPEN)
        if number > most:
            self._break("too many open hints", f"{number} of {by}, {self._uses[by]} were used")

    def _break(self, name: str, about: str, *words: str) -> None:
        self._broken.append(BrokenError(name, about, words))
