"""One watch request, from its first event to its end."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from extender.kube.failures import IdleStreamError
from extender.kube.frames import Event, Resource, Skipped, SkippedError, read_event
from extender.kube.patience import Patience

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator

    from extender.kube.client import ApiClient


async def events(
    client: ApiClient,
    resource: Resource[Any],
    version: str,
    *,
    seconds: int,
    skipped: Skipped,
    initial: Patience | None = None,
) -> AsyncGenerator[Event, None]:
    """Yield what happened after `version`, until the server ends it after about `seconds`.

    With `initial`, everything that exists comes first, then a bookmark that says so. What shows
    that there is progress is then for the caller to tell; otherwise each event does.

    A line that makes no sense is reported as skipped and does not end the stream; an ERROR event
    and a failed connection do, as exceptions of `failures`.
    """
    params = {
        **resource.params,
        "watch": "true",
        "resourceVersion": version,
        "allowWatchBookmarks": "true",
        "timeoutSeconds": str(seconds),
    }
    if initial is not None:
        params |= {"sendInitialEvents": "true", "resourceVersionMatch": "NotOlderThan"}
    patience = initial or Patience(client.timeouts.idle, IdleStreamError)
    async with client.stream(resource.path, params) as lines:
        with patience.with_stream(lines):
            async for line in lines:
                try:
                    event = read_event(line)
                except SkippedError as skip:
                    skipped(skip.reason, skip.detail)
                else:
                    if initial is None:
                        patience.renew()
                    yield event
