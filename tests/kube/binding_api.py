"""The fake API server with pods that can be bound, read and patched one by one."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable

from aiohttp import web

from tests.kube.fake_api import Answer, Collection, FakeApi, failure
from tests.kube.pulse import Pulse

PODS = "/api/v1/pods"


class BindingApi(FakeApi):
    """Takes Bindings as the real one does, `seconds` after they came."""

    def __init__(
        self, pulse: Pulse, *, seconds: float = 0.0, clock: Callable[[], float] | None = None
    ) -> None:
        super().__init__(pulse)
        self.pods: Collection = self.collection(PODS)
        self.seconds = seconds
        self.bound: list[tuple[float, str]] = []
        """When each pod was bound, by the clock given, and its namespace/name."""
        self.binds: deque[Answer] = deque()
        """Answers to give to Bindings instead, one a request."""
        self.posted = 0
        self._clock = clock or (lambda: 0.0)

    async def write(self, request: web.Request) -> web.StreamResponse:
        """Take a Binding, or anything that concerns the status of a pod."""
        await request.read()
        if request.method == "PATCH":
            await asyncio.sleep(self.seconds)
            return web.json_response({})
        self.posted += 1
        if self.binds:
            return await self.binds.popleft()(request)
        await asyncio.sleep(self.seconds)
        return self._bind(_key(request.path), (await request.json())["target"]["name"])

    async def _answer(self, request: web.Request) -> web.StreamResponse:
        if not request.path.startswith("/api/v1/namespaces/"):
            return await super()._answer(request)
        await asyncio.sleep(self.seconds)
        pod = self.pods.objects.get(_key(request.path))
        return failure(404, "NotFound", "no such pod") if pod is None else web.json_response(pod)

    def _bind(self, key: str, node: str) -> web.Response:
        pod = self.pods.objects.get(key)
        if pod is None:
            return failure(404, "NotFound", "no such pod")
        if "nodeName" in pod["spec"]:
            return failure(409, "Conflict", "pod is already assigned to a node")
        self.pods.put({**pod, "spec": {**pod["spec"], "nodeName": node}})
        self.bound.append((self._clock(), key))
        return web.json_response({"kind": "Status", "status": "Success"}, status=201)


def _key(path: str) -> str:
    """Return namespace/name from .../namespaces/NAMESPACE/pods/NAME/..."""
    parts = path.split("/")
    return f"{parts[4]}/{parts[6]}"
