"""What one replica of the extender has known of the owners of pods, second by second."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Final

from simulation.apiserver.store import Json
from simulation.invariants.known import Replica, mirror
from simulation.invariants.owners import owner_of
from simulation.invariants.worth import Worth

ROUND_SECONDS: Final = 10.0
"""Within which a replica looks at all pods, or at one of them for the last time before it goes."""


class Known:
    """Looked at every second; what lasts for a round the program has seen."""

    def __init__(self, began: float) -> None:
        self._began = began
        self._version: object = None
        self._needy: Collection[str | None] = ()
        self._unsettled: Collection[str | None] = ()
        self._idle_since: dict[str, float] = {}
        self._idle_last: dict[str, float] = {}
        self._unsettled_since: dict[str, float] = {}

    def look(self, replica: Replica, raws: Mapping[str, Json], margin: int, now: float) -> None:
        """Take down whose pods sit worse than they have to, as the replica knows it."""
        if replica.state.version != self._version:
            self._version = replica.state.version
            picture = mirror(replica.state, raws)
            worth = Worth(picture)
            pods = picture.pods.values()
            self._needy = {owner_of(each.pod) for each in pods if worth.better(each, margin)}
            reserved = {each.pod.uid for each in replica.state.reservations}
            self._unsettled = {
                owner_of(raws[each.uid])
                for each in replica.state.pods.values()
                if each.uid in raws
                and not each.status.terminal
                and (each.status.deleting or (each.node is None and each.uid not in reserved))
            }
        for owner in {owner_of(each) or "" for each in raws.values()}:
            if owner in self._needy:
                self._idle_since.pop(owner, None)
            elif now - self._idle_since.setdefault(owner, now) >= ROUND_SECONDS:
                self._idle_last[owner] = now
            if owner in self._unsettled:
                self._unsettled_since.setdefault(owner, now)
            else:
                self._unsettled_since.pop(owner, None)

    def needy_for(self, owner: str, now: float) -> float:
        """Return for how many seconds an owner may have been known to need a move, at most."""
        return now - self._idle_last.get(owner, self._began) + ROUND_SECONDS + 1.0

    def unsettled(self, owner: str, now: float) -> bool:
        """Return whether a pod of an owner has certainly been known to leave or to wait."""
        return now - self._unsettled_since.get(owner, now) > ROUND_SECONDS
