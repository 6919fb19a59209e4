"""Everything as a stream: a watch that begins with all there is, object by object.

A plain list at version 0 comes as one body, however large, because the API server's cache ignores
the limit. The stream needs no more memory than its longest line. Kubernetes 1.34 and later serve
it; others refuse it, and so does a proxy that does not know the parameter.
"""

from __future__ import annotations

import asyncio
import contextlib
from math import ceil
from typing import TYPE_CHECKING, Final, TypeVar

from extender.kube.failures import BrokenAnswerError, StalledListError, StatusError
from extender.kube.frames import Kind, ends_initial_events
from extender.kube.patience import Patience
from extender.kube.snapshot import SLICE, Snapshot
from extender.kube.watching import events

if TYPE_CHECKING:
    from extender.kube.client import ApiClient
    from extender.kube.frames import Event, Resource, Skipped

T = TypeVar("T")

_NOT_UNDERSTOOD: Final = frozenset((400, 404, 405, 406, 422))


def is_not_understood(failure: StatusError) -> bool:
    """Whether the server does not know how to stream a list, and so will not learn it either."""
    return failure.status in _NOT_UNDERSTOOD


async def stream_snapshot(
    client: ApiClient, resource: Resource[T], version: str, skipped: Skipped
) -> Snapshot[T]:
    """Take everything, not older than `version`; the watch that follows is another request.

    StalledListError when it takes too long as a whole, or nothing new comes for too long: the same
    objects again, bookmarks that are not the last one, and what cannot be read are no progress.
    """
    snapshot: Snapshot[T] = Snapshot()
    seconds = client.timeouts.streamed
    patience = Patience(client.timeouts.progress, StalledListError)
    stream = events(
        client, resource, version, seconds=ceil(seconds), skipped=skipped, initial=patience
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
