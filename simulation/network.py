"""Links between processes: each direction has its delays, and can be cut for a while.

What is sent into a link that is cut is not lost: TCP sends it again. It arrives when the link is
whole again, in order, unless that takes longer than the kernel goes on trying.
"""

from __future__ import annotations

import asyncio
import contextvars
from collections import deque
from collections.abc import Callable
from math import log
from random import Random
from typing import Final

UNDELIVERED_SECONDS: Final = 60.0
"""As long as the extender's own sockets go on delivering (TCP_USER_TIMEOUT)."""


SLOWEST_SECONDS: Final = 45.0
"""No message is late for longer by slowness alone. client-go gives up a connection on which nothing
has come for 30 s, nor an answer to a ping for 15 s more (util/net/http.go of apimachinery 0.37)."""

RESOLUTION: Final = 1e-9
"""Of the loop's clock: a timer that rings is never too early."""


_NETWORK: Final = contextvars.Context()
"""Messages are delivered whether who has sent them is alive, stands still, or is gone."""


class Way:
    def __init__(self, chance: Random, fastest: float, usual: float) -> None:
        self._random = chance.random
        self._fastest = fastest
        self._rate = 1.0 / usual
        self.slower = 1.0
        """Factor on all delays."""
        self._cuts = 0
        self._held: dict[Pipe, None] = {}
        """Connections with something to deliver when the link is whole again."""

    @property
    def is_cut(self) -> bool:
        return self._cuts > 0

    def delay(self) -> float:
        """Return the seconds that the next message takes."""
        # What `expovariate` does, without the call: there are dozens of messages for each bind.
        usual = -log(1.0 - self._random()) / self._rate
        return min(self._fastest + usual * self.slower, SLOWEST_SECONDS)

    def cut(self, seconds: float) -> None:
        """Let nothing through for a while."""
        self._cuts += 1
        asyncio.get_running_loop().call_later(seconds, self._heal)

    def _heal(self) -> None:
        self._cuts -= 1
        if not self.is_cut:
            held, self._held = self._held, {}
            for pipe in held:
                pipe.pump()

    def pipe(self, *, resumes: bool = False) -> Pipe:
        """Open a connection in this direction.

        One that `resumes` is opened again when it is given up, and goes on where it was.
        """
        return Pipe(self, resumes=resumes)

    def hold(self, pipe: Pipe) -> None:
        """Have a connection deliver what it has as soon as the link is whole again."""
        self._held[pipe] = None


class Pipe:
    """Messages of one connection in one direction, which arrive in order."""

    def __init__(self, way: Way, *, resumes: bool = False) -> None:
        self._way = way
        self._resumes = resumes
        self._loop = asyncio.get_running_loop()
        self._queue: deque[tuple[float, float, Callable[[], None]]] = deque()
        self._last = 0.0
        self._timer: asyncio.TimerHandle | None = None
        self.closed = False

    def __len__(self) -> int:
        return len(self._queue)

    def send(self, deliver: Callable[[], None]) -> None:
        """Send a message: `deliver` is called where and when it arrives."""
        if self.closed:
            return
        now = self._loop.time()
        due = self._last = max(self._last, now + self._way.delay())
        self._queue.append((due, now, deliver))
        if self._timer is not None:
            return
        if len(self._queue) > 1 or self._way.is_cut:
            self.pump()
        else:
            self._timer = self._loop.call_at(due, self.pump, context=_NETWORK)

    def close(self) -> None:
        """Forget what has not arrived."""
        self.closed = True
        self._queue.clear()
        if self._timer is not None:
            self._timer.cancel()

    def pump(self) -> None:
        """Deliver what is due, and come back for the rest."""
        self._timer = None
        if self._way.is_cut:
            self._way.hold(self)
            return
        loop, waiting = self._loop, self._queue
        # However much is delivered in one go, that takes no time.
        now = loop.time()
        while waiting and not self.closed:
            due, sent, deliver = waiting[0]
            if due > now + RESOLUTION:
                self._timer = loop.call_at(due, self.pump, context=_NETWORK)
                return
            waiting.popleft()
            if now - sent > UNDELIVERED_SECONDS and not self._resumes:
                # The connection is given up, with all that is to come.
                self.close()
                return
            deliver()


class Link:
    """Two directions: `up` towards the server, `down` towards the client."""

    def __init__(self, chance: Random, fastest: float = 0.0002, usual: float = 0.0005) -> None:
        self.up = Way(chance, fastest, usual)
        self.down = Way(chance, fastest, usual)
        self.refusing = False
        """Whether there is no listener at the other end."""

    @property
    def is_disturbed(self) -> bool:
        return any(each.is_cut or each.slower > 1.0 for each in (self.up, self.down))
