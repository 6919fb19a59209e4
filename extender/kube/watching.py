"""One watch request, from its first event to its end."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncGenerator
from math import ceil
from typing import Any, Final, TypeVar

from extender.kube.client import ApiClient
from extender.kube.failures import (
    BrokenAnswerError,
    BrokenLineError,
    StalledListError,
    StatusError,
)
from extender.kube.frames import (
    Event,
    Kind,
    Resource,
    Skipped,
    SkippedError,
    ends_initial_events,
    read_event,
)
from extender.kube.listing import SLICE, Snapshot
from extender.kube.pacing import Patience


async def events(
    client: ApiClient,
    resource: Resource[Any],
    version: str,
    *,
    seconds: int,
    skipped: Skipped,
    patience: Patience,
    initial: bool = False,
) -> AsyncGenerator[Event, None]:
    """Yield what happened after `version`, until the server ends it after about `seconds`.

    With `initial`, everything that exists comes first, then a bookmark that says so. What shows
    that there is progress, and renews the patience, is for the caller to tell.

    A line that is no event, an ERROR event and a failed connection end the stream, as exceptions
    of `failures`: what comes after a line that nobody can read must not pass for all there is.
    """
    params = {
        **resource.params,
        "watch": "true",
        "resourceVersion": version,
        "allowWatchBookmarks": "true",
        "timeoutSeconds": str(seconds),
    }
    if initial:
        params |= {"sendInitialEvents": "true", "resourceVersionMatch": "NotOlderThan"}
    async with client.stream(resource.path, params) as lines:
        with patience.with_stream(lines):
            async for line in lines:
                try:
                    event = read_event(line)
                except SkippedError as skip:
                    skipped(skip.reason, skip.detail)
                    if not line.isspace():
                        raise BrokenLineError(f"a line that is no event: {skip.reason}") from skip
                else:
                    yield event


T = TypeVar("T")

LATEST_VERSION: Final = ""
"""What the server has at this moment, as etcd has it. So lists never miss what this program bound
itself a moment before, and never bring back what is gone, as a server's cache might. Servers that
stream lists serve that from their cache as well, once it is up to date; older ones read all that
comes in pages from etcd, whatever the version."""

_NOT_UNDERSTOOD: Final = frozenset((400, 404, 405, 406, 422))


def is_not_understood(failure: StatusError) -> bool:
    """Whether the server does not know how to stream a list, and so will not learn it either."""
    return failure.status in _NOT_UNDERSTOOD


async def stream_snapshot(
    client: ApiClient, resource: Resource[T], skipped: Skipped
) -> Snapshot[T]:
    """Take everything as it is now; the watch that follows is another request.

    StalledListError when it takes too long as a whole, or nothing new comes for too long: the same
    objects again, bookmarks that are not the last one, and what cannot be read are no progress.
    """
    snapshot: Snapshot[T] = Snapshot()
    seconds = client.timeouts.streamed
    patience = Patience(client.timeouts.progress, StalledListError)
    stream = events(
        client,
        resource,
        LATEST_VERSION,
        seconds=ceil(seconds),
        skipped=skipped,
        patience=patience,
        initial=True,
    )
    loop = asyncio.get_running_loop()
    begun = loop.time()
    async with contextlib.aclosing(stream):
        count = 0
        async for event in stream:
            if ends_initial_events(event):
                snapshot.version = event.metadata.resource_version
                return snapshot
            if resource.prepare is not None:
                await resource.prepare(event.raw)
            before = len(snapshot)
            _take(event, resource, snapshot, skipped)
            if len(snapshot) > before:
                patience.renew()
            if loop.time() - begun > seconds:
                raise StalledListError(f"not complete after {seconds:g} s")
            count += 1
            if count % SLICE == 0:
                await asyncio.sleep(0)
    raise BrokenAnswerError("the stream ended before everything was sent")


def _take(event: Event, resource: Resource[T], snapshot: Snapshot[T], skipped: Skipped) -> None:
    match event.kind:
        case Kind.ADDED | Kind.MODIFIED:
            snapshot.take(resource, event.metadata, event.raw, skipped)
        case Kind.DELETED:
            snapshot.drop(event.metadata.key)
        case Kind.BOOKMARK:
            pass
