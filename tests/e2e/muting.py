"""A proxy between the extender and the API server through which watches can fall silent."""

from __future__ import annotations

import asyncio
import ssl
from contextlib import asynccontextmanager, suppress
from typing import TYPE_CHECKING

import aiohttp
from aiohttp import web
from yarl import URL

from tests.e2e.controlplane.process import free_port

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from tests.e2e.controlplane.cluster import ControlPlane

_HEADERS = ("Authorization", "Content-Type", "Accept")


class Muting:
    """Hands everything on, but for what watches of muted resources have to say."""

    def __init__(self, server: str, session: aiohttp.ClientSession) -> None:
        self._server = server
        self._session = session
        self.url = f"http://127.0.0.1:{free_port()}"
        self.muted: frozenset[str] = frozenset()
        """Paths of collections."""

    async def answer(self, request: web.Request) -> web.StreamResponse:
        """Hand on a request, and its answer as it comes."""
        headers = {name: request.headers[name] for name in _HEADERS if name in request.headers}
        url = URL(self._server + request.raw_path, encoded=True)
        body = await request.read()
        timeout = aiohttp.ClientTimeout(total=None)
        async with self._session.request(
            request.method, url, headers=headers, data=body or None, timeout=timeout
        ) as answer:
            stream = web.StreamResponse(status=answer.status)
            stream.content_type = answer.content_type
            await stream.prepare(request)
            watches = "watch" in request.query
            with suppress(ConnectionError):
                async for piece in answer.content.iter_any():
                    if not (watches and request.path in self.muted):
                        await stream.write(piece)
            return stream


@asynccontextmanager
async def muting(control_plane: ControlPlane) -> AsyncIterator[Muting]:
    """Run such a proxy in front of a control plane."""
    trusted = ssl.create_default_context(cafile=str(control_plane.credentials.ca))
    connector = aiohttp.TCPConnector(ssl=trusted, limit=0)
    async with aiohttp.ClientSession(connector=connector, auto_decompress=False) as session:
        proxy = Muting(control_plane.server, session)
        app = web.Application(client_max_size=1 << 24)
        app.router.add_route("*", "/{path:.*}", proxy.answer)
        runner = web.AppRunner(app, shutdown_timeout=0.1)
        await runner.setup()
        try:
            await web.TCPSite(runner, "127.0.0.1", URL(proxy.url).port or 0).start()
            yield proxy
        finally:
            await asyncio.wait_for(runner.cleanup(), 10)
