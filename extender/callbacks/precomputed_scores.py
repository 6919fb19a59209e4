"""Prioritize answers, made while the scheduler is still busy with what filter answered.

Prioritize asks about the very pod and nodes of the filter call before it, as soon as the scheduler
has run its own scoring plugins. Until then this process has nothing to do.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

from msgspec import Raw

from extender.cluster.state import ClusterState
from extender.model import memory

Defer: TypeAlias = Callable[[Callable[[], None]], object]
"""Runs something soon, once the answer at hand is on its way: an event loop's call_soon."""

REMEMBERED = 4
"""Answers that wait for their call; a few more than one serve a second scheduler."""

LARGEST = memory.FORESEEN // REMEMBERED
"""Bytes of a call and its answer together: larger ones are answered when they are asked for."""

PATIENCE = 16
"""Answers made in a row that nobody asks for, until no more are made: the scheduler's file may have
no prioritizeVerb. The next prioritize call that comes turns it on again."""


@dataclass(frozen=True, slots=True)
class Foreseen:
    """The answer to one prioritize call that is expected."""

    call: bytes
    """The body to expect: Go writes equal arguments as equal bytes."""
    version: int
    """ClusterState.version when the answer was made; it is worth nothing after a change."""
    answer: bytes
    seconds: float
    """What scoring took."""


class Foresight:
    """Knows the answers to prioritize calls that have not come yet."""

    def __init__(self, state: ClusterState, defer: Defer) -> None:
        self._state = state
        self._defer = defer
        self._recent: deque[Foreseen] = deque(maxlen=REMEMBERED)
        self._in_vain = 0

    def expect(
        self, pod_json: Raw, names_json: bytes, make: Callable[[], tuple[bytes, float] | None]
    ) -> None:
        """Make the answer about a pod and some nodes soon; `make` tells what scoring took, too.

        It may return None: what takes long is made when it is asked for.
        """
        if self._in_vain == PATIENCE:
            return
        self._in_vain += 1

        def prepare() -> None:
            parts = (b'{"Pod":', pod_json, b',"Nodes":null,"NodeNames":', names_json, b"}")
            call = b"".join(map(memoryview, parts))
            version = self._state.version
            made = make()
            if made is not None and len(call) + len(made[0]) <= LARGEST:
                self._recent.appendleft(Foreseen(call, version, *made))

        self._defer(prepare)

    def recall(self, call: bytes) -> Foreseen | None:
        """Return the answer to a call, if it was foreseen and nothing has changed since."""
        self._in_vain = 0
        for foreseen in self._recent:
            if foreseen.call == call:
                return foreseen if foreseen.version == self._state.version else None
        return None


def soon(work: Callable[[], None]) -> None:
    """Run it in this event loop, after what is running now."""
    asyncio.get_running_loop().call_soon(work)
