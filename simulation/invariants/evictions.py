"""Judges evictions, those by rules that hold during execution: when sent, and when carried out.

What a replica decides is judged by all that its watches have shown it, at the moment at which it
sends the request: nobody can know more. How many are evicted, how many of an owner at a time, and
by whom, is judged when the API server carries that out, in its order. One that it carries out
although the replica has stopped waiting for it is nobody's fault, and is not counted.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Final, TypeAlias

import msgspec

from simulation.apiserver.requests import EVICTS, pod_key
from simulation.apiserver.store import Change, Json, Store, key_of
from simulation.evicting_plan import Evicting
from simulation.invariants.broken import BrokenError
from simulation.invariants.execution import Picture, Standing
from simulation.invariants.known import Knowledge, Replica, mirror, truth
from simulation.invariants.missing import Missing
from simulation.invariants.owners import Owners, owner_of
from simulation.invariants.rooms import Rooms
from simulation.invariants.writers import is_extender

ACKNOWLEDGED: Final = "affinity-extender.io/acknowledged-violations"
WAITED_SECONDS: Final = 5.2
"""A replica gives up an eviction after 5 s."""
MINUTE: Final = 60.0
EVERYBODY: Final = 100
"""Percent of pods of which no number is too many."""
OVER_SECONDS: Final = 1.5
"""Within which a replica notices that too many are affected."""
HEARD_SECONDS: Final = 30.0
"""Within which it hears what somebody has acknowledged."""
SLACK_SECONDS: Final = 6.0
"""Between what is decided and what is carried out, beside all that watches have not shown."""
MOMENT: Final = 0.001

Sent: TypeAlias = tuple[Replica, bool, Picture, Standing | None]
"""Who sends an eviction, whether as a dry run, the cluster as it knows that, and the pod there."""


class EvictionJudge:
    def __init__(
        self,
        store: Store,
        clock: Callable[[], float],
        living: Callable[[], Sequence[Replica]],
        behind: Callable[[], float],
    ) -> None:
        """`behind` says for how long watches may have shown nothing, at most."""
        self.counts: Counter[str] = Counter()
        self.broken: list[BrokenError] = []
        self.raws: dict[str, Json] = {}
        """All pods there were, by uid."""
        self._store = store
        self._clock = clock
        self._living = living
        self._behind = behind
        self._times: deque[float] = deque()
        self._owners = Owners(store, clock)
        self.rooms = Rooms(store, clock)
        self.missing = Missing(store, clock, behind)
        self._holder: str | None = None

    @property
    def recent(self) -> int:
        """Return how many were carried out within the last minute."""
        now = self._clock()
        while self._times and self._times[0] <= now - MINUTE:
            self._times.popleft()
        return len(self._times)

    def _sent(self, by: str, method: str, path: str, body: bytes) -> Sent | None:
        """Return an eviction that a replica sends, None for any other request."""
        if method != "POST" or not path.endswith("/eviction"):
            return None
        options: Any = msgspec.json.decode(body).get("deleteOptions", {})
        replica = next((each for each in self._living() if each.name == by), None)
        if replica is None:
            return None
        picture = mirror(replica.state, self.raws)
        one = picture.pods.get(options.get("preconditions", {}).get("uid", ""))
        return replica, bool(options.get("dryRun")), picture, one

    def _judge(self, one: Standing, by: str, faults: Iterator[tuple[str, bool]]) -> None:
        """Take down the first thing that is wrong with an eviction."""
        why = next((name for name, wrong in faults if wrong), None)
        if why is not None:
            self._break(why, f"{key_of(one.pod)} on {one.node} by {by}", key_of(one.pod))

    def _evicted_by(self, pod: Json, change: Change) -> str | None:
        """Take down a pod; return the extender by whose eviction, in time, it begins to go."""
        self.raws[pod["metadata"]["uid"]] = pod
        was_going = change.old is not None and "deletionTimestamp" in change.old["metadata"]
        by, evicts, made = change.by.partition(EVICTS)
        if "deletionTimestamp" not in pod["metadata"] or was_going:
            return None
        if not evicts or not is_extender(by):
            return None
        if self._clock() - float(made) > WAITED_SECONDS:
            self.counts["late"] += 1
            self._owners.begin(pod, by, late=True)
            self.missing.forget(pod)
            return None
        old = change.old or pod
        for name, about in self.missing.faults(pod, old):
            self._break(name, f"{change.key}: {about}", change.key)
        self.missing.begin(pod, old)
        return by

    def _break(self, name: str, about: str, *words: str) -> None:
        self.broken.append(BrokenError(name, about, words))


class Evictions(EvictionJudge):
    """Follows who breaks a rule, and whom an extender evicts for that."""

    def __init__(
        self,
        store: Store,
        clock: Callable[[], float],
        settings: Evicting,
        living: Callable[[], Sequence[Replica]],
        behind: Callable[[], float],
    ) -> None:
        """`behind` is as for every judge."""
        super().__init__(store, clock, living, behind)
        self.settings = settings
        self._knowledge: dict[str, Knowledge] = {}
        self._acknowledged: deque[tuple[float, int]] = deque([(0.0, 0)])
        self._truly: dict[str, float] = {}
        """Until when each pod has truly broken a rule that does not any more."""
        self._affected: set[str] = set()
        """Those that truly break a rule now."""
        store.observers.append(self._take)

    def holds(self, going: Mapping[str, int], pods: int, space: str) -> bool:
        """Return whether evictions in a namespace stand still, by all that replicas have heard.

        With more than half of what may go a namespace does by itself, and all that do so count as
        half then.
        """
        now = self._clock()
        while len(self._acknowledged) > 1 and self._acknowledged[1][0] < now - HEARD_SECONDS:
            self._acknowledged.popleft()
        if self.settings.percent == EVERYBODY:
            return False
        most = max(1, pods * self.settings.percent // 100)
        fine = max(number for _, number in self._acknowledged)
        over = {each for each, number in going.items() if number > max((most + 1) // 2, fine)}
        total = sum(number for each, number in going.items() if each not in over)
        total += most // 2 if over else 0
        return space in over or total > max(most, fine)

    def look(self) -> None:
        """Take down what is broken, and what each replica knows of that."""
        if self.broken:
            raise self.broken[0]
        now = self._clock()
        self.missing.look()
        for replica in self._living():
            known = self._knowledge.setdefault(replica.name, Knowledge(now - 1.0))
            if replica.awake:
                known.look(replica.state, self.raws, self.holds, now)

    # What is sent

    def note_begun(self, by: str, method: str, path: str, body: bytes) -> None:
        sent, now = self._sent(by, method, path, body), self._clock()
        if sent is None:
            return
        _, dry, picture, one = sent
        self.counts["dry" if dry else "sent"] += 1
        if dry is not self.settings.dry_run:
            self._break("evicted in a dry run", pod_key(path))
        if one is None:
            self._break("evicted without a cause", f"{pod_key(path)}, which is on no node")
            return
        known = self._knowledge.get(by) or Knowledge(now - self.settings.grace)
        self._judge(one, by, self._faults(one, picture, known, now))

    def _faults(
        self, one: Standing, picture: Picture, known: Knowledge, now: float
    ) -> Iterator[tuple[str, bool]]:
        """Yield what may be wrong with an eviction, and whether it is, by what a replica knows."""
        yield "evicted without a controller", owner_of(one.pod) is None
        yield "evicted without a cause", not picture.broken(one)
        yield "evicted in the place of others", not picture.has_to_go(one)
        lasts = known.broken_for(one.uid, now)
        yield "evicted within the grace period", lasts < self.settings.grace - MOMENT
        space = one.pod["metadata"]["namespace"]
        over = now - known.over.get(space, now) > OVER_SECONDS
        too_many = over and self.holds(picture.going(foreign=False), picture.count, space)
        yield "evicted while paused", too_many
        yield "evicted with nowhere to go", not self.rooms.somewhere(one, picture, self._behind())

    # What is carried out

    def _take(self, change: Change) -> None:
        new = change.new
        if change.resource == "leases":
            self._take_lease(change)
            return
        if _may_break(change):
            self._truly.update(dict.fromkeys(self._affected, self._clock()))
            self._affected = truth(self._store).affected()
        if change.resource != "pods" or new is None:
            return
        by = self._evicted_by(new, change)
        if by is not None:
            self._take_eviction(by, change.key, new)

    def _take_lease(self, change: Change) -> None:
        if change.new is None:
            return
        annotations = change.new["metadata"].get("annotations", {})
        number = int(annotations.get(ACKNOWLEDGED, "0"))
        if number != self._acknowledged[-1][1]:
            self._acknowledged.append((self._clock(), number))
        if leads(change):
            held = bool(change.new["spec"]["holderIdentity"])
            if held and self._holder not in {None, change.by}:
                self.counts["handovers"] += 1
            self._holder = change.by if held else None

    def _take_eviction(self, by: str, key: str, pod: Json) -> None:
        uid, now = pod["metadata"]["uid"], self._clock()
        self.counts["evicted"] += 1
        if uid not in self._affected:
            since = now - self._truly.get(uid, -HEARD_SECONDS)
            if since > self._behind() + SLACK_SECONDS:
                self._break("evicted without a cause", f"{key}, for {since:.1f} s", key)
        if self._holder != by:
            self._break("two replicas evict", f"{key} by {by}, {self._holder} leads", key)
        self._times.append(now)
        if self.recent > self.settings.per_minute:
            about = f"{key} is number {self.recent} of {self.settings.per_minute}"
            self._break("too many evictions in a minute", about, key)
        busy = self._owners.busy(pod, by)
        if busy is not None:
            self._break("two pods of an owner", f"{key} while {busy}", key)
        self._owners.begin(pod, by, late=False)


def leads(change: Change) -> bool:
    """Tell whether an extender writes of a Lease who leads, and not only a note beside that."""
    old, new = change.old, change.new
    return is_extender(change.by) and (old is None or new is None or old["spec"] != new["spec"])


def _may_break(change: Change) -> bool:
    """Tell whether a write may break or mend rules: of labels, or of where pods are."""
    old, new = change.old, change.new
    if old is None or new is None or change.resource != "pods":
        return change.resource in {"nodes", "namespaces", "pods"}
    return bool(old["spec"].get("nodeName") != new["spec"].get("nodeName"))
