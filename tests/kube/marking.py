"""An API server with one pod that others change meanwhile."""

from __future__ import annotations

from typing import Any

from aiohttp import web

from tests.kube.told import Told


class Marking(Told):
    """An API server with one pod, which another client changes before some of the patches come."""

    def __init__(self) -> None:
        super().__init__()
        self.metadata: dict[str, Any] = {"name": "victim", "uid": "default-victim"}
        self.version = 7
        self.meanwhile: list[dict[str, Any]] = []
        """What others change of its metadata, each before one patch."""

    async def read(self, _: web.Request) -> web.Response:
        if self.code == 404:
            return web.json_response(
                {"kind": "Status", "reason": "NotFound", "code": 404}, status=404
            )
        metadata = {**self.metadata, "resourceVersion": str(self.version)}
        return web.json_response({"metadata": metadata, "spec": {}})

    async def patch(self, request: web.Request) -> web.Response:
        """Take a patch, unless it was written for a pod as it is no more."""
        answer = await self.take(request)
        if self.meanwhile:
            self.metadata |= self.meanwhile.pop(0)
            self.version += 1
        _, body = self.bodies[-1]
        if body["metadata"]["resourceVersion"] == str(self.version):
            return answer
        conflict = {"kind": "Status", "code": 409, "reason": "Conflict", "message": "because"}
        return web.json_response(conflict, status=409)
