"""One watch request, from its first event to its end."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from extender.kube.frames import Event, Resource, Skip, SkippedError, read_event

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Callable

    from extender.kube.client import ApiClient


async def events(
    client: ApiClient,
    resource: Resource[Any],
    version: str,
    *,
    seconds: int,
    skipped: Callable[[Skip], None],
    initial: bool = False,
) -> AsyncGenerator[Event, None]:
    """Yield what happened after `version`, until the server ends it after about `seconds`.

    With `initial`, everything that exists comes first, then a bookmark that says so.

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
    if initial:
        params |= {"sendInitialEvents": "true", "resourceVersionMatch": "NotOlderThan"}
    async with client.stream(resource.path, params) as lines:
        async for line in lines:
            try:
                event = read_event(line)
            except SkippedError as skip:
                skipped(skip.reason)
            else:
                yield event
