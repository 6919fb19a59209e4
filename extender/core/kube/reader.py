"""What the API server has now of single objects, right before an act on them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Final, TypeVar

from extender.core.errors import ApiError
from extender.core.kube.calls import namespace_path, node_path, pod_path
from extender.core.kube.client import ApiClient
from extender.core.kube.frames import read_page, read_version
from extender.core.kube.limits import MOST, WITHIN
from extender.core.model.keys import Key
from extender.core.model.objects import Namespace, Node, Pod, SeenPod
from extender.core.model.pod_affinity import PodSelector
from extender.core.model.wording import labels_of
from extender.core.reading import pods_apart
from extender.core.wire.objects import NodeReader, PodReader, read_namespace

LIVE: Final = "status.phase!=Succeeded,status.phase!=Failed"

T = TypeVar("T")


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
        return await self._read(node_path(name), self._nodes.read)

    async def namespace(self, name: str) -> Namespace | None:
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
            if error.is_missing:
                return None
            raise
