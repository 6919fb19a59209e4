"""Prioritize answers, made while the scheduler is still busy with what filter answered.

Prioritize asks about the very pod and nodes of the filter call before it, as soon as the scheduler
has run its own scoring plugins. Until then this process has nothing to do.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TypeAlias

from msgspec import Raw

from extender.callbacks.observing import Defer
from extender.cluster.state import ClusterState
from extender.model import memory
from extender.wire.prioritizing import write_call

Made: TypeAlias = tuple[bytes, Mapping[str, float]]
"""An answer, and the seconds that each plugin took for it."""

REMEMBERED = 4
"""Answers that wait for their call; a few more than one serve a second scheduler."""

LARGEST = memory.PRECOMPUTED // REMEMBERED
"""Bytes of a call and its answer together: larger ones are answered when they are asked for."""

PATIENCE = 16
"""Answers made in a row that nobody asks for, until no more are made: the scheduler's file may have
no prioritizeVerb. The next prioritize call that comes turns it on again."""


@dataclass(frozen=True, slots=True)
class PrecomputedAnswer:
    """The answer to one prioritize call that is expected."""

    call: bytes
    """The body to expect: Go writes equal arguments as equal bytes."""
    version: int
    """ClusterState.version when the answer was made; it is worth nothing after a change."""
    answer: bytes
    seconds: Mapping[str, float]
    """What scoring took, by plugin."""


class PrecomputedScores:
    """Knows the answers to prioritize calls that have not come yet."""

    def __init__(self, state: ClusterState, defer: Defer) -> None:
        self._state = state
        self._defer = defer
        self._recent: deque[PrecomputedAnswer] = deque(maxlen=REMEMBERED)
        self._in_vain = 0

    def expect(self, pod_json: Raw, names_json: bytes, make: Callable[[], Made | None]) -> None:
        """Make the answer about a pod and some nodes soon, with `make`.

        It may return None: what takes long is made when it is asked for.
        """
        if self._in_vain == PATIENCE:
            return
        self._in_vain += 1

        def prepare() -> None:
            call = write_call(pod_json, names_json)
            version = self._state.version
            made = make()
            if made is not None and len(call) + len(made[0]) <= LARGEST:
                self._recent.appendleft(PrecomputedAnswer(call, version, *made))

        self._defer(prepare)

    def recall(self, call: bytes) -> PrecomputedAnswer | None:
        """Return the answer to a call, if it was made ahead and nothing has changed since."""
        self._in_vain = 0
        for known in self._recent:
            if known.call == call:
                return known if known.version == self._state.version else None
        return None
