"""Stands where aiohttp's session does: requests over a simulated link instead of sockets.

Everything above is the program's own: client, flow control, reflectors, binder, nominator.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from random import Random
from typing import Any, Final, TypeVar

import aiohttp
from aiohttp.base_protocol import BaseProtocol
from yarl import URL

from simulation.apiserver.requests import Request
from simulation.apiserver.server import OWNER, ApiServer
from simulation.loop import now, spawn
from simulation.network import Link, Pipe

T = TypeVar("T")

READ_BUFFER: Final = 1 << 26


class Exchange:
    """One request and its answer, on a connection of their own."""

    def __init__(self, link: Link, idle: float, among: dict[Exchange, None]) -> None:
        """`among` are the exchanges that are open; this one is until its answer has ended."""
        self._among = among
        among[self] = None
        self._up: Pipe = link.up.pipe()
        self._down: Pipe = link.down.pipe()
        self._idle = idle
        self._timer: asyncio.TimerHandle | None = None
        loop = asyncio.get_running_loop()
        self.head: asyncio.Future[tuple[int, Mapping[str, str]]] = loop.create_future()
        protocol = BaseProtocol(loop)
        protocol.connection_made(asyncio.Transport())
        self.content = aiohttp.StreamReader(protocol, READ_BUFFER, loop=loop)
        self.on_close: Callable[[], None] = lambda: None

    def send(self, server: ApiServer, request: Request) -> None:
        self._wind_up()
        self._up.send(lambda: _begin(server, request, self))

    # For the server

    def answer(self, status: int, body: bytes, headers: Mapping[str, str]) -> None:
        def arrive() -> None:
            self._take_head(status, headers)
            self.content.feed_data(body)
            self._finish()

        self._down.send(arrive)

    def begin(self) -> None:
        self._down.send(lambda: self._take_head(200, {}))

    def piece(self, data: bytes | None) -> int:
        def arrive() -> None:
            if data is None:
                self._finish()
            else:
                self._wind_up()
                self.content.feed_data(data)

        self._down.send(arrive)
        return len(self._down)

    def reset(self) -> None:
        self._down.send(lambda: self.fail(aiohttp.ServerDisconnectedError()))

    # For the client

    def fail(self, failure: aiohttp.ClientError) -> None:
        """End the exchange, on the client's side."""
        self._stop()
        if not self.head.done():
            self.head.set_exception(failure)
            self.head.exception()
        elif not self.content.is_eof():
            self.content.set_exception(failure)

    def close(self) -> None:
        """Close the connection; the server learns of it."""
        self._stop()
        self._among.pop(self, None)
        self._down.close()
        self._up.send(self._closed)

    def _closed(self) -> None:
        self._up.close()
        self.on_close()

    def _take_head(self, status: int, headers: Mapping[str, str]) -> None:
        if not self.head.done():
            self.head.set_result((status, headers))

    def _finish(self) -> None:
        self._stop()
        self._among.pop(self, None)
        self.content.feed_eof()

    def _wind_up(self) -> None:
        self._stop()
        loop = asyncio.get_running_loop()
        self._timer = loop.call_later(self._idle, self._idled)

    def _idled(self) -> None:
        self.fail(aiohttp.SocketTimeoutError("Timeout on reading data from socket"))

    def _stop(self) -> None:
        if self._timer is not None:
            self._timer.cancel()


class Response:
    """What of aiohttp's response the client uses."""

    def __init__(self, exchange: Exchange, status: int, headers: Mapping[str, str]) -> None:
        self._exchange = exchange
        self.status = status
        self.headers = headers
        self.reason = ""
        self.content = exchange.content

    async def read(self) -> bytes:
        return await self.content.read()

    def release(self) -> None:
        self._exchange.close()

    def close(self) -> None:
        self._exchange.close()


class Session:
    """Sends the requests of one process; when that is dead, nothing gets in or out any more."""

    def __init__(
        self,
        link: Link,
        server: ApiServer,
        by: str,
        chance: Random,
        note_sent: Callable[[str, str, bytes], None],
        *,
        note_begun: Callable[[str, str, bytes], None] | None = None,
    ) -> None:
        """`note_begun` hears of each request when it is made, `note_sent` when it leaves."""
        self.dead = False
        self._chance = chance
        self._note_sent = note_sent
        self._note_begun = note_begun
        self._link = link
        self.server = server
        self._restores = server.restores
        self._by = by
        self._open: dict[Exchange, None] = {}
        """In the order in which they were opened."""

    async def request(
        self,
        method: str,
        url: URL,
        *,
        data: bytes | None,
        timeout: aiohttp.ClientTimeout,  # noqa: ASYNC109 - aiohttp's name for it
        **_others: Any,
    ) -> Response:
        """Send a request; return when the head of the answer is there."""
        if self.dead:
            raise aiohttp.ClientConnectionError("this process is dead")
        made = now()
        if self._note_begun is not None:
            self._note_begun(method, url.path, data or b"")
        if self._chance.random() < 0.3 or self._restores != self.server.restores:
            # None of the connections from before a restore is of use.
            await self._connect(timeout)
            self._restores = self.server.restores
            if self.dead:
                raise aiohttp.ClientConnectionError("this process is dead")
        self._note_sent(method, url.path, data or b"")
        exchange = Exchange(self._link, timeout.sock_read or 3600.0, self._open)
        request = Request(method, url.path, dict(url.query), data or b"", self._by, made)
        exchange.send(self.server, request)
        try:
            status, headers = await exchange.head
        except BaseException:
            exchange.close()
            raise
        return Response(exchange, status, headers)

    async def close(self) -> None:
        self.cut_off()

    def reset(self) -> None:
        for exchange in [*self._open]:
            exchange.fail(aiohttp.ClientConnectionResetError("Connection reset by peer"))
        self._open.clear()

    def cut_off(self) -> None:
        """Let nothing out any more; what has left is on its way all the same."""
        self.dead = True
        for exchange in [*self._open]:
            exchange.close()

    async def _connect(self, patience: aiohttp.ClientTimeout) -> None:
        await asyncio.sleep(self._link.up.delay())
        if self._link.up.is_cut or self._link.down.is_cut:
            await asyncio.sleep(patience.sock_connect or 10.0)
            if self._link.up.is_cut or self._link.down.is_cut:
                raise aiohttp.ConnectionTimeoutError("Connection timeout to host")
        if self.server.troubles.down:
            refused = ConnectionRefusedError("Connect call failed")
            raise aiohttp.ClientConnectorError(_NO_KEY, refused)


_NO_KEY: Any = aiohttp.client_reqrep.ConnectionKey("simulated", 443, True, True, None, None, None)  # noqa: FBT003


def _begin(server: ApiServer, request: Request, exchange: Exchange) -> None:
    spawn(server.serve(request, exchange), OWNER)
