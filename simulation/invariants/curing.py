"""Once nothing goes wrong any more, every pod that breaks a rule and can be moved is moved."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from simulation.apiserver.store import Json, Store, key_of
from simulation.apiserver.verbs import budgets_allow, mark_of
from simulation.invariants.broken import BrokenError
from simulation.invariants.evictions import Evictions
from simulation.invariants.execution import Picture, Standing
from simulation.invariants.known import truth
from simulation.invariants.owners import owner_of
from simulation.invariants.rooms import is_open, milli

CURED_SECONDS: Final = 200.0
"""Longer than the pause that follows the attempts of a run: 10, 20, 40, 80, 160 s."""
LOOK_SECONDS: Final = 5.0


class Curing:
    """Notes since when pods could be moved, and nobody does."""

    def __init__(self, store: Store, clock: Callable[[], float], evictions: Evictions) -> None:
        self._store = store
        self._clock = clock
        self._evictions = evictions
        self._since: dict[str, float] = {}
        self._next_look = 0.0

    def look(self) -> None:
        now = self._clock()
        if now < self._next_look:
            return
        self._next_look = now + LOOK_SECONDS
        picture, settings = truth(self._store), self._evictions.settings
        affected = picture.affected()
        free = self._evictions.recent < settings.per_minute and not settings.dry_run
        if not free:
            self._since = {}
            return
        going = picture.going(foreign=True)
        curable = {
            uid
            for uid in affected
            if self._is_curable(picture.pods[uid], picture)
            and not self._evictions.holds(going, picture.count, namespace_of(uid, picture))
        }
        self._since = {uid: self._since.get(uid, now) for uid in curable}

    def check(self) -> None:
        """Raise when a pod could have been moved for long."""
        now = self._clock()
        for uid, since in self._since.items():
            if now - since > CURED_SECONDS:
                key = key_of(self._evictions.raws[uid])
                raise BrokenError("violation not cured", f"{key} for {now - since:.0f} s", (key,))

    def _is_curable(self, one: Standing, picture: Picture) -> bool:
        owner = owner_of(one.pod)
        if owner is None or one.going or not picture.has_to_go(one, foreign=False):
            return False
        if self._evictions.missing.hold_up(owner):
            return False
        pods = self._store.all("pods").values()
        return (
            all(_is_settled(each) for each in pods if owner_of(each) == owner)
            and budgets_allow(self._store, one.pod)
            and any(
                name != one.node
                and is_open(node)
                and self._has_room(name, node, one, picture)
                and picture.takes(one, name)
                for name, node in self._store.all("nodes").items()
            )
        )

    @staticmethod
    def _has_room(name: str, node: Json, one: Standing, picture: Picture) -> bool:
        used = sum(milli(each.pod) for each in picture.pods.values() if each.node == name)
        return used + milli(one.pod) <= 1000 * int(node["status"]["allocatable"]["cpu"])


def namespace_of(uid: str, picture: Picture) -> str:
    return str(picture.pods[uid].pod["metadata"]["namespace"])


def _is_settled(pod: Json) -> bool:
    """Tell whether a pod neither waits for a node nor is on its way out, or about to be."""
    going = "deletionTimestamp" in pod["metadata"] or mark_of(pod) is not None
    return bool(pod["spec"].get("nodeName")) and not going
