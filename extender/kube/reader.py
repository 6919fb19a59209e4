"""What the API server has now: single objects right before an act on them, lists for commands."""

from __future__ import annotations

import logging
import time
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from functools import partial
from http import HTTPStatus
from typing import Any, Final, TypeVar

import msgspec

from extender.cluster.state import ClusterState
from extender.errors import ApiError
from extender.kube.calls import namespace_path, node_path, pod_path
from extender.kube.client import ApiClient
from extender.kube.failures import BrokenAnswerError
from extender.kube.frames import Resource, read_page, read_version
from extender.kube.limits import MOST, WITHIN
from extender.kube.observers import RepeatingLog
from extender.kube.watching import Lister
from extender.model.keys import Key
from extender.model.objects import Namespace, Node, Pod, SeenPod
from extender.model.pod_affinity import PodSelector
from extender.model.wording import labels_of
from extender.reading import pods_apart
from extender.resources import WatchedResource
from extender.wire.objects import NodeReader, PodReader, read_namespace

LIVE: Final = "status.phase!=Succeeded,status.phase!=Failed"

T = TypeVar("T")

_log = logging.getLogger(__name__)


class ObjectReader:
    """Asks for objects by name, without a resourceVersion: what is stored now, not in some cache.

    None for what there is not; ExtenderError when it cannot be read.
    """

    def __init__(self, client: ApiClient, pods: PodReader) -> None:
        self._client = client
        self._pods = pods_apart(pods)
        self._nodes = NodeReader()

    async def pod(self, key: Key, within: float = WITHIN.read) -> SeenPod | None:
        """Return a pod, with its version."""
        body = await self._get(pod_path(key), within)
        if body is None:
            return None
        pod = await self._pods.read(len(body), lambda pods: pods.read(body))
        return SeenPod(pod, read_version(body))

    async def node(self, name: str) -> Node | None:
        """Return a node."""
        return await self._read(node_path(name), self._nodes.read)

    async def namespace(self, name: str) -> Namespace | None:
        """Return a namespace."""
        return await self._read(namespace_path(name), read_namespace)

    async def pods(self, pods: PodSelector, node: str | None) -> Sequence[Pod] | None:
        """Return the pods that may match a selector and have not ended, of one node if it is given.

        None when there are too many. Namespaces that are chosen by labels are those
        of whoever asks to look at.
        """
        labels = labels_of(pods.selector) if pods.selector.requirements else ""
        if len(labels) > MOST.selector:
            return None
        one = len(pods.namespaces) == 1 and pods.namespace_selector is None
        query = {
            "fieldSelector": LIVE if node is None else f"spec.nodeName={node},{LIVE}",
            "limit": str(MOST.listed_pods),
            **({"labelSelector": labels} if labels else {}),
        }
        path = f"{namespace_path(next(iter(pods.namespaces))) if one else '/api/v1'}/pods"
        body = await self._client.get(path, query, within=WITHIN.read)
        page = read_page(body)
        if page.metadata.continue_:
            return None
        return [
            await self._pods.read(len(raw), partial(PodReader.read, raw=raw))
            for raw in map(bytes, page.items or ())
        ]

    async def _read(self, path: str, read: Callable[[bytes], T]) -> T | None:
        body = await self._get(path, WITHIN.read)
        return None if body is None else read(body)

    async def _get(self, path: str, within: float) -> bytes | None:
        try:
            return await self._client.get(path, {}, within=within)
        except ApiError as error:
            if error.status == HTTPStatus.NOT_FOUND:
                return None
            raise


async def list_resources(
    client: ApiClient, state: ClusterState, pods: PodReader, *resources: WatchedResource[Any]
) -> None:
    """Put all objects of some resources into a state; of pods those that have not ended.

    ExtenderError when the API server refuses or cannot be reached; objects that cannot be read are
    left out, with a warning in the log.
    """
    for each in resources:
        await _list(client, state, each, pods)


async def list_raw(
    client: ApiClient, name: str, path: str, query: Mapping[str, str]
) -> list[msgspec.Raw]:
    """Return all objects of a resource as the API server writes them, without their kind.

    ExtenderError when the API server refuses or cannot be reached.
    """
    resource = Resource(name, path, lambda raw: raw, query)
    log = RepeatingLog(_log, name, time.monotonic)
    return list((await Lister(client, resource, log.left_out).latest()).objects.values())


async def _list(
    client: ApiClient, state: ClusterState, watched: WatchedResource[T], pods: PodReader
) -> None:
    resource = Resource(watched.name, watched.path, watched.reader(pods), watched.query)
    log = RepeatingLog(_log, resource.name, time.monotonic)
    snapshot = await Lister(client, resource, log.left_out).latest()
    for obj in snapshot.objects.values():
        watched.upsert(state, obj)


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
