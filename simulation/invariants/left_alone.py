"""Once nothing goes wrong any more: whoever can be moved is moved, and then nobody is."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from simulation.apiserver.store import Change, Json, Store, is_live
from simulation.apiserver.verbs import budgets_allow
from simulation.invariants.broken import BrokenError
from simulation.invariants.known import truth
from simulation.invariants.owners import owner_of
from simulation.invariants.repairs import Repairs, stays
from simulation.invariants.worth import Worth

LOOK_SECONDS: Final = 5.0
BACK_OFF_SECONDS: Final = 200.0
"""Longer than the longest pause after a budget has refused, and a few rounds."""
SILENT_SECONDS: Final = 60.0


class LeftAlone:
    """Notes since when owners have had a pod that could be moved, and nobody does."""

    def __init__(self, store: Store, clock: Callable[[], float], repairs: Repairs) -> None:
        self._store = store
        self._clock = clock
        self._repairs = repairs
        self._since: dict[str, float] = {}
        self._next_look = 0.0
        self._changed = True
        self._left: set[str] = set()
        store.observers.append(self._note)

    def look(self) -> None:
        """Look who could be moved now; nobody while there have been as many as there may be."""
        now = self._clock()
        if now < self._next_look:
            return
        self._next_look = now + LOOK_SECONDS
        if self._changed:
            self._changed = False
            self._left = self._find()
        repairs = self._repairs
        free = [
            owner
            for owner in self._left
            if not (repairs.enough(owner) or repairs.missing.hold_up(owner))
        ]
        self._since = {owner: self._since.get(owner, now) for owner in free}

    def _find(self) -> set[str]:
        """Return the owners of which a pod could be moved."""
        repairs, picture = self._repairs, truth(self._store)
        worth, margin = Worth(picture), repairs.settings.min_gain
        pods = self._store.all("pods").values()
        unsettled = {owner_of(each) for each in pods if not _is_settled(each)}
        return {
            owner_of(one.pod) or ""
            for one in picture.pods.values()
            if not stays(one.pod)
            and owner_of(one.pod) not in unsettled
            and budgets_allow(self._store, one.pod)
            and repairs.rooms.somewhere(one, picture, 0.0, worth.better(one, margin))
        }

    def _note(self, change: Change) -> None:
        self._changed |= change.resource != "leases"

    def check(self) -> None:
        """Raise when somebody could have been moved for long, or moves do not come to an end.

        Those that miss come to none, they only become ever rarer: only the replica that has moved a
        pod gives points to its successor, and schedulers may ask another one.
        """
        now, repairs = self._clock(), self._repairs
        for owner, since in self._since.items():
            free = max(since, repairs.rests_until(owner)) + repairs.settings.settle
            if now > free + BACK_OFF_SECONDS:
                raise BrokenError("left where it is", f"{owner} for {now - since:.0f} s", (owner,))
        for owner, at in repairs.last_moves():
            if now - at < SILENT_SECONDS and not repairs.has_missed(owner):
                raise BrokenError("moves without end", owner, (owner,))


def _is_settled(pod: Json) -> bool:
    """Tell whether a pod neither waits for a node nor is on its way out."""
    going = "deletionTimestamp" in pod["metadata"]
    return not is_live(pod) or (bool(pod["spec"].get("nodeName")) and not going)
