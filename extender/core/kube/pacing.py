"""How long to wait before the next watch is opened, by what the last one brought."""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from enum import Enum
from typing import Final

from extender.core.kube.failures import BrokenAnswerError, Restart, WatchEnd
from extender.core.kube.frames import Lines
from extender.core.kube.limits import MOST, USUAL_TIMEOUTS
from extender.core.kube.observers import ReflectorObserver, Unobserved


class Brought(Enum):
    """What a watch brought that moves the version we stand at."""

    NOTHING = "nothing"
    BOOKMARKS = "only bookmarks"
    CHANGES = "changes"


@dataclass(slots=True)
class Pace:
    """Keeps a server that ends its watches soon from being asked hundreds of times a second.

    Without changes the waits grow as after failures. With changes there is one watch a second: the
    mirror goes on, and is no later than that.
    """

    backoff: Backoff
    _short_in_a_row: int = field(init=False, default=0)

    def before_next(self, end: WatchEnd, brought: Brought, lasted: float) -> tuple[WatchEnd, float]:
        """Return how to report the end of a watch, and how many seconds to wait."""
        if lasted >= USUAL_TIMEOUTS.shortest_watch:
            self._short_in_a_row = 0
            return end, self.backoff.delay(end.retry_after) if end.wait else 0.0
        if brought is Brought.NOTHING:
            return _empty(end), self.backoff.delay(end.retry_after)
        self._short_in_a_row += 1
        if end.wait:
            return end, self.backoff.delay(end.retry_after)
        if self._short_in_a_row == 1:
            return end, 0.0
        end = replace(end, said=f"{end.said} soon, again and again, and brought {brought.value}")
        if brought is Brought.BOOKMARKS:
            return end, self.backoff.delay()
        return end, USUAL_TIMEOUTS.shortest_watch - lasted


def _empty(end: WatchEnd) -> WatchEnd:
    if end.reason is not Restart.ENDED:
        return end
    return WatchEnd(Restart.EMPTY, "ended at once and brought nothing")


class ObjectSlices:
    """Tells, after each object, whether it is others' turn."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._left = MOST.slice
        self._until = clock() + MOST.slice_seconds

    def end(self) -> bool:
        """Return whether many were taken, or what was took long, since it last was."""
        self._left -= 1
        if self._left and self._clock() < self._until:
            return False
        self._left = MOST.slice
        self._until = self._clock() + MOST.slice_seconds
        return True


class Patience:
    """A timer that is wound up again by what counts; a call costs no more than a clock reading."""

    def __init__(
        self,
        seconds: float,
        failure: Callable[[str], BrokenAnswerError],
        *,
        first: float | None = None,
    ) -> None:
        """`first` is how many of the seconds are left when it begins, all without."""
        self.seconds = seconds
        self._first = seconds if first is None else min(first, seconds)
        self._failure = failure
        self._wound_up = 0.0
        self._timer: asyncio.TimerHandle | None = None

    def renew(self) -> None:
        self._wound_up = asyncio.get_running_loop().time()

    @contextmanager
    def with_stream(self, lines: Lines) -> Iterator[None]:
        """Make the wait for a line end with the failure, once the time is over."""
        self.renew()
        self._wound_up -= self.seconds - self._first
        self._look(lines)
        try:
            yield
        finally:
            if self._timer is not None:
                self._timer.cancel()

    def _look(self, lines: Lines) -> None:
        loop = asyncio.get_running_loop()
        left = self._wound_up + self.seconds - loop.time()
        if left <= 0:
            lines.give_up(self._failure(f"nothing of use came for {self.seconds:g} s"))
            # It gets lost on a reader that has just been woken by bytes and goes on waiting.
            left = 0.05
        self._timer = loop.call_later(left, self._look, lines)


@dataclass(frozen=True, slots=True)
class Timing:
    clock: Callable[[], float] = time.monotonic
    """Seconds that never go back, for durations."""
    wall: Callable[[], float] = time.time
    """Seconds since the epoch, for what people read."""
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep
    chance: Callable[[], float] = random.random
    """A number in [0, 1): spreads many clients out, nothing secret."""


USUAL_TIMING: Final = Timing()


@dataclass(frozen=True, slots=True)
class MirrorSettings:
    """How a resource is mirrored; times in seconds."""

    observer: ReflectorObserver = field(default_factory=Unobserved)
    timing: Timing = USUAL_TIMING
    watch: int = 300
    """The server is asked to end a watch after this time up to twice as long, at random, so that
    watches spread over the servers again after one of them restarted."""
    silence: float = 120.0
    """Without a word of a resource, after which it is listed: bookmarks come each minute."""
    spread: float = 10.0
    """By how much earlier that may be, at random, so that not all are listed at once."""
    lists_part: float = 0.25
    """Of the time, at most, is spent on lists, however often one is needed: those of a large
    cluster, which cost the server most, have the longest pauses."""
    longest_rest: float = 30.0
    """Between two lists, whatever the first one took."""
    outage: float = 10.0
    """Without a connection, after which everything is listed: that is time enough to restore etcd,
    and writes, or `--bump-revision`, may have brought its versions to where they were."""


USUAL_MIRROR: Final = MirrorSettings()


@dataclass(frozen=True, slots=True)
class BackoffPolicy:
    """How long to wait after failures.

    It begins as client-go's reflector does, which goes on to 60 s. Here it ends at 5 s at most, so
    that no pod is judged by an old picture for longer once the server is well; a server that has
    too much to do says when to come again.
    """

    initial: float = 0.8
    factor: float = 2.0
    cap: float = 2.5
    jitter: float = 1.0
    """A delay d becomes a random one in [d, d + jitter * d)."""
    reset_after: float = 120.0
    """Seconds without a failure after which the next one starts at `initial` again."""
    longest_retry_after: float = 32.0
    """A server's Retry-After counts up to this many seconds, the most that an API server asks for
    (maxRetryAfter in pkg/util/flowcontrol/dropped_requests_tracker.go of k8s.io/apiserver). A proxy
    that asks for more keeps no pod from being bound for longer."""


BACKOFF: Final = BackoffPolicy()


@dataclass(slots=True)
class Backoff:
    """Grows the wait with each failure, forgets failures after a calm while."""

    timing: Timing
    _next: float = field(init=False, default=0.0)
    _last_failure: float | None = field(init=False, default=None)

    def delay(self, retry_after: float | None = None) -> float:
        """Note a failure; say how many seconds to wait, never less than the server asked."""
        now = self.timing.clock()
        if self._last_failure is None or now - self._last_failure > BACKOFF.reset_after:
            self._next = BACKOFF.initial
        self._last_failure = now
        base = self._next
        self._next = min(base * BACKOFF.factor, BACKOFF.cap)
        jittered = base * (1.0 + BACKOFF.jitter * self.timing.chance())
        return max(jittered, min(retry_after or 0.0, BACKOFF.longest_retry_after))

    async def wait(self, retry_after: float | None = None) -> None:
        """Note a failure and sleep it off."""
        await self.timing.sleep(self.delay(retry_after))
