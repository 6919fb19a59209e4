"""Judges moves for preferred rules, of all replicas together: they tell each other by the Lease.

One that gets the lead waits for `settle` seconds.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from simulation.apiserver.requests import pod_key
from simulation.apiserver.store import Change, Json, Store, is_live
from simulation.invariants.evictions import EVERYBODY, MOMENT, EvictionJudge, leads
from simulation.invariants.execution import Picture, Standing
from simulation.invariants.idle import Known
from simulation.invariants.known import Replica
from simulation.invariants.owners import owner_of
from simulation.invariants.worth import Worth, prefers
from simulation.preferring import STAYS
from simulation.repairing_plan import Repairing

HOUR: Final = 3600.0
MANY: Final = 1 << 30
FIRST_REST_SECONDS: Final = 60.0
KNOWN_SECONDS: Final = 80.0
"""Within which it is known what became of a move: REPLACED_SECONDS, and some."""
MISS: Final = 4
"""How many times longer an owner rests after a move that was for nothing."""
SPARES: Final = {name for each in STAYS for name in each.get("annotations", {})}


@dataclass(slots=True, eq=False)
class Moved:
    at: float
    by: str
    pod: Json
    successors: list[str]
    """Uids of the pods that were made since."""


@dataclass(frozen=True, slots=True)
class Asked:
    """The last eviction of an owner's that a replica has asked for."""

    at: float
    gap: float
    """Seconds since the one before, 0 without one."""
    moves: int
    """How many there were, with this one."""


