"""Reads the pods of requests; other calls are answered while a large one is read."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Final, TypeVar

from extender.wire.objects import PodReader

T = TypeVar("T")

LARGE_BYTES: Final = 32 << 10
"""A usual pod has some 5 KB; this much may take 10 ms to read, and what a request may have at most
0.15 s."""


class RequestReader:
    """Reads large requests in a thread, one after the other, and others where they come in."""

    def __init__(self, pods: PodReader) -> None:
        self._pods = pods
        self._apart = pods.another()
        # One thread: a reader is for one at a time, and a call that was given up is still read.
        self._thread = ThreadPoolExecutor(1, "large requests")

    async def read(self, size: int, read: Callable[[PodReader], T]) -> T:
        """Return what `read` makes of a request of so many bytes with a reader for its pods."""
        if size <= LARGE_BYTES:
            return read(self._pods)
        return await asyncio.get_running_loop().run_in_executor(self._thread, read, self._apart)
