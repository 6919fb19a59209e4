"""Each way in which a hop fails, as its client and its server see it."""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager
from random import Random
from typing import TYPE_CHECKING, Final

import pytest

from tests.e2e.faults.proxy import Failing, Hop, Mode, hop

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

BODY: Final = b"x" * 5000
ANSWER: Final = b"HTTP/1.1 200 OK\r\nContent-Length: 5000\r\n\r\n" + BODY
REQUEST: Final = b"GET / HTTP/1.1\r\n\r\n"
SOON_S, LONG_S = 0.3, 10.0


class Client:
    """One connection over a hop, and how many requests its server has had."""

    def __init__(self, there: Hop, port: int, arrived: asyncio.Queue[bytes]) -> None:
        self.hop = there
        self.port = port
        self.arrived = arrived

    @asynccontextmanager
    async def connected(
        self,
    ) -> AsyncIterator[tuple[asyncio.StreamReader, asyncio.StreamWriter]]:
        reader, writer = await asyncio.open_connection("127.0.0.1", self.port)
        try:
            yield reader, writer
        finally:
            writer.transport.abort()

    async def works(self) -> bool:
        async with self.connected() as (reader, writer):
            return await asked(reader, writer) == ANSWER


async def asked(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bytes:
    writer.write(REQUEST)
    async with asyncio.timeout(LONG_S):
        return await reader.readexactly(len(ANSWER))


@pytest.fixture
async def client() -> AsyncIterator[Client]:
    arrived = asyncio.Queue[bytes]()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while piece := await reader.read(1 << 16):
                arrived.put_nowait(piece)
                writer.write(ANSWER)
        finally:
            writer.transport.abort()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    behind = server.sockets[0].getsockname()[1]
    async with server, hop(lambda: behind, Random(1)) as (there, port):
        yield Client(there, port, arrived)


async def test_without_a_failure_everything_passes(client: Client) -> None:
    async with client.connected() as (reader, writer):
        for _ in range(3):
            assert await asked(reader, writer) == ANSWER
    assert not client.hop.hit


@pytest.mark.parametrize(
    ("mode", "seconds"), [(Mode.LATENCY, SOON_S), (Mode.SLICES, 0.001), (Mode.LATE, SOON_S)]
)
async def test_what_is_slow_arrives(client: Client, mode: Mode, seconds: float) -> None:
    client.hop.fail(Failing(mode, seconds))
    began = asyncio.get_running_loop().time()
    assert await client.works()
    assert client.hop.hit[mode]
    if mode is not Mode.SLICES:
        assert asyncio.get_running_loop().time() - began >= SOON_S


@pytest.mark.parametrize("mode", [Mode.HALF_OPEN, Mode.BLACK_HOLE])
@pytest.mark.parametrize("before", [True, False])
async def test_a_connection_that_has_lost_something_stays_silent(
    client: Client, mode: Mode, *, before: bool
) -> None:
    if not before:
        client.hop.fail(Failing(mode))
    async with client.connected() as (reader, writer):
        if before:
            await asked(reader, writer)
            client.arrived.get_nowait()
            client.hop.fail(Failing(mode))
        writer.write(REQUEST)
        if mode is Mode.HALF_OPEN:
            assert await asyncio.wait_for(client.arrived.get(), LONG_S) == REQUEST
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(reader.read(1), SOON_S)
        client.hop.recover()
        assert await client.works()
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(reader.read(1), SOON_S)
    assert client.hop.hit == {mode: 1}
    arrived = client.arrived.qsize()
    assert arrived == 1, "of the connection that works"


async def test_what_is_frozen_passes_afterwards(client: Client) -> None:
    client.hop.fail(Failing(Mode.FROZEN))
    async with client.connected() as (reader, writer):
        writer.write(REQUEST)
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(reader.read(1), SOON_S)
        client.hop.recover()
        assert await asyncio.wait_for(reader.readexactly(len(ANSWER)), LONG_S) == ANSWER


async def test_a_cut_resets_what_is_open_and_what_is_new(client: Client) -> None:
    async with client.connected() as (reader, writer):
        await asked(reader, writer)
        client.hop.fail(Failing(Mode.CUT))
        with pytest.raises(ConnectionResetError):
            await asyncio.wait_for(reader.read(1), LONG_S)
    async with client.connected() as (reader, writer):
        with pytest.raises(ConnectionResetError):
            await asyncio.wait_for(reader.read(1), LONG_S)
    client.hop.recover()
    assert await client.works()
    assert client.hop.hit == {Mode.CUT: 2}


@pytest.mark.parametrize("mode", [Mode.RESET, Mode.LOST_ANSWER])
async def test_the_server_has_done_what_was_asked(client: Client, mode: Mode) -> None:
    client.hop.fail(Failing(mode))
    async with client.connected() as (reader, writer):
        with pytest.raises((ConnectionResetError, asyncio.IncompleteReadError)):
            await asked(reader, writer)
    assert await asyncio.wait_for(client.arrived.get(), LONG_S) == REQUEST
    assert client.hop.hit == {mode: 1}


async def test_a_request_arrives_though_its_client_has_gone(client: Client) -> None:
    client.hop.fail(Failing(Mode.LATE, SOON_S))
    async with client.connected() as (_, writer):
        writer.write(REQUEST)
        await writer.drain()
        await asyncio.sleep(SOON_S / 3)
        assert client.arrived.empty()
    assert await asyncio.wait_for(client.arrived.get(), LONG_S) == REQUEST


@pytest.mark.parametrize(("mode", "status"), [(Mode.TOO_MANY, 429), (Mode.UNAVAILABLE, 503)])
async def test_a_storm_answers_in_the_server_s_place(
    client: Client, mode: Mode, status: int
) -> None:
    client.hop.fail(Failing(mode))
    async with client.connected() as (reader, writer):
        writer.write(REQUEST)
        answer = await asyncio.wait_for(reader.read(), LONG_S)
    assert answer.startswith(b"HTTP/1.1 %d " % status)
    assert b"\r\nRetry-After: 1\r\n" in answer
    assert client.arrived.empty()


async def test_a_share_of_the_requests_is_hit(client: Client) -> None:
    client.hop.fail(Failing(Mode.UNAVAILABLE, share=0.0))
    assert await client.works()
    assert not client.hop.hit[Mode.UNAVAILABLE]
