"""Mirror one resource of the API server into a sink, for ever.

Three loops inside each other, each for one class of failure::

    run       lists everything when the version we stand at is of no use any more
    _follow   opens the watch again from that version when one ends
    _watch    takes one watch's events, leaving out what makes no sense

The rules are those of client-go's reflector (tools/cache/reflector.go), except that a server from
which no answer came at all never costs a list: the version is as good as before.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Callable, Mapping
from collections.abc import Set as AbstractSet
from typing import Final, Generic, NoReturn, Protocol, TypeVar

from extender.errors import ExtenderError, ObjectError
from extender.kube.client import ApiClient
from extender.kube.failures import (
    BrokenAnswerError,
    End,
    Restart,
    StalledListError,
    StatusError,
    end_of_watch,
    why_relist,
)
from extender.kube.frames import Event, Kind, Resource, Skip, read_object
from extender.kube.listing import SLICE, Lister, Snapshot
from extender.kube.observers import ReflectorObserver, RepeatingLog, SkipLog, Unobserved
from extender.kube.pacing import Backoff, Brought, Pace, Timing
from extender.kube.watching import events, is_not_understood, stream_snapshot
from extender.logs import CHANGES
from extender.model.keys import Identity

_log = logging.getLogger(__name__)

T = TypeVar("T")

LATEST_VERSION: Final = ""
"""What the server has at this moment. A program that starts again must not miss the pods that it
bound itself a moment before, which a server's cache may not show yet."""

_CACHED_VERSION: Final = "0"
"""What a server may answer that has no version of its own to name: whatever it had at hand."""

LEAST_WATCH_SECONDS: Final = 300
"""The server is asked to end a watch after this many seconds up to twice as many, at random, so
that watches spread over the servers again after one of them restarted."""


