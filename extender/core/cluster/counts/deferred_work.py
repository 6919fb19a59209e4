"""Work that can wait, so that no event costs much more than any other."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from itertools import islice

DEFERRED_STEPS = 256
"""Things that were put off and are done with every event of a pod, while there are any: about as
many microseconds."""


class DeferredWork:
    """What was put off, each as an iterator whose steps do it; first come first served."""

    def __init__(self) -> None:
        self._waiting: deque[Iterator[None]] = deque()

    def __len__(self) -> int:
        return len(self._waiting)

    def put_off(self, work: Iterator[None]) -> None:
        self._waiting.append(work)

    def do(self, steps: int | None = None) -> int:
        """Do some, or all, of it; return how many steps that took."""
        done = 0
        while self._waiting and (steps is None or done < steps):
            work = self._waiting[0]
            done += sum(1 for _ in islice(work, None if steps is None else steps - done))
            if steps is None or done < steps:
                self._waiting.popleft()
        return done
