"""Large pods are read before they are taken, so that a reflector takes each event in one step."""

from __future__ import annotations

import msgspec

from extender.errors import ObjectError
from extender.model.objects import Pod
from extender.reading import LARGE_BYTES, ApartReader


class PreparedPods:
    """Reads the pods of one reflector, which come one after the other."""

    def __init__(self, reader: ApartReader) -> None:
        self._reader = reader
        self._done: tuple[msgspec.Raw, Pod | ObjectError] | None = None

    async def prepare(self, raw: msgspec.Raw) -> Pod | None:
        """Read and return a large pod, so that `read` has it when it is called next.

        None for one of usual size, and for one that cannot be read: `read` tells why.
        """
        size = len(memoryview(raw))
        if size <= LARGE_BYTES:
            return None
        try:
            pod = await self._reader.read(size, lambda pods: pods.read(raw))
        except ObjectError as error:
            self._done = raw, error
            return None
        self._done = raw, pod
        return pod

    def read(self, raw: msgspec.Raw) -> Pod:
        """Read a pod, or return it if it is the one that was prepared."""
        done, self._done = self._done, None
        if done is None or done[0] is not raw:
            return self._reader.pods.read(raw)
        if isinstance(done[1], ObjectError):
            raise done[1]
        return done[1]
