"""One hop of a network that fails on demand: a proxy of TCP, with TLS on both sides where asked."""

from __future__ import annotations

import asyncio
import re
import socket
import ssl
import struct
from collections import Counter
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable
    from random import Random

_PIECE = 1 << 16
_REQUEST = re.compile(rb"(GET|POST|PUT|PATCH|DELETE) /")
_RESET_AT_ONCE = struct.pack("ii", 1, 0)
"""For SO_LINGER: closing the socket sends a reset, and drops what was not sent."""
_DRAIN_S = 0.5
"""For what a client sends yet after it was answered in the server's place."""
_ORPHAN_S = 5.0
"""How long the server has to carry out a request whose client is gone."""
_CALM_TASKS_S = 10.0
_LOOPBACK = "127.0.0.1"


class Mode(StrEnum):
    """What a hop does to the connections over it while it fails."""

    LATENCY = "latency"
    """Each piece comes later."""
    CUT = "cut"
    """All connections are reset, and new ones as well."""
    HALF_OPEN = "half-open"
    """Nothing comes back on a connection, then or ever, and it stays open."""
    BLACK_HOLE = "black hole"
    """Nothing passes on a connection in either direction, then or ever, and it stays open."""
    FROZEN = "frozen"
    """Nothing passes, and all of it does afterwards."""
    SLICES = "slices"
    """Bytes dribble."""
    RESET = "reset inside a body"
    """A part of an answer comes, then a reset."""
    LOST_ANSWER = "answer lost"
    """A request arrives, and a reset comes in the place of its answer."""
    LATE = "request late"
    """A request arrives later, though its client may have given it up."""
    TOO_MANY = "429 storm"
    UNAVAILABLE = "503 storm"


_ANSWERS = {Mode.TOO_MANY: b"429 Too Many Requests", Mode.UNAVAILABLE: b"503 Service Unavailable"}


@dataclass(frozen=True, slots=True)
class Failing:
    """How a hop fails."""

    mode: Mode
    seconds: float = 0.0
    """By which pieces or requests are late."""
    share: float = 1.0
    """Of the requests or answers that are hit, where the mode takes one at a time."""


class _Connection:
    def __init__(self, client: asyncio.StreamWriter) -> None:
        self.client = client
        self.server: asyncio.StreamWriter | None = None
        self.deaf = False
        """What the client sends goes nowhere."""
        self.mute = False
        """What the server sends goes nowhere."""

    def reset(self) -> None:
        for each in (self.client, self.server):
            if each is not None:
                _reset(each)


