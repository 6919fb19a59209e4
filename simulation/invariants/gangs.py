"""Whether gangs are bound as a whole: in part for long only with a cause outside the extender."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final

from simulation.apiserver.store import RESTORE, Change, Json, Store, is_live
from simulation.invariants.broken import BrokenError
from simulation.invariants.writers import is_extender

PATIENCE_SECONDS: Final = 1.0
"""The binds of a gang are decided in one step, and sent at once: that takes a moment."""
BEFORE_SECONDS: Final = 6.0
"""A bind is decided up to 4 s before it is carried out."""


@dataclass(slots=True, eq=False)
class _Gang:
    least: int
    bound: set[str] = field(default_factory=set)
    """Uids of its members that are on nodes."""
    begun: float = 0.0
    """When the first of them was bound."""
    whole: bool = False
    excused: bool = False
    """Whether there is a cause outside: for what it has led to as well."""


class Gangs:
    """Follows each gang until as many members as it needs are bound; what comes then is no matter.

    `counts` are of gangs that were whole, and of those that were bound in part for long.
    """

    def __init__(self, store: Store, clock: Callable[[], float]) -> None:
        self.counts: Counter[str] = Counter()
        self._clock = clock
        self._gangs: dict[str, _Gang] = {}
        self._in_part: set[str] = set()
        self._disturbed = -BEFORE_SECONDS
        """When something has changed that decides where pods may be."""
        store.observers.append(self._take)

    def look(self, undisturbed: float) -> None:
        """Raise when a gang was in part for long; `undisturbed` is since when nothing was wrong."""
        for key in sorted(self._in_part):
            gang = self._gangs[key]
            last = max(self._disturbed, undisturbed)
            gang.excused |= last > gang.begun - BEFORE_SECONDS
            lasting = self._clock() - gang.begun
            if lasting > PATIENCE_SECONDS and not gang.excused:
                about = f"{key}: {len(gang.bound)} of {gang.least} for {lasting:.1f} s"
                raise BrokenError("gang bound in part", about, (key,))

    def _take(self, change: Change) -> None:
        match change.resource:
            case "podgroups" if change.old is None and change.new is not None:
                policy = change.new["spec"]["schedulingPolicy"]
                if "gang" in policy:
                    excused = change.by == RESTORE
                    self._gangs[change.key] = _Gang(policy["gang"]["minCount"], excused=excused)
            case "podgroups" if change.new is None and change.key in self._gangs:
                gang = self._gangs.pop(change.key)
                if not gang.whole:
                    self._count(change.key, gang)
            case "nodes" | "namespaces" | "resourcequotas":
                self._disturbed = self._clock()
            case "pods":
                self._take_pod(change)

    def _take_pod(self, change: Change) -> None:
        pod = change.new or change.old or {}
        name = pod["spec"].get("schedulingGroup", {}).get("podGroupName")
        key = f"{pod['metadata']['namespace']}/{name}"
        gang = self._gangs.get(key)
        if gang is None or gang.whole:
            return
        uid = pod["metadata"]["uid"]
        if change.new is None or _is_ending(pod):
            gang.bound.discard(uid)
            gang.excused = True
        elif pod["spec"].get("nodeName") and uid not in gang.bound:
            gang.excused |= not is_extender(change.by)
            if not gang.bound:
                gang.begun = self._clock()
            gang.bound.add(uid)
        if len(gang.bound) >= gang.least:
            gang.whole = True
            self._count(key, gang)
        elif gang.bound:
            self._in_part.add(key)
        else:
            self._in_part.discard(key)

    def _count(self, key: str, gang: _Gang) -> None:
        """Count a gang that is whole, or is gone."""
        self.counts["whole"] += gang.whole
        if key in self._in_part:
            self._in_part.remove(key)
            self.counts["in part"] += self._clock() - gang.begun > PATIENCE_SECONDS


def _is_ending(pod: Json) -> bool:
    return "deletionTimestamp" in pod["metadata"] or not is_live(pod)
