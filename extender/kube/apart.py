"""Large objects are read before they are taken, so that reflectors take each event in one step."""

from __future__ import annotations

from collections.abc import Callable
from typing import Generic, TypeVar

import msgspec

from extender.reading import APART_BYTES, ApartReader

T = TypeVar("T")


class PreparedObjects(Generic[T]):
    """Reads the objects of one reflector, which come one after the other."""

    def __init__(self, reader: ApartReader[Callable[[msgspec.Raw], T]]) -> None:
        self._reader = reader
        self._done: tuple[msgspec.Raw, T] | None = None
        self._failed: tuple[msgspec.Raw, Exception] | None = None

    async def prepare(self, raw: msgspec.Raw) -> T | None:
        """Read and return a large object, so that `read` has it when it is called next.

        None for one of usual size, and for one that cannot be read: `read` tells why.
        """
        size = len(memoryview(raw))
        if size <= APART_BYTES:
            return None
        try:
            obj = await self._reader.read(size, lambda read: read(raw))
        except Exception as error:  # noqa: BLE001 - raised by `read`, where it is expected
            self._failed = raw, error
            return None
        self._done = raw, obj
        return obj

    def read(self, raw: msgspec.Raw) -> T:
        """Read an object, or return it if it is the one that was prepared."""
        done, failed = self._done, self._failed
        self._done = self._failed = None
        if failed is not None and failed[0] is raw:
            raise failed[1]
        return done[1] if done is not None and done[0] is raw else self._reader.here(raw)