class Hop:
    """A port of this host in front of others."""

    def __init__(
        self, port: Callable[[], int], random: Random, to_server: ssl.SSLContext | None = None
    ) -> None:
        """`port` says where a new connection is led, as kube-proxy does for a Service."""
        self.hit = Counter[Mode]()
        """Connections, requests or answers that a failure has touched."""
        self._port = port
        self._random = random
        self._to_server = to_server
        self._failing: Failing | None = None
        self._calm = asyncio.Event()
        self._calm.set()
        self._open: set[_Connection] = set()
        self._tasks: set[asyncio.Task[None]] = set()

    def fail(self, failing: Failing) -> None:
        """Begin to fail; what is open already fails as well."""
        self._failing = failing
        self._calm.clear()
        for each in [*self._open]:
            match failing.mode:
                case Mode.CUT:
                    each.reset()
                case Mode.HALF_OPEN:
                    each.mute = True
                case Mode.BLACK_HOLE:
                    each.mute = each.deaf = True
                case _:
                    continue
            self.hit[failing.mode] += 1

    def recover(self) -> None:
        """Let everything pass on connections that have not lost anything."""
        self._failing = None
        self._calm.set()

    @property
    def _mode(self) -> Mode | None:
        return self._failing.mode if self._failing else None

    async def accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Carry one connection."""
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        connection = _Connection(writer)
        self._open.add(connection)
        try:
            await self._carry(connection, reader)
        except (OSError, ssl.SSLError):
            pass
        except asyncio.CancelledError:
            # By `close` alone; asyncio would tell of a task of a server that ends so.
            pass
        finally:
            self._open.discard(connection)
            self._tasks.discard(task)
            for each in (connection.client, connection.server):
                if each is not None:
                    each.transport.abort()

    async def close(self) -> None:
        """End all connections."""
        for each in [*self._tasks]:
            each.cancel()
        if self._tasks:
            await asyncio.wait(self._tasks, timeout=_CALM_TASKS_S)

    async def _carry(self, connection: _Connection, reader: asyncio.StreamReader) -> None:
        mode = self._mode
        if mode is Mode.CUT:
            self.hit[mode] += 1
            connection.reset()
            return
        if mode is Mode.BLACK_HOLE:
            self.hit[mode] += 1
            connection.deaf = connection.mute = True
            while await reader.read(_PIECE):
                pass
            return
        there, connection.server = await asyncio.open_connection(
            _LOOPBACK,
            self._port(),
            ssl=self._to_server,
            server_hostname=None if self._to_server is None else "localhost",
        )
        if mode is Mode.HALF_OPEN:
            self.hit[mode] += 1
            connection.mute = True
        back = asyncio.create_task(self._back(connection, there))
        try:
            await self._forth(connection, reader)
            await asyncio.wait((back,), timeout=_ORPHAN_S)
        finally:
            back.cancel()
            with suppress(asyncio.CancelledError, OSError):
                await back

    async def _forth(self, connection: _Connection, reader: asyncio.StreamReader) -> None:
        """Carry what the client sends, until it has sent all."""
        server = connection.server
        assert server is not None
        with suppress(OSError):
            while piece := await reader.read(_PIECE):
                failing = self._failing
                if connection.deaf:
                    continue
                if failing and failing.mode in _ANSWERS and self._draws(failing, piece):
                    await self._answer_instead(connection, reader, failing.mode)
                    return
                if failing and failing.mode is Mode.LATE and self._draws(failing, piece):
                    await asyncio.sleep(failing.seconds)
                await self._send(server, piece)

    async def _back(self, connection: _Connection, there: asyncio.StreamReader) -> None:
        """Carry what the server sends; a client that is gone does not end its request."""
        gone = False
        while piece := await there.read(_PIECE):
            failing = self._failing
            if connection.mute or gone:
                continue
            if failing and failing.mode is Mode.LOST_ANSWER and self._drawn(failing):
                connection.reset()
                return
            if failing and failing.mode is Mode.RESET and self._drawn(failing):
                connection.client.write(piece[: self._random.randrange(len(piece))])
                with suppress(OSError):
                    await connection.client.drain()
                connection.reset()
                return
            try:
                await self._send(connection.client, piece)
            except OSError:
                gone = True
        if not connection.mute:
            connection.client.close()

    def _draws(self, failing: Failing, piece: bytes) -> bool:
        return _REQUEST.match(piece) is not None and self._drawn(failing)

    def _drawn(self, failing: Failing) -> bool:
        drawn = self._random.random() < failing.share
        self.hit[failing.mode] += drawn
        return drawn

    async def _send(self, sink: asyncio.StreamWriter, piece: bytes) -> None:
        failing = self._failing
        if failing and failing.mode is Mode.LATENCY:
            self.hit[failing.mode] += 1
            await asyncio.sleep(failing.seconds)
        if failing and failing.mode is Mode.FROZEN:
            self.hit[failing.mode] += 1
            await self._calm.wait()
        if failing and failing.mode is Mode.SLICES:
            self.hit[failing.mode] += 1
            while piece and self._mode is Mode.SLICES:
                size = self._random.randint(1, 200)
                sink.write(piece[:size])
                await sink.drain()
                piece = piece[size:]
                await asyncio.sleep(self._random.uniform(0, failing.seconds))
        sink.write(piece)
        await sink.drain()

    async def _answer_instead(
        self, connection: _Connection, reader: asyncio.StreamReader, mode: Mode
    ) -> None:
        head = b"HTTP/1.1 " + _ANSWERS[mode] + b"\r\nRetry-After: 1\r\nConnection: close\r\n"
        connection.client.write(head + b"Content-Length: 5\r\n\r\nbusy\n")
        await connection.client.drain()
        with suppress(TimeoutError):
            async with asyncio.timeout(_DRAIN_S):
                while await reader.read(_PIECE):
                    pass


def _reset(writer: asyncio.StreamWriter) -> None:
    opened = writer.get_extra_info("socket")
    if opened is not None:
        with suppress(OSError):
            opened.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _RESET_AT_ONCE)
    writer.transport.abort()


@asynccontextmanager
async def hop(
    port: Callable[[], int],
    random: Random,
    *,
    as_server: ssl.SSLContext | None = None,
    to_server: ssl.SSLContext | None = None,
) -> AsyncIterator[tuple[Hop, int]]:
    """Run a hop before a port; give it and its own port."""
    made = Hop(port, random, to_server)
    server = await asyncio.start_server(made.accept, _LOOPBACK, 0, ssl=as_server)
    try:
        yield made, server.sockets[0].getsockname()[1]
    finally:
        server.close()
        await made.close()