class Repairs(EvictionJudge):
    """Follows whom an extender moves, how often, and what has become of that."""

    def __init__(
        self,
        store: Store,
        clock: Callable[[], float],
        settings: Repairing,
        living: Callable[[], Sequence[Replica]],
        behind: Callable[[], float],
    ) -> None:
        """`behind` is as for every judge."""
        super().__init__(store, clock, living, behind)
        self.settings = settings
        self._known: dict[str, Known] = {}
        self._led_since = 0.0
        self._hour: deque[tuple[float, str]] = deque()
        """When and in which namespace pods were moved in the last hour."""
        self._begun: deque[tuple[float, str]] = deque()
        """Likewise those that were asked for: what becomes of some, their replica does not know."""
        self._most_pods: deque[tuple[float, int]] = deque()
        self._last: dict[str, Moved] = {}
        self._asked: dict[str, Asked] = {}
        store.observers.append(self._take)

    def look(self) -> None:
        if self.broken:
            raise self.broken[0]
        now = self._clock()
        self.missing.look()
        for replica in self._living():
            known = self._known.setdefault(replica.name, Known(now - 1.0))
            if replica.awake:
                known.look(replica, self.raws, self.settings.min_gain, now)

    # What is sent

    def note_begun(self, by: str, method: str, path: str, body: bytes) -> None:
        sent, now = self._sent(by, method, path, body), self._clock()
        if sent is None:
            return
        self.counts["moves sent"] += 1
        replica, _, picture, one = sent
        if one is None:
            self._break("moved without a gain", f"{pod_key(path)}, which is on no node")
            return
        if by in self._known:
            # What ended since the last look, the replica may have seen.
            self._known[by].look(replica, self.raws, self.settings.min_gain, now)
        self._note_asked(owner_of(one.pod) or "", now)
        self._begun.append((now, one.pod["metadata"]["namespace"]))
        self._judge(one, by, self._faults(one, picture, by, now))

    def _note_asked(self, owner: str, now: float) -> None:
        before = self._asked.get(owner)
        gap, moves = (0.0, 0) if before is None else (now - before.at, before.moves)
        self._asked[owner] = Asked(now, gap, moves + 1)

    def _faults(
        self, one: Standing, picture: Picture, by: str, now: float
    ) -> Iterator[tuple[str, bool]]:
        """Yield what may be wrong with a move, and whether it is, by what a replica knows."""
        yield "moved though it has to stay", stays(one.pod)
        better = Worth(picture).better(one, self.settings.min_gain)
        yield "moved without a gain", not better
        fits = self.rooms.somewhere(one, picture, self._behind(), among=better)
        yield "moved with nowhere to go", not fits
        known, owner = self._known.get(by), owner_of(one.pod) or ""
        if known is not None:
            early = known.needy_for(owner, now) < self.settings.settle - MOMENT
            yield "moved before it settled", early
            yield "two pods of an owner", known.unsettled(owner, now)

    # What is carried out

    def _take(self, change: Change) -> None:
        new, old = change.new, change.old
        if change.resource == "leases" and new is not None and leads(change):
            self._take_lease(change.by if new["spec"]["holderIdentity"] else None)
        if change.resource != "pods" or new is None:
            return
        if "nodeName" in new["spec"] and (old is None or "nodeName" not in old["spec"]):
            self._note_size()
        if old is None:
            last = self._last.get(owner_of(new) or "")
            if last is not None:
                last.successors.append(new["metadata"]["uid"])
        by = self._evicted_by(new, change)
        if by is not None:
            self._take_move(by, change.key, new)

    def _take_lease(self, holder: str | None) -> None:
        if holder is not None and holder != self._holder:
            self.counts["handovers"] += self._holder is not None
            self._led_since = self._clock()
        self._holder = holder

    def _note_size(self) -> None:
        now, pods = self._clock(), self._pods
        self._most_pods.append((now, pods))
        while self._most_pods[0][0] < now - HOUR:
            self._most_pods.popleft()

    def _take_move(self, by: str, key: str, pod: Json) -> None:
        now, owner = self._clock(), owner_of(pod) or ""
        self.counts["moved"] += 1
        for name, about in self._limits(by, owner, pod, now):
            self._break(name, f"{key}: {about}", key)
        self._owners.begin(pod, by, late=False)
        self._last[owner] = Moved(now, by, pod, [])

    def _limits(self, by: str, owner: str, pod: Json, now: float) -> Iterator[tuple[str, str]]:
        """Yield the limits to which a move has not kept."""
        settings = self.settings
        if self._holder != by:
            yield "two replicas evict", f"by {by}, {self._holder} leads"
        self._times.append(now)
        if self.recent > self._most_in_a_minute:
            yield "too many evictions in a minute", f"number {self.recent}"
        space = pod["metadata"]["namespace"]
        self._hour.append((now, space))
        while self._hour[0][0] <= now - HOUR:
            self._hour.popleft()
        most = self._share(max((pods for _, pods in self._most_pods), default=0))
        all_, own = self._number(self._hour, space)
        if all_ > most or own > (most + 1) // 2:
            yield "too many moves in an hour", f"number {all_} of {most}, {own} of its namespace"
        busy = self._owners.busy(pod, by)
        if busy is not None:
            yield "two pods of an owner", f"while {busy}"
        if now - self._led_since < settings.settle - MOMENT:
            yield (
                "moved before it settled",
                f"{now - self._led_since:.1f} s after the lead was taken",
            )
        last = self._last.get(owner)
        if last is not None:
            missed = self._missed(last)
            self.counts["missed"] += missed
            rest = settings.rest * (MISS if missed else 1)
            if now - last.at < rest - MOMENT:
                yield "moved before it rested", f"{now - last.at:.1f} s after the last one"

    @property
    def _most_in_a_minute(self) -> int:
        return max(1, self.settings.per_minute // 2)

    @property
    def _pods(self) -> int:
        pods = self._store.all("pods").values()
        return sum(is_live(each) and "nodeName" in each["spec"] for each in pods)

    def _share(self, pods: int) -> int:
        percent = self.settings.percent
        return MANY if percent == EVERYBODY else max(1, pods * percent // 100)

    def _missed(self, last: Moved) -> bool:
        """Return whether a move came to nothing: its only successor is in its place."""
        if len(last.successors) != 1:
            return False
        there = self.raws[last.successors[0]]
        same = there["spec"].get("nodeName") == last.pod["spec"]["nodeName"]
        return same and last.pod["spec"]["nodeName"] in self._store.all("nodes")

    # For who is left

    def enough(self, owner: str) -> bool:
        """Return whether there have been as many moves as there may be for now."""
        if self.recent >= self._most_in_a_minute:
            return True
        all_, own = self._number(self._begun, owner.partition("/")[0])
        most = self._share(self._pods)
        return all_ >= most or own >= (most + 1) // 2

    def _number(self, moves: Iterable[tuple[float, str]], space: str) -> tuple[int, int]:
        """Return how many pods were moved in the last hour, and of those of a namespace."""
        now = self._clock()
        recent = [each for at, each in moves if at > now - HOUR]
        return len(recent), recent.count(space)

    def rests_until(self, owner: str) -> float:
        """Return until when an owner may rest at most: each of its moves may have missed.

        That is known soon after the last of its pods has come, gone or become ready.
        """
        asked = self._asked.get(owner)
        if asked is None:
            return 0.0
        rest = max(self.settings.rest, FIRST_REST_SECONDS) * float(MISS**asked.moves)
        return max(asked.at, self.missing.changed(owner)) + KNOWN_SECONDS + rest

    def has_missed(self, owner: str) -> bool:
        """Return whether an owner had to rest as after a miss before its last move."""
        asked = self._asked.get(owner)
        return asked is not None and asked.gap >= MISS * self.settings.rest

    def last_moves(self) -> list[tuple[str, float]]:
        """Return when a pod of each owner was moved last."""
        return [(owner, last.at) for owner, last in self._last.items()]


def stays(pod: Json) -> bool:
    """Tell whether a pod is not to be moved, or prefers nothing."""
    metadata = pod["metadata"]
    owners = [each for each in metadata.get("ownerReferences", ()) if each.get("controller")]
    return (
        not prefers(pod)
        or not owners
        or owners[0]["kind"] in {"Job", "DaemonSet"}
        or bool(SPARES & metadata.get("annotations", {}).keys())
        or bool(pod["spec"].get("volumes"))
    )
