"""TCP proxies: one that closes connections on which nothing passes, and one that can be cut."""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager, suppress
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Sequence

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


class Relay:
    """Leads each connection to the next of some ports, as kube-proxy does; can stand still.

    What was sent meanwhile arrives when it goes on, even from clients that have hung up: as from
    a network that was cut for a while, whose hosts send again.
    """

    def __init__(self, ports: Callable[[], Sequence[int]]) -> None:
        self.port = 0
        self.refused = 0
        """Connections that no process took."""
        self._ports = ports
        self._turn = 0
        self._open = asyncio.Event()
        self._open.set()
        self._carried: set[asyncio.Task[None]] = set()

    def cut(self) -> None:
        self._open.clear()

    def heal(self) -> None:
        self._open.set()

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Carry one connection."""
        task = asyncio.current_task()
        assert task is not None
        self._carried.add(task)
        try:
            with suppress(asyncio.CancelledError):  # `close` ends it
                await self._carry(reader, writer)
        finally:
            self._carried.discard(task)
            writer.transport.abort()

    async def _carry(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await self._open.wait()
        ports = self._ports()
        self._turn += 1
        try:
            port = ports[self._turn % len(ports)] if ports else 0
            there, back = await asyncio.open_connection("127.0.0.1", port)
        except OSError:
            self.refused += 1
            return
        try:
            async with asyncio.TaskGroup() as both:
                both.create_task(self._pass_on(reader, back))
                both.create_task(self._pass_on(there, writer))
        finally:
            back.transport.abort()

    async def _pass_on(self, source: asyncio.StreamReader, sink: asyncio.StreamWriter) -> None:
        with suppress(OSError):
            while piece := await source.read(_PIECE):
                await self._open.wait()
                sink.write(piece)
                await sink.drain()
        with suppress(OSError):
            sink.write_eof()

    async def close(self) -> None:
        """End all connections."""
        carried = [*self._carried]
        for each in carried:
            each.cancel()
        await asyncio.gather(*carried)


@asynccontextmanager
async def relaying(ports: Callable[[], Sequence[int]]) -> AsyncIterator[Relay]:
    """Run a relay to some ports of this host."""
    relay = Relay(ports)
    server = await asyncio.start_server(relay.serve, "127.0.0.1", 0)
    relay.port = server.sockets[0].getsockname()[1]
    try:
        yield relay
    finally:
        server.close()
        await relay.close()
        await server.wait_closed()
