"""A TCP proxy that closes connections on which nothing passes."""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager, suppress
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

_PIECE = 1 << 16


class IdleProxy:
    """Passes bytes on, both ways."""

    def __init__(self, port: int, idle: float) -> None:
        self.closed = 0
        """Connections that were closed because they were idle."""
        self._port = port
        self._idle = idle

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Carry one connection."""
        there, back = await asyncio.open_connection("127.0.0.1", self._port)
        timer = asyncio.timeout(self._idle)
        try:
            async with timer, asyncio.TaskGroup() as both:
                both.create_task(self._pass_on(reader, back, timer))
                both.create_task(self._pass_on(there, writer, timer))
        except TimeoutError:
            self.closed += 1
        finally:
            for each in (writer, back):
                each.close()

    async def _pass_on(
        self, source: asyncio.StreamReader, sink: asyncio.StreamWriter, timer: asyncio.Timeout
    ) -> None:
        with suppress(OSError):
            while piece := await source.read(_PIECE):
                timer.reschedule(asyncio.get_running_loop().time() + self._idle)
                sink.write(piece)
                await sink.drain()
            sink.close()


@asynccontextmanager
async def idle_proxy(port: int, idle: float) -> AsyncIterator[tuple[IdleProxy, int]]:
    """Run a proxy before a port of this host; give it and its own port."""
    proxy = IdleProxy(port, idle)
    async with await asyncio.start_server(proxy.serve, "127.0.0.1", 0) as server:
        yield proxy, server.sockets[0].getsockname()[1]
