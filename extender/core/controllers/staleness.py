"""How long the API server has been silent, and what that makes of the picture of the cluster."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable, Collection, Mapping
from math import inf
from typing import Final, NoReturn

from extender.core.cluster.state import ClusterState
from extender.core.ports import Check

LOOK_SECONDS: Final = 1.0
STILL_SECONDS: Final = 5.0
"""A pause after which the callers of what was asked before have given up (httpTimeout)."""
CATCH_UP_SECONDS: Final = 2.0
"""For what the watches have brought meanwhile. It lies in the sockets, and is read as fast as
thousands of events a second."""
OVERTAKEN_SECONDS: Final = 10.0
"""A pause after which another replica's scheduler may lead: its Lease is taken after 15 s
(leaseDuration), of which the pause may be the larger part."""
STEP_DOWN_SECONDS: Final = 15.0
"""For which the scheduler that stood still beside this process may go on to place pods: client-go
tries to renew a Lease for 10 s (renewDeadline), and begins 2 s later, before it gives up."""

_log = logging.getLogger(__name__)


def since_boot() -> float:
    """Return seconds that go on while the machine is suspended; `monotonic` stands still then."""
    clock = getattr(time, "CLOCK_BOOTTIME", None)  # of Linux alone
    return time.monotonic() if clock is None else time.clock_gettime(clock)


class Freshness:
    """Notices when a resource is stale: no event, bookmark or whole list came for too long.

    Bookmarks come about once a minute, however little happens, and what is silent for longer is
    listed (`kube.reflector`): so a stale resource is one that no list could cure. A stale picture
    is still shown and still scores nodes. But where pods that exclude each other may have been
    placed unseen, by another scheduler or by hand, no hard rule can be vouched for:
    `ClusterState.stale` says so, and whatever judges hard rules answers that instead of a verdict.

    A process that stood still (a container that was frozen, a machine that was suspended) wakes up
    with the picture of before, and calls that are as old. It gives no verdict until it has had the
    time to read what has come since, and until a scheduler that stood still with it has found out
    that it leads no more: `behind`.
    """

    def __init__(
        self,
        silent_for: Callable[[], Mapping[str, float | None]],
        limit: float,
        state: ClusterState,
        vital: Collection[str],
        *,
        clock: Callable[[], float] = since_boot,
    ) -> None:
        """`limit` is in seconds; `vital` are the resources without which rules cannot be judged."""
        self._clock = clock
        self._looked = clock()
        self._resumes = -inf
        self._silent_for = silent_for
        self._limit = limit
        self._state = state
        self._vital = vital
        self._stale: frozenset[str] = frozenset()

    def check(self, resource: str) -> Check:
        return lambda: self._why(self._silent_for().get(resource))

    def behind(self) -> str | None:
        """Say so where the process stood still until now, or until a moment ago."""
        self._note_pause()
        if self._clock() >= self._resumes:
            return None
        return "the process stood still, and reads what has changed meanwhile"

    def _note_pause(self) -> None:
        now = self._clock()
        still = now - self._looked
        if still >= LOOK_SECONDS + STILL_SECONDS:
            rest = STEP_DOWN_SECONDS if still >= OVERTAKEN_SECONDS else CATCH_UP_SECONDS
            _log.warning("the process stood still for %.0f s; no verdict for %.0f s", still, rest)
            self._looked, self._resumes = now, now + rest

    def look(self) -> None:
        """Log what has become stale or has recovered since the last look, and tell the state."""
        self._note_pause()
        self._looked = self._clock()
        silent = self._silent_for()
        stale = frozenset(name for name, seconds in silent.items() if self._why(seconds))
        for name in sorted(stale - self._stale):
            _log.error(
                "%s: stale: %s; not ready until something is received",
                *(name, self._why(silent[name])),
            )
        for name in sorted(self._stale - stale):
            _log.info("%s: something was received, no longer stale", name)
        self._stale = stale
        vital = [name for name in silent if name in stale and name in self._vital]
        self._state.stale = (
            f"nothing received about {', '.join(vital)} for too long" if vital else None
        )

    async def run(self) -> NoReturn:
        while True:
            self.look()
            await asyncio.sleep(LOOK_SECONDS)

    def _why(self, seconds: float | None) -> str | None:
        """Say why a resource is stale; one that was never listed is not synced, which is worse."""
        if seconds is None or seconds < self._limit:
            return None
        return (
            f"the API server said nothing of it for {seconds:.0f} s, {self._limit:g} is the limit"
        )
