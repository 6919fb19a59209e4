"""A server that answers as it is told, for what is sent with one request."""

from __future__ import annotations

import asyncio
from typing import Any

from aiohttp import web


class Told:
    """An API server that answers as it is told."""

    def __init__(self) -> None:
        self.code = 200
        self.reason = ""
        """That of the code, if it is not another."""
        self.silent = False
        self.message = "because"
        self.causes: list[dict[str, str]] = []
        self.headers: dict[str, str] = {}
        self.bodies: list[tuple[str, Any]] = []
        """What was sent, with its content type."""

    async def take(self, request: web.Request) -> web.Response:
        self.bodies.append((request.content_type, await request.json()))
        if self.silent:
            await asyncio.Event().wait()
        body = {
            "kind": "Status",
            "code": self.code,
            "reason": self.reason or ("NotFound" if self.code == 404 else "Why"),
            "message": self.message,
            "details": {"causes": self.causes},
        }
        return web.json_response(body, status=self.code, headers=self.headers)
