"""What is known of one resource: the sink, how far it is, and when it was confirmed."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping
from collections.abc import Set as AbstractSet
from typing import Final, Generic, Protocol, TypeVar

from extender.core.errors import ObjectError
from extender.core.kube.frames import Event, EventType, Resource, Skip, Skipped, read_object
from extender.core.kube.observers import ReflectorObserver, shortened
from extender.core.kube.pacing import ObjectSlices, Timing
from extender.core.kube.watching import Snapshot
from extender.core.logs import CHANGES
from extender.core.wire.decoding import whole_number

_log = logging.getLogger(__name__)

T = TypeVar("T")

_CACHED_VERSION: Final = "0"
"""What a server may answer that has no version of its own to name: whatever it had at hand."""


class Mirror(Generic[T]):
    """Takes over lists and events, each in its order."""

    def __init__(
        self,
        resource: Resource[T],
        sink: Sink[T],
        observer: ReflectorObserver,
        timing: Timing,
        skipped: Skipped,
    ) -> None:
        """`skipped` hears of objects that cannot be read."""
        self.version = ""
        """Of the last list, event or bookmark, "" before any: up to it the sink has everything."""
        self.changes = 0
        """How many events there were that were no bookmarks."""
        self.last_heard: float | None = None
        """When the server last said something about the resource, in seconds since the epoch."""
        self._heard_at: float | None = None
        self._resource = resource
        self._sink = sink
        self._observer = observer
        self._timing = timing
        self._skipped = skipped
        self._unreadable: dict[str, str] = {}

    @property
    def silent_for(self) -> float | None:
        """Return the seconds since an event, a bookmark or a whole list came; None before any.

        That a watch was opened does not count: a server that answers and then says nothing has
        shown nothing of its state. Nor does a bookmark from before what is known.
        """
        return None if self._heard_at is None else self._timing.clock() - self._heard_at

    @property
    def unreadable(self) -> Mapping[str, str]:
        return self._unreadable

    async def take(self, event: Event) -> bool:
        """Apply one event and note how far we are, in one step; return whether that is news."""
        key = event.metadata.key
        match event.kind:
            case EventType.ADDED | EventType.MODIFIED:
                try:
                    obj = await read_object(self._resource, event.raw)
                    # Nothing may be awaited from here on.
                    self._sink.upsert(obj)
                    self._unreadable.pop(key, None)
                except ObjectError as failure:
                    # What we know of it, if anything, is better than nothing.
                    self._unreadable[key] = shortened(str(failure))
                    self._skipped(Skip.UNREADABLE, f"{key}: {failure}")
            case EventType.DELETED:
                self._sink.delete(key, event.metadata.uid)
                self._unreadable.pop(key, None)
            case EventType.BOOKMARK:
                pass
        if event.kind is not EventType.BOOKMARK:
            self.changes += 1
            if _log.isEnabledFor(CHANGES):
                _log.log(CHANGES, "%s: %s %s", self._resource.name, event.kind, key)
        is_old = is_older(event.metadata.resource_version, self.version)
        # A watch from no version begins with one ADDED for each object, in no order.
        synthetic = event.kind is EventType.ADDED and self.version == _CACHED_VERSION
        if not (synthetic or is_old):
            self.version = event.metadata.resource_version
        self._observer.event(self._resource.name, event.kind)
        is_news = not (is_old and event.kind is EventType.BOOKMARK)
        if is_news:
            self._heard()
        return is_news

    async def replace(self, snapshot: Snapshot[T]) -> None:
        """Make the sink equal to `snapshot`, in slices that each leave it whole.

        No event is taken meanwhile, so nothing newer is overwritten. New objects go in before old
        ones go out: for a moment too much is known to be placed rather than too little.
        """
        slices = ObjectSlices(self._timing.clock)
        for obj in snapshot.objects.values():
            self._sink.put(obj)
            if slices.end():
                await asyncio.sleep(0)
        for key in self._sink.keys() - snapshot.objects.keys():
            uid = self._sink.uid(key)
            if not snapshot.has_unreadable(key, uid):
                self._sink.delete(key, uid)
            if slices.end():
                await asyncio.sleep(0)
        found = snapshot.unreadable.items()
        self._unreadable = {key: shortened(why) for key, (_, why) in found}
        # Even when it is lower than before: etcd may have been restored from a backup.
        self.version = snapshot.version
        self._heard()

    def _heard(self) -> None:
        self.last_heard = self._timing.wall()
        self._heard_at = self._timing.clock()
        self._observer.last_event(self._resource.name, self.last_heard)


def is_older(version: str, than: str) -> bool:
    """Return whether a version is certainly from before another one."""
    # Versions are opaque unless both are numbers, as all that Kubernetes serves are.
    one, other = whole_number(version), whole_number(than)
    return one is not None and other is not None and one < other


T_contra = TypeVar("T_contra", contravariant=True)


class Sink(Protocol[T_contra]):
    """Keeps objects by key: namespace/name, or the name of what has no namespace.

    Each call is one whole step: it must not leave anything half done, and takes repeated,
    unchanged and unknown objects calmly.
    """

    def keys(self) -> AbstractSet[str]: ...

    def uid(self, key: str) -> str:
        """Return the uid of the object under `key`, or "" without one."""

    def put(self, obj: T_contra) -> None:
        """Hold an object as a list shows it, which is not older than anything that is held."""

    def upsert(self, obj: T_contra) -> None: ...

    def delete(self, key: str, uid: str) -> None:
        """Forget an object, unless another one has taken its key."""
