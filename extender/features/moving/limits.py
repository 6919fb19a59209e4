"""How many pods may be evicted in a minute, and when too many would have to go."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Final

from extender.core.controllers.history import HOUR
from extender.core.controllers.rates import WINDOW_SECONDS
from extender.core.model.signed import shift

NEAR_SECONDS: Final = 5.0
"""How long a namespace is given way to: its pod may have ceased to break its rule."""
EVERYBODY: Final = 1.0
"""The share that no number of pods exceeds."""


REST: Final = 9.0
"""How many times as long as an attempt that came to nothing the next one of a namespace waits."""


def share_of(pods: int, share: float) -> int:
    """Return how many pods a share in whole per cent is; 0.29 of 100 are 29, not 28.999999."""
    return round(100 * share) * pods // 100


class LastHour:
    """The moves of the last hour, by namespace."""

    def __init__(self, clock: Callable[[], float], per_minute: int) -> None:
        """With `per_minute` moves at most; a replica that tells of more is not believed."""
        self._clock = clock
        self._most = int(per_minute * HOUR / WINDOW_SECONDS)
        self._moves: deque[tuple[float, str, int]] = deque()
        """How many, where and when; several at once are another replica's."""
        self._by_name: dict[str, int] = {}

    def take(self, namespace: str) -> tuple[float, str, int]:
        """Note that one begins; return what is noted, by which it is given back."""
        taken = self._clock(), namespace, 1
        self._moves.append(taken)
        shift(self._by_name, namespace, 1)
        return taken

    def give_back(self, taken: tuple[float, str, int]) -> None:
        """Note that one has come to nothing; those of another replica may be known by now."""
        with suppress(ValueError):  # It may have begun more than an hour ago.
            self._moves.remove(taken)
            shift(self._by_name, taken[1], -1)

    @property
    def moves(self) -> Mapping[str, int]:
        """Return how many there were by namespace; O(1), as thousands of controllers ask."""
        while self._moves and self._moves[0][0] <= self._clock() - HOUR:
            _, name, number = self._moves.popleft()
            shift(self._by_name, name, -number)
        return self._by_name

    @property
    def latest(self) -> Mapping[str, float]:
        return {name: at for at, name, _ in self._moves}

    def written(self) -> dict[str, tuple[int, float]]:
        """Return what the next leader has to know: how many, and how long ago the last was."""
        now, moves, latest = self._clock(), self.moves, self.latest
        return {name: (number, now - latest[name]) for name, number in moves.items()}

    def inherit(self, written: Mapping[str, tuple[int, float]]) -> None:
        """Take over what another leader has noted, beside what is known here.

        The latest first, until there are as many in all as there can have been.
        """
        now, own = self._clock(), dict(self.moves)
        room = self._most - sum(own.values())
        for name, (number, age) in sorted(written.items(), key=lambda each: each[1][1]):
            more = min(number - own.get(name, 0), room)
            if more > 0:
                self._moves.append((now - min(max(age, 0.0), HOUR), name, more))
                shift(self._by_name, name, more)
                room -= more
        self._moves = deque(sorted(self._moves))


@dataclass(frozen=True, slots=True)
class Pauses:
    all: bool = False
    namespaces: frozenset[str] = frozenset()
    """Those that have too many pods to go by themselves."""

    def hold(self, namespace: str) -> bool:
        return self.all or namespace in self.namespaces


class FairTurns:
    """Whose turn it is of the namespaces that wait for one: whose last one is longest ago.

    So a tenant with many pods to move does not take the turns of all others.
    """

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._served: dict[str, float] = {}
        """When each has had its last turn, within an hour."""
        self._due: dict[str, float] = {}
        """When a pod of each comes to look for its turn."""

    def wait(self, namespace: str, seconds: float) -> None:
        """Note that a pod comes again after so many seconds."""
        self._due[namespace] = self._clock() + seconds

    def has(self, namespace: str) -> bool:
        """Return whether none of those who are about to come has waited longer."""
        now = self._clock()
        near = {name for name, due in self._due.items() if abs(now - due) < NEAR_SECONDS}
        mine = self._served.get(namespace, 0.0)
        return all(self._served.get(name, 0.0) >= mine for name in near)

    def pass_over(self, namespace: str) -> None:
        """Note that a pod has come that takes no turn: none is given way to for it."""
        self._due.pop(namespace, None)

    def take(self, namespace: str) -> None:
        """Note that a namespace has its turn."""
        now = self._clock()
        self._due = {name: due for name, due in self._due.items() if now - due < NEAR_SECONDS}
        self._due.pop(namespace, None)
        self._served = {name: at for name, at in self._served.items() if now - at < HOUR}
        self._served[namespace] = now


class Fruitless:
    """Namespaces that rest after an attempt that evicted no pod, REST times as long as it took.

    So a tenant with thousands of pods that budgets protect takes up a tenth of the time, in which
    pods of others wait to be tried.
    """

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._until: dict[str, float] = {}

    def rest(self, namespace: str) -> float:
        """Return for how many seconds no pod of a namespace is to be tried."""
        return self._until.get(namespace, 0.0) - self._clock()

    def note(self, namespace: str, began: float) -> None:
        """Note that an attempt which began then is over."""
        now = self._clock()
        resting = {name: until for name, until in self._until.items() if until > now}
        self._until = {**resting, namespace: now + REST * (now - began)}


class CircuitBreaker:
    """Pauses evictions while more than a share of all placed pods would have to go.

    What the owner of some namespaces does is not to stop the evictions of all others: with more
    than half of that number a namespace pauses by itself, and for the others all that are paused
    count as half together. A single pod is never too many: in a small cluster it may be a large
    share.
    """

    def __init__(self, share: float, pods: Callable[[], int]) -> None:
        """`pods` says how many have a node in all."""
        self._share = share
        self.pods: Final = pods
        self.pauses = Pauses()

    @property
    def allowed(self) -> int:
        return max(1, share_of(self.pods(), self._share))

    def allowed_of_one(self, acknowledged: int) -> int:
        return max((self.allowed + 1) // 2, acknowledged)

    def look(self, going: Mapping[str, int], acknowledged: int) -> Pauses:
        """Take over how many pods have to go, by namespace, and how many are fine; return before.

        O(namespaces with pods that have to go).
        """
        before, self.pauses = self.pauses, self.judge(going, acknowledged)
        return before

    def judge(self, going: Mapping[str, int], acknowledged: int) -> Pauses:
        """Namespaces (or all) that exceed the share of pods that may be evicted."""
        if self._share >= EVERYBODY:
            return Pauses()
        one, half = self.allowed_of_one(acknowledged), self.allowed // 2
        over = frozenset(name for name, pods in going.items() if pods > one)
        others = sum(pods for name, pods in going.items() if name not in over)
        counted = others + (half if over else 0)
        return Pauses(counted > max(self.allowed, acknowledged), over)
