"""Reads pods; what is large is read in a thread, and others are answered meanwhile."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Final, TypeVar

from extender.wire.objects import PodReader

T = TypeVar("T")

LARGE_BYTES: Final = 32 << 10
"""A usual pod has some 5 KB; this much may take 10 ms to read, what a request may have at most
0.15 s, and the 1.5 MiB that a pod may have half a second."""


class ApartReader:
    """Reads what is large in a thread, one after the other, and the rest where it comes in."""

    def __init__(self, pods: PodReader) -> None:
        self.pods: Final = pods
        """Reads in the event loop."""
        self._apart = pods.another()
        # One thread: a reader is for one at a time, and what was given up is still read.
        self._thread = ThreadPoolExecutor(1, "large pods")

    async def read(self, size: int, read: Callable[[PodReader], T]) -> T:
        """Return what `read` makes of so many bytes with a reader for the pods in them."""
        if size <= LARGE_BYTES:
            return read(self.pods)
        return await asyncio.get_running_loop().run_in_executor(self._thread, read, self._apart)
