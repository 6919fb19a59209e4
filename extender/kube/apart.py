"""Objects that take long to read are read in a thread: watches, and callbacks, go on meanwhile."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Final, Generic, TypeVar

import msgspec

from extender.errors import ObjectError

T = TypeVar("T")

LARGE_BYTES: Final = 64 << 10
"""A usual object has some 5 KB. A pod may have 1.5 MiB, of which nothing but affinity terms: half a
second to read, against 20 ms for this much."""


class ApartReader(Generic[T]):
    """Reads the objects of one reflector, which come one after the other."""

    def __init__(
        self, read: Callable[[msgspec.Raw], T], read_apart: Callable[[msgspec.Raw], T]
    ) -> None:
        """`read_apart` is called in a thread, by nobody else, and never twice at a time."""
        self._read = read
        self._read_apart = read_apart
        self._at_a_time = asyncio.Lock()
        self._done: tuple[msgspec.Raw, T] | None = None

    async def prepare(self, raw: msgspec.Raw) -> T | None:
        """Read and return a large object, so that `read` has it when it is called next."""
        if len(memoryview(raw)) <= LARGE_BYTES:
            return None
        async with self._at_a_time:
            try:
                obj = await asyncio.to_thread(self._read_apart, raw)
            except ObjectError:
                # It is read once more, where the error is expected.
                return None
            self._done = raw, obj
            return obj

    def read(self, raw: msgspec.Raw) -> T:
        """Read an object, or return it if it is the one that was prepared."""
        done, self._done = self._done, None
        return done[1] if done is not None and done[0] is raw else self._read(raw)
