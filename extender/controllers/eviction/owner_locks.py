"""Whose turn it is: so many evictions a minute, one of an owner at a time; a circuit breaker."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final, Self

from extender.cluster.state import ClusterState
from extender.controllers.eviction.record import FIRST_PAUSE_SECONDS
from extender.model.objects import Controller, Pod
from extender.ports import Leadership
from extender.timing import LONGEST_PAUSE_SECONDS, Pause
from extender.verbs.nominating import ExpectedPlacement

WINDOW_SECONDS: Final = 60.0
UNSEEN_SECONDS: Final = 10.0
"""How long the watch may take to show that an evicted pod is being deleted."""
REPLACED_SECONDS: Final = 60.0
"""How long the controller and the scheduler may take to replace a pod that is gone. When that is
over the next pod may go: its owner was scaled down, or wants no more pods there."""

EVERYBODY: Final = 1.0
"""The share that no number of pods exceeds."""


class RateLimiter:
    """So many in any minute, and not one more."""

    def __init__(self, most: int, clock: Callable[[], float]) -> None:
        self._most = most
        self._clock = clock
        self._times: deque[float] = deque()

    @property
    def recent(self) -> int:
        """Return how many there were in the last minute."""
        now = self._clock()
        while self._times and self._times[0] <= now - WINDOW_SECONDS:
            self._times.popleft()
        return len(self._times)

    def rest(self) -> float:
        """Return the seconds until there may be another one; 0 when there may be one now."""
        if self.recent < self._most:
            return 0.0
        return self._times[-self._most] + WINDOW_SECONDS - self._clock()

    def take(self) -> None:
        """Note one."""
        self._times.append(self._clock())

    def done(self) -> None:
        """Note that the last one is over: a minute counts from when it was certainly there."""
        if self._times:
            self._times[-1] = self._clock()

    def give_back(self) -> None:
        """Note that the last one has come to nothing."""
        if self._times:
            self._times.pop()

    def fill(self, number: int) -> None:
        """Note some that another replica has made within the last minute."""
        self._times.extend([self._clock()] * min(number, self._most))


@dataclass(slots=True, eq=False)
class Move:
    """A pod that is evicted and has to be replaced before the next one of its owner goes."""

    pod: Pod
    target: str
    """The node that was found for its replacement."""
    began: float
    placed: int
    """Pods of its owner that had a node."""
    gone_at: float | None = None


class OwnerLocks:
    """Who moves at present, and whose pods wait."""

    def __init__(self, state: ClusterState, clock: Callable[[], float]) -> None:
        self._state = state
        self._clock = clock
        self._moves: dict[Controller, Move] = {}
        self._pauses: dict[Controller, Pause] = {}

    def __len__(self) -> int:
        return len(self._moves)

    def placements(self) -> list[ExpectedPlacement]:
        """Return where pods are expected that replace those that go; what is over is forgotten."""
        now = self._clock()
        for owner, move in list(self._moves.items()):
            if self._is_over(owner, move):
                del self._moves[owner]
        for owner, pause in list(self._pauses.items()):
            if now - pause.until > LONGEST_PAUSE_SECONDS:
                del self._pauses[owner]
        return [ExpectedPlacement(move.pod, move.target) for move in self._moves.values()]

    def begin(self, owner: Controller, pod: Pod, target: str) -> None:
        """Note that a pod of an owner goes."""
        placed = self._state.rule_watch.owned.placed(owner)
        self._moves[owner] = Move(pod, target, self._clock(), placed)

    def end(self, owner: Controller) -> None:
        """Note that a pod does not go after all, or that nothing is to be waited for."""
        self._moves.pop(owner, None)

    def pause(self, owner: Controller, at_least: float) -> None:
        """Leave the pods of an owner alone for a while: a budget protects them."""
        pause = self._pauses.setdefault(owner, Pause(FIRST_PAUSE_SECONDS))
        pause.begin(self._clock(), at_least)

    def pardon(self, owner: Controller) -> None:
        """Note that a budget let a pod of an owner go."""
        self._pauses.pop(owner, None)

    def paused(self, owner: Controller) -> float:
        """Return for how many seconds the pods of an owner are left alone."""
        pause = self._pauses.get(owner)
        return 0.0 if pause is None else pause.rest(self._clock()) or 0.0

    def busy(self, owner: Controller) -> bool:
        """Return whether a pod of an owner is on its way out, or waits for a node.

        Whoever leads anew knows no moves, and sees those of the last leader by that.
        """
        move = self._moves.get(owner)
        if move is not None and self._is_over(owner, move):
            del self._moves[owner]
            move = None
        return move is not None or self._state.rule_watch.owned.unsettled(owner)

    def _is_over(self, owner: Controller, move: Move) -> bool:
        now, pod = self._clock(), self._state.pod(move.pod.key, move.pod.uid)
        if pod is not None:
            return not pod.status.deleting and now - move.began >= UNSEEN_SECONDS
        if move.gone_at is None:
            move.gone_at = now
        return (
            self._state.rule_watch.owned.placed(owner) >= move.placed
            or now - move.gone_at >= REPLACED_SECONDS
        )


@dataclass(frozen=True, slots=True)
class EvictionTurns:
    """What all who evict share."""

    leadership: Leadership
    locks: OwnerLocks
    window: RateLimiter

    @classmethod
    def of(
        cls,
        leadership: Leadership,
        state: ClusterState,
        per_minute: int,
        clock: Callable[[], float],
    ) -> Self:
        """Let nobody have a turn yet."""
        return cls(leadership, OwnerLocks(state, clock), RateLimiter(per_minute, clock))


@dataclass(frozen=True, slots=True)
class Pauses:
    """For whom evictions are paused."""

    all: bool = False
    namespaces: frozenset[str] = frozenset()
    """Those that have too many pods to go by themselves."""

    def hold(self, namespace: str) -> bool:
        """Return whether no pod of a namespace is evicted."""
        return self.all or namespace in self.namespaces


class CircuitBreaker:
    """Pauses evictions while more than a share of all pods would have to go.

    What the owner of some namespaces does is not to stop the evictions of all others: with more
    than half of that number a namespace pauses by itself, and for the others all that are paused
    count as half together. A single pod is never too many: in a small cluster it may be a large
    share.
    """

    def __init__(self, share: float, pods: Callable[[], int]) -> None:
        """`pods` says how many there are in all."""
        self._share = share
        self._pods = pods
        self.pauses = Pauses()

    @property
    def allowed(self) -> int:
        """Return how many pods may have to go at a time."""
        return max(1, int(self._share * self._pods()))

    def allowed_of_one(self, acknowledged: int) -> int:
        """Return how many pods of one namespace may have to go at a time."""
        return max((self.allowed + 1) // 2, acknowledged)

    def look(self, going: Mapping[str, int], acknowledged: int) -> Pauses:
        """Take over how many pods have to go, by namespace, and how many are fine; return before.

        O(namespaces with pods that have to go).
        """
        before, self.pauses = self.pauses, self.judge(going, acknowledged)
        return before

    def judge(self, going: Mapping[str, int], acknowledged: int) -> Pauses:
        """Return for whom so many are too many."""
        if self._share >= EVERYBODY:
            return Pauses()
        one, half = self.allowed_of_one(acknowledged), self.allowed // 2
        over = frozenset(name for name, pods in going.items() if pods > one)
        others = sum(pods for name, pods in going.items() if name not in over)
        counted = others + (half if over else 0)
        return Pauses(counted > max(self.allowed, acknowledged), over)
