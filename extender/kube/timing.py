"""Clock, sleep and chance, passed in so that tests take no real time."""

from __future__ import annotations

import asyncio
import random
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable


@dataclass(frozen=True, slots=True)
class Timing:
    """Where the reflectors get their time from."""

    clock: Callable[[], float] = time.monotonic
    """Seconds that never go back, for durations."""
    wall: Callable[[], float] = time.time
    """Seconds since the epoch, for what people read."""
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep
    chance: Callable[[], float] = random.random
    """A number in [0, 1): spreads many clients out, nothing secret."""


@dataclass(frozen=True, slots=True)
class BackoffPolicy:
    """How long to wait after failures; the defaults are client-go's reflector's."""

    initial: float = 0.8
    factor: float = 2.0
    cap: float = 30.0
    jitter: float = 1.0
    """A delay d becomes a random one in [d, d + jitter * d)."""
    reset_after: float = 120.0
    """Seconds without a failure after which the next one starts at `initial` again."""
    longest_retry_after: float = 120.0
    """A server's Retry-After counts up to this many seconds."""


DEFAULT_BACKOFF: Final = BackoffPolicy()


@dataclass(slots=True)
class Backoff:
    """Grows the wait with each failure, forgets failures after a calm while."""

    timing: Timing
    policy: BackoffPolicy = DEFAULT_BACKOFF
    _next: float = field(init=False, default=0.0)
    _last_failure: float | None = field(init=False, default=None)

    def delay(self, retry_after: float | None = None) -> float:
        """Note a failure; say how many seconds to wait, never less than the server asked."""
        now = self.timing.clock()
        if self._last_failure is None or now - self._last_failure > self.policy.reset_after:
            self._next = self.policy.initial
        self._last_failure = now
        base = self._next
        self._next = min(base * self.policy.factor, self.policy.cap)
        jittered = base * (1.0 + self.policy.jitter * self.timing.chance())
        return max(jittered, min(retry_after or 0.0, self.policy.longest_retry_after))

    async def wait(self, retry_after: float | None = None) -> None:
        """Note a failure and sleep it off."""
        await self.timing.sleep(self.delay(retry_after))


@dataclass(slots=True)
class RateLimit:
    """Lets `burst` requests go at once, and `qps` a second after that, first come first served."""

    qps: float
    burst: int
    timing: Timing = field(default_factory=Timing)
    _free: float = field(init=False)
    _counted_at: float = field(init=False)

    def __post_init__(self) -> None:
        self._free = float(self.burst)
        self._counted_at = self.timing.clock()

    async def admit(self) -> None:
        """Wait for a turn."""
        now = self.timing.clock()
        self._free = min(self._free + (now - self._counted_at) * self.qps, float(self.burst))
        self._counted_at = now
        self._free -= 1.0
        if self._free < 0.0:
            try:
                await self.timing.sleep(-self._free / self.qps)
            except BaseException:
                # Whoever gives up gives back what it took, for those who come.
                self._free += 1.0
                raise
