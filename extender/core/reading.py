"""What is large is read in a thread, and others are answered meanwhile."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Final, Generic, TypeVar

from extender.core.wire.objects import PodReader

R_co = TypeVar("R_co", covariant=True)
T = TypeVar("T")

APART_BYTES: Final = 32 << 10
"""A usual pod has some 5 KB; this much may take 10 ms to read, what a request may have at most
0.15 s, and the 1.5 MiB that an object may have half a second."""


class ApartReader(Generic[R_co]):
    """Reads what is large in a thread, one after the other, and the rest where it comes in."""

    def __init__(self, here: R_co, apart: R_co) -> None:
        """`here` reads in the event loop, and `apart`, which shares nothing with it, beside it."""
        self.here: Final = here
        self._apart = apart
        # One thread: a reader is for one at a time, and what was given up is still read.
        self._thread = ThreadPoolExecutor(1, "large objects")

    async def read(self, size: int, read: Callable[[R_co], T]) -> T:
        """Return what `read` makes of `size` bytes with one of the readers."""
        if size <= APART_BYTES:
            return read(self.here)
        return await asyncio.get_running_loop().run_in_executor(self._thread, read, self._apart)


def pods_apart(pods: PodReader) -> ApartReader[PodReader]:
    return ApartReader(pods, pods.another())
