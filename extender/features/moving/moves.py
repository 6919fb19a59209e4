"""What becomes of each pod that is evicted for its rules: one record for all who evict.

A move of a controller's pod::

    leaving --another has a node--> starting --gone, ready for PROVEN_SECONDS--> landed
       |                               |                                           |
       | 60 s after it was gone,       | 600 s                          gone within an hour
       | or 600 s if it is not         |                                           |
       +--> not replaced               +--> not ready                              +--> undone

While a move is open, no other pod of that controller goes. A move that did not land, landed no
better or was undone is a miss: the controller rests, MISS times longer after each. If a pod was not
replaced, or its successor is not ready, the controller is owed one: none of its pods goes until as
many are ready as were before. So no controller lacks two pods because of us, even if the first was
evicted by an earlier leader: what has to be remembered is written beside the Lease.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from enum import Enum
from typing import Final, NamedTuple

from extender.core.cluster.ledgers.reservations import RESERVATION_SECONDS
from extender.core.controllers.history import HOUR
from extender.core.model.keys import Key, key_of, name_of
from extender.core.model.objects import Controller, Pod
from extender.core.timing import LONGEST_PAUSE_SECONDS, Pause
from extender.core.verbs.nominating import ExpectedPlacement
from extender.features.moving.failed_moves import SOON_SECONDS, FailedMoves
from extender.features.moving.limits import LastHour
from extender.features.moving.rules.books import Books
from extender.features.moving.rules.evicting import Outcome
from extender.features.moving.rules.successors import Succession
from extender.features.moving.written import WrittenController, WrittenMoves

LATE_SECONDS: Final = RESERVATION_SECONDS
"""How long an eviction without an answer may yet be carried out: as long as a Binding."""
REPLACED_SECONDS: Final = 60.0
"""How long the controller and the scheduler may take to replace a pod that is gone."""
READY_SECONDS: Final = 600.0
"""How long a successor may take to be ready, and a pod to go: a Deployment's default
progressDeadlineSeconds, after which its owner hears that it is stuck."""
PROVEN_SECONDS: Final = 10.0
"""For how long a successor has to be ready: the default period of a probe. By then a container that
fails as it starts, or at its first liveness probe, is ready no more."""
KEPT_SECONDS: Final = HOUR
"""For how long it is watched whether a successor is undone. A consolidating autoscaler waits ten
minutes after it has added a node, and ten more until it takes away one that is not needed."""
DAY: Final = 86_400.0
"""The longest rest. What a controller owes is forgotten after it: it was scaled down."""
FIRST_REST_SECONDS: Final = 60.0
MISS: Final = 4
"""How many times longer a controller rests after each miss: what misses always does so six times on
the first day, and once a day then."""
MOST_MISSES: Final = 20
"""That are counted: more make no difference, and a power of them would be no number."""
MOST_LANDED: Final = 8
"""Successors of one controller that are watched."""
FIRST_PAUSE_SECONDS: Final = 10.0
"""After a disruption budget has refused, likewise after other reasons for a pod to stay."""


class End(Enum):
    """What has become of a move: for people, and whether it is a miss."""

    LANDED = "landed", False
    WORSE = "its successor found no better place", True
    NOT_REPLACED = "not replaced: no other pod of its controller got a node", True
    NOT_READY = "its successor is not ready", True
    UNDONE = "its successor was gone soon after it was ready", True

    words: str
    misses: bool

    def __init__(self, words: str, misses: bool) -> None:  # noqa: FBT001 - a column of the table
        self.words, self.misses = words, misses


@dataclass(slots=True, eq=False)
class Move:
    """A pod that is evicted, until it is known what has become of that."""

    pod: Pod
    target: str
    """The node that was found for its replacement."""
    succession: Succession
    began: float
    placed: int
    """Pods of its controller that had a node, and are not on their way out."""
    ready: int
    """Pods of its controller that are ready, once this one is replaced."""
    rest: float
    """Seconds of rest when it has landed."""
    ended: Callable[[Move, End], None]
    landed: Callable[[Move], bool]
    """Whether the successor, once it is ready, sits as well as it was to."""
    asked_at: float | None = None
    """When the API server had answered, or was given up; until then it may do it at any moment."""
    carried_out: bool = False
    """Whether the API server has said so; else the watch has to show it."""
    gone_at: float | None = None
    placed_at: float | None = None
    ready_at: float | None = None


@dataclass(slots=True, eq=False)
class _Landed:
    key: Key
    until: float
    move: Move | None
    """None if another process has made it."""


@dataclass(slots=True, eq=False)
class _Past:
    misses: int = 0
    missed_at: float = -DAY
    rests_until: float = 0.0
    owed: int = 0
    """How many of its pods have to be ready; 0 for no matter."""
    forgiven_at: float = 0.0
    landed: dict[str, _Landed] = field(default_factory=dict)
    """The latest successors, by uid."""

    def is_over(self, now: float) -> bool:
        """Return whether nothing of it matters any more.

        Misses do for as long again as the longest rest, or the next rest would be the first again.
        """
        owes = self.owed and now < self.forgiven_at
        until = self.rests_until + (DAY if self.misses else 0.0)
        return not (owes or self.landed or now < until)


class Refusal(NamedTuple):
    """Why no pod of a controller is moved now, and for how many seconds, if that can be told."""

    outcome: Outcome
    rest: float | None = None


class Moves:
    """The moves of all controllers, those that are open and what came of others; O(1) to ask."""

    def __init__(
        self,
        books: Books,
        clock: Callable[[], float],
        per_minute: int,
        *,
        dry_run: bool = False,
    ) -> None:
        """In a `dry_run` no successor is expected."""
        self._books, self._state = books, books.state
        self._dry_run = dry_run
        self._clock = clock
        self._open: dict[Controller, Move] = {}
        self._past: dict[Controller, _Past] = {}
        self._inherited: dict[Controller, float] = {}
        """The moves that another leader began, and until when a successor may come to be ready."""
        self._pauses: dict[Controller, Pause] = {}
        self.hour: Final = LastHour(clock, per_minute)
        """The moves for preferred rules."""
        self.failed: Final = FailedMoves(clock)
        self._late: Counter[str] = Counter()
        """The successors that take long to be ready, by namespace: they may turn out to fail."""

    def __len__(self) -> int:
        return len(self._open)

    # Before a move

    def refusal(self, owner: Controller) -> Refusal | None:
        """Say why no pod of a controller may go now; None: one may."""
        self._look_at(owner)
        if owner in self._open or self._books.watch.owned.unsettled(owner):
            return Refusal(Outcome.OWNER_BUSY)
        now, past = self._clock(), self._past.get(owner)
        if past is not None and self._owes(owner, past):
            return Refusal(Outcome.NOT_REPLACED, SOON_SECONDS)
        if past is not None and past.rests_until > now:
            return Refusal(Outcome.RESTS, past.rests_until - now)
        pause = self._pauses.get(owner)
        if pause is not None and (rest := pause.rest(now)):
            return Refusal(Outcome.BUDGET, rest)
        stopped = self.failed.stops(owner.namespace, self._late)
        return None if stopped is None else Refusal(Outcome.STOPPED, stopped)

    def _owes(self, owner: Controller, past: _Past) -> bool:
        owned, now = self._books.watch.owned, self._clock()
        if past.owed and (owned.ready(owner) >= past.owed or now >= past.forgiven_at):
            past.owed = 0
            past.rests_until = max(past.rests_until, now + PROVEN_SECONDS)
        return past.owed > 0

    def unplaced(self, namespace: str) -> Iterator[Pod]:
        """Yield pods on the move whose successors have no node yet, for a minute at most."""
        now = self._clock()
        for owner, move in self._open.items():
            late = now - move.began >= REPLACED_SECONDS
            if owner.namespace == namespace and move.placed_at is None and not late:
                yield move.pod

    def placements(self) -> list[ExpectedPlacement]:
        self.look()
        return [
            ExpectedPlacement(move.pod, move.target)
            for move in self._open.values()
            if move.placed_at is None
        ]

    # A move

    def begin(
        self,
        pod: Pod,
        target: str,
        *,
        rest: float = 0.0,
        steered: bool = False,
        ended: Callable[[Move, End], None],
        landed: Callable[[Move], bool] = lambda _: True,
    ) -> Move | None:
        """Note that a pod goes; None when none of its controller may any more.

        Nothing is awaited between the two, so of those who evict one alone can begin. A successor
        that is `steered` is scored for the sake of its preferred rules.
        """
        owner = pod.controller
        if owner is None or self.refusal(owner) is not None:
            return None
        owned = self._books.watch.owned
        others = owned.ready(owner) - pod.status.ready
        move = self._open[owner] = Move(
            pod,
            target,
            self._expect(pod, steered=steered),
            self._clock(),
            owned.placed(owner),
            others + 1,
            rest,
            ended,
            landed,
        )
        return move

    def _expect(self, pod: Pod, *, steered: bool) -> Succession:
        return (
            Succession(pod)
            if self._dry_run
            else self._books.successors.expect(pod, steered=steered)
        )

    def settle(self, owner: Controller, *, kept: bool) -> None:
        """Note that nothing is asked any more; unless the move is `kept`, the pod does not go."""
        move = self._open.get(owner)
        if not kept:
            self._drop(owner)
        elif move is not None:
            move.asked_at = self._clock()
            self.failed.tried(self._late)

    def _drop(self, owner: Controller) -> None:
        if self._open.pop(owner, None) is not None and not self._dry_run:
            self._books.successors.end(owner)

    def carry_out(self, owner: Controller) -> None:
        """Note that the API server has evicted a pod, whatever the watch shows yet."""
        move = self._open.get(owner)
        if move is not None:
            move.carried_out = True

    def pause(self, owner: Controller, at_least: float) -> None:
        """Leave the pods of a controller alone for a while: a budget protects them."""
        pause = self._pauses.setdefault(owner, Pause(FIRST_PAUSE_SECONDS))
        pause.begin(self._clock(), at_least)

    def pardon(self, owner: Controller) -> None:
        """Note that a budget let a pod of a controller go."""
        self._pauses.pop(owner, None)

    # What becomes of it

    def look(self) -> None:
        """See what has become of every move; O(moves of the last hour)."""
        now = self._clock()
        for owner in list(self._open):
            self._look_at(owner)
        self._late = Counter(
            owner.namespace
            for owner, move in self._open.items()
            if move.placed_at is not None
            and move.ready_at is None
            and now - move.placed_at > REPLACED_SECONDS
        )
        self._look_at_inherited(now)
        for owner, past in list(self._past.items()):
            self._look_back(past)
            if past.is_over(now):
                del self._past[owner]
        for owner, pause in list(self._pauses.items()):
            if now - pause.until > LONGEST_PAUSE_SECONDS:
                del self._pauses[owner]

    def _look_at_inherited(self, now: float) -> None:
        """See whether what other leaders moved was replaced; until that is so, it is late."""
        for owner, until in list(self._inherited.items()):
            past = self._past.get(owner)
            if past is None or not self._owes(owner, past):
                del self._inherited[owner]
            elif now >= until:
                del self._inherited[owner]
                self.failed.failed(owner.namespace)
        self._late.update(owner.namespace for owner in self._inherited)

    def _look_at(self, owner: Controller) -> None:
        move, now = self._open.get(owner), self._clock()
        if move is None or move.asked_at is None:
            return
        pod = self._state.pod(move.pod.key, move.pod.uid)
        if pod is not None and not pod.status.deleting:
            patience = READY_SECONDS if move.carried_out else LATE_SECONDS
            if now - move.asked_at >= patience:
                self._drop(owner)
            return
        if pod is None and move.gone_at is None:
            move.gone_at = now
        if move.placed_at is None:
            self._look_for_successor(owner, move)
        else:
            self._look_at_start(owner, move)

    def _look_for_successor(self, owner: Controller, move: Move) -> None:
        """Most controllers make another pod as soon as one is on its way out, which may be long."""
        now, asked_at = self._clock(), move.asked_at or 0.0
        seen = self._successor(move)
        over = asked_at + READY_SECONDS if move.gone_at is None else move.gone_at + REPLACED_SECONDS
        if (seen is not None and seen.node is not None) or (
            self._books.watch.owned.placed(owner) >= move.placed
        ):
            move.placed_at = now
            self._look_at_start(owner, move)
        elif now >= over:
            self._end(owner, move, End.NOT_REPLACED)

    def _look_at_start(self, owner: Controller, move: Move) -> None:
        now, started = self._clock(), move.placed_at or 0.0
        if not self._is_ready(owner, move):
            move.ready_at = None
            if now - started >= READY_SECONDS:
                self._end(owner, move, End.NOT_READY)
            return
        if move.ready_at is None:
            move.ready_at = now
        # While the pod itself is there, it counts for what its successor's place is worth.
        if move.gone_at is not None and now - move.ready_at >= PROVEN_SECONDS:
            self._end(owner, move, End.LANDED if move.landed(move) else End.WORSE)

    def _successor(self, move: Move) -> Pod | None:
        seen = move.succession.successor
        known = None if seen is None else self._state.pod(seen.key, seen.uid)
        if known is None:
            # If it is gone again, the next one that its controller makes is waited for.
            move.succession.successor = None
        return known

    def _is_ready(self, owner: Controller, move: Move) -> bool:
        known = self._successor(move)
        if known is not None and known.status.ready and not known.status.deleting:
            return True
        return self._books.watch.owned.ready(owner) >= move.ready

    def _look_back(self, past: _Past) -> None:
        now = self._clock()
        for uid, each in list(past.landed.items()):
            known = self._state.pod(each.key, uid)
            if now >= each.until:
                del past.landed[uid]
                if now - past.missed_at >= KEPT_SECONDS:
                    past.misses = 0
            elif known is None or known.status.deleting:
                del past.landed[uid]
                # Of several that go at once, one is a miss.
                if past.rests_until <= now or past.missed_at < each.until - KEPT_SECONDS:
                    self._miss(past, 0.0 if each.move is None else each.move.rest)
                    if each.move is not None:
                        each.move.ended(each.move, End.UNDONE)

    def _end(self, owner: Controller, move: Move, end: End) -> None:
        self._drop(owner)
        now, past = self._clock(), self._past.setdefault(owner, _Past())
        if end is End.LANDED:
            past.rests_until = now + move.rest
        else:
            self._miss(past, move.rest)
        if end in {End.LANDED, End.WORSE}:
            self.failed.succeeded(owner.namespace, self._late)
        else:
            self.failed.failed(owner.namespace)
            past.owed, past.forgiven_at = move.ready, now + DAY
        seen = move.succession.successor
        if end is End.LANDED and seen is not None:
            past.landed[seen.uid] = _Landed(seen.key, now + KEPT_SECONDS, move)
            while len(past.landed) > MOST_LANDED:
                del past.landed[next(iter(past.landed))]
        move.ended(move, end)

    def _miss(self, past: _Past, rest: float) -> None:
        past.misses, past.missed_at = min(past.misses + 1, MOST_MISSES), self._clock()
        seconds = (rest or FIRST_REST_SECONDS) * MISS**past.misses
        past.rests_until = self._clock() + min(seconds, DAY)

    # For the next leader

    def written(self, minute: int) -> WrittenMoves:
        """Return what the next leader has to know; `minute` are the evictions of the last one."""
        now = self._clock()
        newest = sorted(
            {**self._past, **self._open},
            key=lambda owner: (owner in self._open, *self._touched(owner)),
            reverse=True,
        )
        return WrittenMoves(
            minute,
            self.hour.written(),
            list(self.failed.written()),
            [self._written_of(owner, now) for owner in newest],
            self.failed.trials,
        )

    def _touched(self, owner: Controller) -> tuple[bool, float]:
        """Return whether a controller is owed a pod, which matters most, and when it was moved."""
        past = self._past.get(owner) or _Past()
        return past.owed > 0, max(past.missed_at, past.rests_until)

    def _written_of(self, owner: Controller, now: float) -> WrittenController:
        past, move = self._past.get(owner) or _Past(), self._open.get(owner)
        owed, forgiven = past.owed, past.forgiven_at - now
        rests = past.rests_until - now
        if move is not None:
            # It may not be sent any more; then there are as many as there were.
            owed, forgiven = move.ready - (not move.pod.status.ready), DAY
            rests = max(rests, move.rest, 0.0 if move.carried_out else LATE_SECONDS)
        return WrittenController(
            owner.namespace,
            owner.uid,
            past.misses,
            now - past.missed_at,
            rests,
            owed,
            forgiven,
            [(name_of(each.key), uid, each.until - now) for uid, each in past.landed.items()],
            move is not None or owner in self._inherited,
        )

    def inherit(self, written: WrittenMoves) -> None:
        """Take over what another leader has written, beside what is known here.

        Of both, what holds a controller back the longer counts.
        """
        now = self._clock()
        self.hour.inherit(written.hour)
        self.failed.inherit(written.failed, written.trials)
        for each in written.controllers:
            owner = Controller(each.namespace, each.uid)
            past = self._past.setdefault(owner, _Past())
            past.misses = max(past.misses, min(each.misses, MOST_MISSES))
            past.missed_at = max(past.missed_at, now - max(each.missed, 0.0))
            past.rests_until = max(past.rests_until, now + min(each.rests, DAY))
            if owner not in self._open:
                past.owed = max(past.owed, each.owed)
                past.forgiven_at = max(past.forgiven_at, now + min(each.forgiven, DAY))
                if each.open:
                    self._inherited.setdefault(owner, now + READY_SECONDS)
            for name, uid, left in each.landed[:MOST_LANDED]:
                key = key_of(each.namespace, name)
                past.landed.setdefault(uid, _Landed(key, now + min(left, KEPT_SECONDS), None))
