"""Client-side throttling: what is sent to the API server next, and what is refused instead.

`clientConnection.qps` and `burst` are for all requests together. Each flow has a guaranteed share
of both, so that no flow starves another; what a flow leaves of its share goes to flows that have
more to send. So binds alone reach the whole of qps, and a relist does not hold up a single one.
"""

from __future__ import annotations

import asyncio
from collections import deque
from dataclasses import dataclass, field
from enum import Enum
from typing import Final

from extender.core.kube.failures import ThrottledError
from extender.core.kube.pacing import USUAL_TIMING, Timing


class Flow(Enum):
    BINDS = "binds"
    READS = "reads"
    """Lists, and pods that are read one by one."""
    PATCHES = "patches"
    EVICTIONS = "evictions"
    """Deletions of pods, and what has to be written about them."""
    WATCHES = "watches"
    """Only their start: an open watch costs no request."""


SHARES: Final = {
    Flow.BINDS: 0.70,
    Flow.READS: 0.10,
    Flow.PATCHES: 0.10,
    Flow.EVICTIONS: 0.05,
    Flow.WATCHES: 0.05,
}
"""Guaranteed parts of qps and burst. A bind that ended unclearly is followed by a read, and 10 %
are enough for the pages of a relist; hints are limited to some tens a second anyway; an eviction
makes three requests; and watches are opened a few times an hour."""


@dataclass(slots=True, eq=False)
class _Queue:
    """The requests of one flow, first come first served, and the tokens that are theirs alone."""

    rate: float
    most: float
    tokens: float
    waiting: deque[asyncio.Future[None]] = field(default_factory=deque)
    """Those whose turn has not come; a result tells the one at the head that it is there."""


class FlowControl:
    """Token buckets, one a flow, whose overflow is for all.

    A token is taken in the moment in which a request may go, never before: a caller that gives up
    while waiting has taken none, and only makes the queue behind shorter.
    """

    def __init__(self, qps: float, burst: int, timing: Timing = USUAL_TIMING) -> None:
        self._qps = qps
        self._timing = timing
        # Whatever the burst, each flow may always send one at once.
        caps = {flow: max(1.0, share * burst) for flow, share in SHARES.items()}
        self._queues = {flow: _Queue(SHARES[flow] * qps, cap, cap) for flow, cap in caps.items()}
        self._burst = sum(caps.values())
        self._spare = 0.0
        """Tokens that flows with full buckets have left to others."""
        self._counted_at = self._timing.clock()

    async def admit(self, flow: Flow, patience: float | None = None) -> None:
        """Wait for a turn; ThrottledError, at once, when it would not come within `patience`.

        The wait is judged by the flow's own share. It is shorter when others leave some of theirs,
        so a caller that is let in gets its turn in time.
        """
        queue = self._queues[flow]
        self._refill()
        if not queue.waiting and self._take(queue):
            return
        wait = (len(queue.waiting) + 1 - queue.tokens) / queue.rate
        if patience is not None and wait > patience:
            raise ThrottledError(
                f"not sent: {len(queue.waiting)} {flow.value} are waiting for their turn, "
                f"and clientConnection.qps is {self._qps:g}"
            )
        await self._queue(queue)

    async def _queue(self, queue: _Queue) -> None:
        turn = asyncio.get_running_loop().create_future()
        queue.waiting.append(turn)
        try:
            if queue.waiting[0] is not turn:
                await turn
            self._refill()
            while not self._take(queue):
                await self._timing.sleep(self._until_next(queue))
                self._refill()
        finally:
            queue.waiting.remove(turn)
            if queue.waiting and not queue.waiting[0].done():
                queue.waiting[0].set_result(None)

    def _refill(self) -> None:
        now = self._timing.clock()
        passed, self._counted_at = now - self._counted_at, now
        left = passed * self._qps
        for queue in self._queues.values():
            gained = min(passed * queue.rate, queue.most - queue.tokens)
            queue.tokens += gained
            left -= gained
        # All buckets together never hold more than the burst.
        held = sum(queue.tokens for queue in self._queues.values())
        self._spare = min(self._spare + left, self._burst - held)

    def _take(self, queue: _Queue) -> bool:
        """Take a token, from the flow's own first."""
        if queue.tokens + self._spare < 1.0 - 1e-9:  # a sum of floats may lack as much
            return False
        own = min(queue.tokens, 1.0)
        queue.tokens -= own
        self._spare = max(self._spare - (1.0 - own), 0.0)
        return True

    def _until_next(self, queue: _Queue) -> float:
        """Return the seconds until a token is there, if the others go on as they are."""
        full = [each for each in self._queues.values() if each.tokens >= each.most]
        rate = queue.rate + sum(each.rate for each in full if each is not queue)
        return (1.0 - queue.tokens - self._spare) / rate