class Reflector(Generic[T]):
    """Keeps `sink` equal to what the API server has."""

    def __init__(
        self,
        client: ApiClient,
        resource: Resource[T],
        sink: Sink[T],
        *,
        observer: ReflectorObserver | None = None,
        timing: Timing | None = None,
        promised: Callable[[], Mapping[Identity, str]] = dict,
    ) -> None:
        """`promised` gives key and uid of objects that are counted on and not in the sink.

        Each has existed in the API server at the version given, though no watch has shown it.
        """
        self.resource = resource
        self.synced = asyncio.Event()
        """Set when the first list has been taken over; a later break does not clear it."""
        self.last_heard: float | None = None
        """When the server last said something about the resource, in seconds since the epoch."""
        self._heard_at: float | None = None
        self._client = client
        self._sink = sink
        self._promised = promised
        self._observer = observer or Unobserved()
        self._timing = timing or Timing()
        self._backoff = Backoff(self._timing)
        self._log = RepeatingLog(_log, resource.name, self._timing.clock)
        self._skips = SkipLog(_log, resource.name, self._timing.clock)
        self._pace = Pace(self._backoff)
        self._changes = 0
        self._lister = Lister(client, resource, self._skipped)
        self._streams = True
        self._version = LATEST_VERSION
        self._observer.synced(resource.name, False)  # noqa: FBT003 - a metric's value

    @property
    def name(self) -> str:
        """The resource's name."""
        return self.resource.name

    @property
    def silent_for(self) -> float | None:
        """Return the seconds since an event, a bookmark or a whole list came; None before any.

        That a watch was opened does not count: a server that answers and then says nothing has
        shown nothing of its state.
        """
        return None if self._heard_at is None else self._timing.clock() - self._heard_at

    async def run(self) -> NoReturn:
        """Mirror until cancelled; only defects, of the sink for example, end it otherwise."""
        while True:
            try:
                await self._list()
                await self._follow()
            except ExtenderError as failure:
                reason, retry_after = why_relist(failure)
                self._log.warning(f"listing again: {failure}")
                await self._backoff.wait(retry_after)
                self._observer.relisted(self.name, reason)

    async def _list(self) -> None:
        """Take over everything, and what it tells of objects that no watch has shown.

        An object that was promised before the list was asked for, and is not in it, is gone: but
        only if the list is a consistent read. One from a server's cache may be older than the
        object. So is one that was promised meanwhile, if it existed at the version of the list or
        before: of what comes later, the watch tells. See `cluster.ledgers.reservations`.
        """
        before = self._promised()
        snapshot = await self._snapshot(LATEST_VERSION if before else self._version)
        await self._replace(snapshot)
        for (key, uid), seen_at in self._promised().items():
            shown = (key, uid) in before or _is_as_new(snapshot.version, seen_at)
            if shown and not snapshot.has_unreadable(key, uid):
                self._sink.delete(key, uid)

    async def _snapshot(self, version: str) -> Snapshot[T]:
        """Take everything by stream, or page by page where that does not work."""
        if self._streams:
            try:
                return await stream_snapshot(self._client, self.resource, version, self._skipped)
            except StatusError as failure:
                if failure.expired or failure.version_too_large:
                    _log.info("%s: listing the latest state: %s", self.name, failure)
                    return await self._lister.latest()
                if not is_not_understood(failure):
                    raise
                _log.info("%s: listing in pages from now on: %s", self.name, failure)
                self._streams = False
            except StalledListError as failure:
                _log.warning("%s: listing in pages from now on: %s", self.name, failure)
                self._streams = False
            except BrokenAnswerError as failure:
                _log.info("%s: listing in pages: %s", self.name, failure)
        return await self._lister.snapshot(version)

    async def _follow(self) -> NoReturn:
        """Watch on and on; raises when the server refuses to go on from our version."""
        while True:
            before, changes, opened = self._version, self._changes, self._timing.clock()
            try:
                await self._watch()
                end = End(Restart.ENDED, "ended")
            except ExtenderError as failure:
                end = end_of_watch(failure)
            brought = Brought.NOTHING
            if self._version != before:
                brought = Brought.CHANGES if self._changes != changes else Brought.BOOKMARKS
            end, seconds = self._pace.before_next(end, brought, self._timing.clock() - opened)
            if seconds:
                self._log.warning(f"watching again: {end.said}")
                await self._timing.sleep(seconds)
            self._observer.restarted(self.name, end.reason)

    async def _watch(self) -> None:
        chance = self._timing.chance()
        seconds = LEAST_WATCH_SECONDS + int(LEAST_WATCH_SECONDS * chance)
        stream = events(
            self._client, self.resource, self._version, seconds=seconds, skipped=self._skipped
        )
        async with contextlib.aclosing(stream):
            count = 0
            async for event in stream:
                await self._prepare(event)
                self._take(event)
                count += 1
                if count % SLICE == 0:
                    # Lines that have arrived already are read without a pause otherwise.
                    await asyncio.sleep(0)

    async def _prepare(self, event: Event) -> None:
        """Do little by little what would take long in `_take`."""
        prepare = self.resource.prepare
        if prepare is not None and event.kind in {Kind.ADDED, Kind.MODIFIED}:
            obj = await prepare(event.raw)
            if obj is not None:
                await self._ease(obj)

    async def _ease(self, obj: T) -> None:
        if self.resource.ease is not None:
            for _ in self.resource.ease(obj):
                await asyncio.sleep(0)

    def _take(self, event: Event) -> None:
        """Apply one event and note how far we are; nothing may be awaited in here."""
        match event.kind:
            case Kind.ADDED | Kind.MODIFIED:
                try:
                    self._sink.upsert(read_object(self.resource, event.raw))
                except ObjectError as failure:
                    # What we know of it, if anything, is better than nothing.
                    self._skipped(Skip.UNREADABLE, f"{event.metadata.key}: {failure}")
            case Kind.DELETED:
                self._sink.delete(event.metadata.key, event.metadata.uid)
            case Kind.BOOKMARK:
                pass
        if event.kind is not Kind.BOOKMARK:
            self._changes += 1
            if _log.isEnabledFor(CHANGES):
                _log.log(CHANGES, "%s: %s %s", self.name, event.kind, event.metadata.key)
        self._advance(event)
        self._observer.event(self.name, event.kind)
        self._heard()
        self._log.recovered("watching")

    def _advance(self, event: Event) -> None:
        # A watch from no version begins with one ADDED for each object, in no order.
        synthetic = event.kind is Kind.ADDED and self._version == _CACHED_VERSION
        if not synthetic and not _is_older(event.metadata.resource_version, self._version):
            self._version = event.metadata.resource_version

    async def _replace(self, snapshot: Snapshot[T]) -> None:
        """Make the sink equal to `snapshot`, in slices that each leave it whole.

        No event is taken meanwhile, so nothing newer is overwritten. New objects go in before old
        ones go out: for a moment too much is known to be placed rather than too little.
        """
        for count, obj in enumerate(snapshot.objects.values(), 1):
            await self._ease(obj)
            self._sink.upsert(obj)
            if count % SLICE == 0:
                await asyncio.sleep(0)
        for count, key in enumerate(self._sink.keys() - snapshot.objects.keys(), 1):
            uid = self._sink.uid(key)
            if not snapshot.has_unreadable(key, uid):
                self._sink.delete(key, uid)
            if count % SLICE == 0:
                await asyncio.sleep(0)
        # Even when it is lower than before: etcd may have been restored from a backup.
        self._version = snapshot.version
        self._heard()
        if not self.synced.is_set():
            self.synced.set()
            self._observer.synced(self.name, True)  # noqa: FBT003 - a metric's value
            _log.info("%s: synced, %d objects", self.name, len(snapshot.objects))

    def _heard(self) -> None:
        self.last_heard = self._timing.wall()
        self._heard_at = self._timing.clock()
        self._observer.last_event(self.name, self.last_heard)

    def _skipped(self, reason: Skip, detail: str) -> None:
        self._observer.skipped(self.name, reason)
        self._skips.left_out(reason, detail)


def _is_older(version: str, than: str) -> bool:
    # Versions are opaque unless both are numbers, as all that Kubernetes serves are.
    return version.isdecimal() and than.isdecimal() and int(version) < int(than)


def _is_as_new(version: str, as_: str) -> bool:
    return version.isdecimal() and as_.isdecimal() and int(version) >= int(as_)


T_contra = TypeVar("T_contra", contravariant=True)


class Sink(Protocol[T_contra]):
    """Keeps objects by key: namespace/name, or the name of what has no namespace.

    Each call is one whole step: it must not leave anything half done, and takes repeated,
    unchanged and unknown objects calmly.
    """

    def keys(self) -> AbstractSet[str]:
        """Return the keys of all objects it holds."""

    def uid(self, key: str) -> str:
        """Return the uid of the object under `key`, or "" without one."""

    def upsert(self, obj: T_contra) -> None:
        """Add an object, or replace the one of the same key."""

    def delete(self, key: str, uid: str) -> None:
        """Forget an object, unless another one has taken its key."""
