"""Watches a selection of objects while a test runs."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable, Mapping
from typing import TYPE_CHECKING, Generic, Protocol, TypeVar

from extender.core.errors import ExtenderError
from extender.core.kube.frames import Resource
from extender.core.kube.reflector import Reflector
from extender.core.kube.watchers import Watchers

if TYPE_CHECKING:
    from collections.abc import Set as AbstractSet

    import msgspec

    from extender.core.kube.client import ApiClient

SYNC_TIMEOUT_S = 60.0
"""The time limit of the first list."""

CHECK_PAUSE_S = 0.05
"""Conditions look at every object, which is too much for each of a thousand events a second."""


class Known(Protocol):
    @property
    def key(self) -> str:
        """Namespace/name, or the name of what has no namespace."""

    @property
    def uid(self) -> str:
        """The uid, which tells two objects of one name apart."""


T = TypeVar("T", bound=Known)


class Pulse:
    """Signals changes in one or more watches."""

    def __init__(self) -> None:
        self._changed = asyncio.Event()

    def beat(self) -> None:
        self._changed.set()

    async def until(self, condition: Callable[[], bool]) -> None:
        """Wait until a condition on the objects holds."""
        while not condition():
            self._changed.clear()
            await self._changed.wait()
            await asyncio.sleep(CHECK_PAUSE_S)


class Watch(Generic[T]):
    """The selected objects by key, kept up to date by a reflector."""

    def __init__(self, on_upsert: Callable[[T], None] | None, pulse: Pulse) -> None:
        self.objects: dict[str, T] = {}
        self.pulse = pulse
        self._on_upsert = on_upsert

    def keys(self) -> AbstractSet[str]:
        return self.objects.keys()

    def uid(self, key: str) -> str:
        """Return the uid of the object under `key`, or "" without one."""
        return self.objects[key].uid if key in self.objects else ""

    def put(self, obj: T) -> None:
        self.upsert(obj)

    def upsert(self, obj: T) -> None:
        self.objects[obj.key] = obj
        if self._on_upsert:
            self._on_upsert(obj)
        self.pulse.beat()

    def delete(self, key: str, uid: str) -> None:
        if self.uid(key) == uid:
            self.objects.pop(key, None)
        self.pulse.beat()


@contextlib.asynccontextmanager
async def watching(
    client: ApiClient,
    path: str,
    params: Mapping[str, str],
    read: Callable[[msgspec.Raw], T],
    *,
    on_upsert: Callable[[T], None] | None = None,
    pulse: Pulse | None = None,
) -> AsyncIterator[Watch[T]]:
    """Watch the objects of a collection; yield once the first list is complete."""
    watch = Watch[T](on_upsert, pulse or Pulse())
    name = path.rpartition("/")[2]
    async with Watchers([Reflector(client, Resource(name, path, read, params), watch)]) as watchers:
        try:
            async with asyncio.timeout(SYNC_TIMEOUT_S):
                await watchers.wait_synced()
        except TimeoutError:
            raise ExtenderError(f"no list of {name} in {SYNC_TIMEOUT_S:g} s") from None
        yield watch
