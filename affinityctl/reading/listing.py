"""Lists of an API server, each once. Brings 40 MB of models: to be imported where it is used."""

from __future__ import annotations

import logging
import time
from collections.abc import AsyncIterator, Mapping, Sequence
from typing import Any, Final

import msgspec

from extender.core.cluster.state import ClusterState
from extender.core.kube.client import ApiClient
from extender.core.kube.failures import BrokenAnswerError
from extender.core.kube.frames import Resource, read_page
from extender.core.kube.limits import MOST
from extender.core.kube.observers import RepeatingLog
from extender.core.kube.watching import Lister
from extender.core.resources import WatchedResource
from extender.core.wire.objects import PodReader

_log: Final = logging.getLogger(__name__)


async def list_resource(
    client: ApiClient, state: ClusterState, pods: PodReader, each: WatchedResource[Any]
) -> None:
    """Put all objects of a resource into a state; of pods those that have not ended.

    ExtenderError when the API server refuses or cannot be reached; objects that cannot be read are
    left out, with a warning in the log.
    """
    resource = Resource(each.name, each.path, each.reader(pods), each.query)
    for obj in await _listed(client, resource):
        each.upsert(state, obj)


async def list_raw(
    client: ApiClient, name: str, path: str, query: Mapping[str, str]
) -> list[msgspec.Raw]:
    """Return all objects of a resource as the API server writes them, without their kind.

    ExtenderError when the API server refuses or cannot be reached.
    """
    resource = Resource(name, path, lambda raw: raw, query)
    return await _listed(client, resource)


async def _listed(client: ApiClient, resource: Resource[Any]) -> list[Any]:
    log = RepeatingLog(_log, resource.name, time.monotonic)
    return list((await Lister(client, resource, log.left_out).latest()).objects.values())


async def list_pages(
    client: ApiClient, path: str, query: Mapping[str, str]
) -> AsyncIterator[Sequence[msgspec.Raw]]:
    """Yield all objects of a resource page by page, so that one page at a time is in memory.

    ExtenderError when the API server refuses or cannot be reached; a StatusError that has `expired`
    when it took too long to take the pages.
    """
    limit, token = {**query, "limit": str(MOST.page)}, ""
    while True:
        page = read_page(await client.get(path, {**limit, "continue": token} if token else limit))
        yield page.items or ()
        if not page.metadata.continue_:
            return
        if page.metadata.continue_ == token:
            raise BrokenAnswerError("the pages of the list repeat")
        token = page.metadata.continue_
