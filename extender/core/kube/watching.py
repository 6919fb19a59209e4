"""Lists and watches of one resource: what is there, in pages or streamed, then each event."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import AsyncGenerator, Callable, Mapping
from dataclasses import dataclass, field
from math import ceil
from time import monotonic
from typing import Final, Generic, TypeVar

import msgspec

from extender.core.errors import ObjectError
from extender.core.kube.client import ApiClient
from extender.core.kube.failures import (
    BrokenAnswerError,
    BrokenLineError,
    StalledListError,
    StatusError,
)
from extender.core.kube.frames import (
    Event,
    EventType,
    ListPage,
    Metadata,
    Resource,
    Skip,
    Skipped,
    SkippedError,
    ends_initial_events,
    read_event,
    read_metadata,
    read_object,
    read_page,
)
from extender.core.kube.limits import MOST, WITHIN
from extender.core.kube.pacing import ObjectSlices, Patience

_log = logging.getLogger(__name__)

T = TypeVar("T")

LATEST_VERSION: Final = ""
"""What the server has at this moment, as etcd has it. So lists never miss what this program bound
itself a moment before, and never bring back what is gone, as a server's cache might. Servers that
stream lists serve that from their cache as well, once it is up to date; older ones read all that
comes in pages from etcd, whatever the version."""

_NOT_UNDERSTOOD: Final = frozenset((400, 404, 405, 406, 422))


@dataclass(slots=True)
class Lister(Generic[T]):
    """Lists and watches one resource; what cannot be read is `skipped`."""

    client: ApiClient
    resource: Resource[T]
    skipped: Skipped
    clock: Callable[[], float] = monotonic
    _streams: bool = True
    """Whether the server may know how to stream a list."""

    async def present(self) -> Snapshot[T]:
        """Take everything as it is now, by stream, or page by page where that does not work."""
        if self._streams:
            try:
                return await self._streamed()
            except StatusError as failure:
                if failure.expired or failure.version_too_large:
                    _log.info("%s: listing in pages: %s", self.resource.name, failure)
                    return await self.latest()
                if failure.status not in _NOT_UNDERSTOOD:
                    raise
                # It will not learn it either.
                _log.info("%s: listing in pages from now on: %s", self.resource.name, failure)
                self._streams = False
            except StalledListError as failure:
                _log.warning("%s: listing in pages from now on: %s", self.resource.name, failure)
                self._streams = False
            except BrokenAnswerError as failure:
                _log.info("%s: listing in pages: %s", self.resource.name, failure)
        return await self.latest()

    async def latest(self) -> Snapshot[T]:
        """List everything as it is now, by a consistent read."""
        snapshot: Snapshot[T] = Snapshot()
        limit = {"limit": str(MOST.page)}
        page = await self._page(limit)
        # All pages show the same version; should one not, the first is the safe one to watch from.
        snapshot.version = page.metadata.resource_version
        await self._take(page, snapshot)
        barren = 0
        while token := page.metadata.continue_:
            try:
                page = await self._page({**limit, "continue": token})
            except StatusError as failure:
                if not failure.expired:
                    raise
                _log.info("%s: listing without pages: %s", self.resource.name, failure)
                return await self._whole()
            if page.metadata.continue_ == token:
                raise BrokenAnswerError("the pages of the list repeat")
            before = len(snapshot)
            await self._take(page, snapshot)
            barren = barren + 1 if len(snapshot) == before else 0
            if barren == MOST.barren_pages:
                raise BrokenAnswerError(f"{barren} pages in a row brought nothing new")
        return snapshot

    async def present_version(self) -> str:
        """Return the version at which the server is now, by a consistent read of one object."""
        body = await self.client.get(
            self.resource.path, {**self.resource.params, "limit": "1"}, within=WITHIN.present
        )
        return read_page(body).metadata.resource_version

    async def _whole(self) -> Snapshot[T]:
        page = await self._page({})
        snapshot: Snapshot[T] = Snapshot(page.metadata.resource_version)
        await self._take(page, snapshot)
        return snapshot

    async def _page(self, params: Mapping[str, str]) -> ListPage:
        body = await self.client.get(self.resource.path, {**self.resource.params, **params})
        return read_page(body)

    async def _take(self, page: ListPage, snapshot: Snapshot[T]) -> None:
        slices = ObjectSlices(self.clock)
        for raw in page.items or ():
            await self._take_one(raw, snapshot)
            if slices.end():
                await asyncio.sleep(0)
        await asyncio.sleep(0)

    async def _take_one(self, raw: msgspec.Raw, snapshot: Snapshot[T]) -> None:
        try:
            metadata = read_metadata(raw)
        except SkippedError as skipped:
            self.skipped(skipped.reason, skipped.detail)
            return
        await snapshot.take(self.resource, metadata, raw, self.skipped)

    async def events(
        self,
        version: str,
        *,
        seconds: int,
        patience: Patience,
        initial: bool = False,
        opened: Callable[[], None] = lambda: None,
    ) -> AsyncGenerator[Event, None]:
        """Yield what happened after `version`, until the server ends it after about `seconds`.

        With `initial`, everything that exists comes first, then a bookmark that says so. What shows
        that there is progress, and renews the patience, is for the caller to tell. `opened` hears
        of the answer, before anything of what it says.

        A line that is no event, an ERROR event and a failed connection end the stream, as
        exceptions of `failures`: what comes after a line that nobody can read must not pass for all
        there is.
        """
        params = {
            **self.resource.params,
            "watch": "true",
            "resourceVersion": version,
            "allowWatchBookmarks": "true",
            "timeoutSeconds": str(seconds),
        }
        if initial:
            params |= {"sendInitialEvents": "true", "resourceVersionMatch": "NotOlderThan"}
        async with self.client.stream(self.resource.path, params) as lines:
            opened()
            with patience.with_stream(lines):
                async for line in lines:
                    try:
                        event = read_event(line)
                    except SkippedError as skip:
                        self.skipped(skip.reason, skip.detail)
                        if not line.isspace():
                            why = f"a line that is no event: {skip.reason}"
                            raise BrokenLineError(why) from skip
                    else:
                        yield event

    async def _streamed(self) -> Snapshot[T]:
        """Take everything as it is now; the watch that follows is another request.

        StalledListError when it takes too long as a whole, or nothing new comes for too long: the
        same objects again, bookmarks that are not the last one, and what cannot be read are no
        progress.
        """
        snapshot: Snapshot[T] = Snapshot()
        seconds = self.client.timeouts.streamed
        patience = Patience(self.client.timeouts.progress, StalledListError)
        stream = self.events(LATEST_VERSION, seconds=ceil(seconds), patience=patience, initial=True)
        loop = asyncio.get_running_loop()
        begun = loop.time()
        async with contextlib.aclosing(stream):
            slices = ObjectSlices(self.clock)
            async for event in stream:
                if ends_initial_events(event):
                    snapshot.version = event.metadata.resource_version
                    return snapshot
                before = len(snapshot)
                await self._follow(event, snapshot)
                if len(snapshot) > before:
                    patience.renew()
                if loop.time() - begun > seconds:
                    raise StalledListError(f"not complete after {seconds:g} s")
                if slices.end():
                    await asyncio.sleep(0)
        raise BrokenAnswerError("the stream ended before everything was sent")

    async def _follow(self, event: Event, snapshot: Snapshot[T]) -> None:
        match event.kind:
            case EventType.ADDED | EventType.MODIFIED:
                await snapshot.take(self.resource, event.metadata, event.raw, self.skipped)
            case EventType.DELETED:
                snapshot.drop(event.metadata.key)
            case EventType.BOOKMARK:
                pass


@dataclass(slots=True)
class Snapshot(Generic[T]):
    version: str = ""
    objects: dict[str, T] = field(default_factory=dict)
    unreadable: dict[str, tuple[str, str]] = field(default_factory=dict)
    """Key to uid of the objects that exist but make no sense to us, and why not."""

    def __len__(self) -> int:
        return len(self.objects) + len(self.unreadable)

    async def take(
        self, resource: Resource[T], metadata: Metadata, raw: msgspec.Raw, skipped: Skipped
    ) -> None:
        """Read one object; when it makes no sense, what was known of it stays."""
        try:
            found = await read_object(resource, raw)
            key = metadata.key if resource.key is None else resource.key(found)
            self.objects[key] = found
            self.unreadable.pop(key, None)
        except ObjectError as failure:
            self.unreadable[metadata.key] = metadata.uid, str(failure)
            skipped(Skip.UNREADABLE, f"{metadata.key}: {failure}")

    def drop(self, key: str) -> None:
        self.objects.pop(key, None)
        self.unreadable.pop(key, None)

    def has_unreadable(self, key: str, uid: str) -> bool:
        """Whether the object we hold is one of those; a uid of "" is not compared."""
        found = self.unreadable.get(key)
        return found is not None and uid in {"", found[0]}
