"""How long a connection may take for what, how many there may be, and who gets through TLS."""

from __future__ import annotations

import asyncio
import contextlib
import dataclasses
import ssl
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable
from functools import partial
from typing import Any

import pytest
import trustme
import uvloop
from aiohttp import web
from msgspec import structs

from extender.core.config import Serving
from extender.core.errors import ConfigError, ExtenderError
from extender.core.metrics.observers import CLOSED, HANDSHAKE_FAILURES
from extender.core.web.connections import Connection, Connections, ServerLog
from extender.core.web.handshakes import Handshakes, client_names
from extender.core.web.listening import GuardedSite, callback_connections
from tests.circles import left_in_circles

WAIT = 10.0
"""Seconds after which a test that waits has failed."""

SHORT = 0.2
LIMITS = Serving(
    handshake_timeout_seconds=WAIT,
    header_timeout_seconds=WAIT,
    body_timeout_seconds=WAIT,
    idle_timeout_seconds=WAIT,
)


class Observed:
    """Counts what the connections tell."""

    def __init__(self) -> None:
        self.open = 0
        self.closed: Counter[str] = Counter()
        self.failed: Counter[str] = Counter()
        self._changed = asyncio.Event()

    def connections(self, port: str, number: int) -> None:
        assert port == "callbacks"
        self.open = number
        self._changed.set()

    def connection_closed(self, port: str, reason: str) -> None:
        assert port == "callbacks"
        assert reason in CLOSED
        self.closed[reason] += 1
        self._changed.set()

    def handshake_failed(self, reason: str) -> None:
        assert reason in HANDSHAKE_FAILURES
        self.failed[reason] += 1
        self._changed.set()

    async def until(self, condition: Callable[[], bool]) -> None:
        """Wait for the counts to be so."""
        async with asyncio.timeout(WAIT):
            while not condition():
                self._changed.clear()
                await self._changed.wait()


@dataclasses.dataclass
class Server:
    """A server of the kind that callbacks have."""

    port: int
    seen: Observed
    release: asyncio.Event
    """Lets those who asked for /wait have their answer."""

    async def connect(self, tls: ssl.SSLContext | None = None) -> Client:
        name = "localhost" if tls else None
        return Client(
            *await asyncio.open_connection("127.0.0.1", self.port, ssl=tls, server_hostname=name)
        )


@dataclasses.dataclass
class Client:
    """One connection of a client's."""

    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter

    def say(self, text: bytes) -> None:
        self.writer.write(text)

    async def get(self, path: str = "/") -> bytes:
        """Ask, and return the status."""
        self.say(f"GET {path} HTTP/1.1\r\nHost: x\r\n\r\n".encode())
        return await self.answer()

    async def answer(self) -> bytes:
        """Return the status of an answer without a body."""
        async with asyncio.timeout(WAIT):
            head = await self.reader.readuntil(b"\r\n\r\n")
        return head.split()[1]

    async def closed(self) -> None:
        """Return once the server has closed it."""
        async with asyncio.timeout(WAIT):
            with contextlib.suppress(ConnectionError, ssl.SSLError):
                while await self.reader.read(1 << 16):
                    pass

    async def close(self) -> None:
        self.writer.close()
        with contextlib.suppress(ConnectionError, ssl.SSLError):
            await self.writer.wait_closed()


@contextlib.asynccontextmanager
async def serving(
    tls: ssl.SSLContext | None = None,
    allowed: tuple[str, ...] = (),
    number: int = 100,
    **limits: float,
) -> AsyncIterator[Server]:
    """Serve with these limits."""
    release = asyncio.Event()

    async def answer(request: web.Request) -> web.Response:
        await request.read()
        return web.Response()

    async def wait(_: web.Request) -> web.Response:
        await release.wait()
        return web.Response()

    async def refuse(_: web.Request) -> web.Response:
        return web.Response(status=429)

    async def big(_: web.Request) -> web.Response:
        return web.Response(body=bytes(64 << 20))

    app = web.Application()
    app.router.add_route("*", "/", answer)
    app.router.add_get("/wait", wait)
    app.router.add_post("/refuse", refuse)
    app.router.add_get("/big", big)
    runner = web.AppRunner(app, shutdown_timeout=SHORT)
    await runner.setup()
    seen = Observed()
    timeouts = {f"{name}_timeout_seconds": seconds for name, seconds in limits.items()}
    connections = Connections("callbacks", number, structs.replace(LIMITS, **timeouts), seen)
    where = ("127.0.0.1", 0)
    if tls is None:
        site = GuardedSite(runner, where, connections, ServerLog())
    else:
        wrap = Handshakes(tls, connections, allowed).wrap
        site = GuardedSite(runner, where, connections, ServerLog(), wrap)
    await site.start()
    try:
        yield Server(site.port, seen, release)
    finally:
        await runner.cleanup()
    await seen.until(lambda: seen.open == 0)


@pytest.fixture(params=["asyncio", "uvloop"])
def run(request: pytest.FixtureRequest) -> Callable[[Callable[[], Awaitable[None]]], None]:
    """Run a scenario on the loop that the program has, and on Python's own."""
    factory = uvloop.new_event_loop if request.param == "uvloop" else asyncio.new_event_loop

    def in_loop(scenario: Callable[[], Any]) -> None:
        with asyncio.Runner(loop_factory=factory) as runner:
            runner.run(scenario())

    return in_loop


POST = b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 1000\r\n"


@pytest.mark.parametrize("dripping", [False, True], ids=["then nothing", "byte by byte"])
@pytest.mark.parametrize(
    ("limits", "start", "reason"),
    [
        pytest.param({"idle": SHORT}, b"", None, id="nothing at all"),
        pytest.param({"header": SHORT}, b"GET /", "header_timeout", id="half of a line"),
        pytest.param({"header": SHORT}, POST, "header_timeout", id="half of the headers"),
        pytest.param({"body": SHORT}, POST + b"\r\n", "body_timeout", id="headers without a body"),
        pytest.param({"body": SHORT}, POST + b"\r\n{", "body_timeout", id="half of a body"),
    ],
)
def test_who_does_not_finish_a_request_is_closed(
    run: Callable[..., None],
    limits: dict[str, float],
    start: bytes,
    reason: str | None,
    *,
    dripping: bool,
) -> None:
    async def scenario() -> None:
        async with serving(None, (), 100, **limits) as server:
            client = await server.connect()
            client.say(start)
            closed = asyncio.create_task(client.closed())
            while dripping and start and not closed.done():
                client.say(b"x")
                await asyncio.wait([closed], timeout=SHORT / 10)
            await closed
            await server.seen.until(lambda: server.seen.open == 0)
            assert server.seen.closed == ({reason: 1} if reason else {})
            await client.close()

    run(scenario)


def test_headers_that_add_up_to_a_lot_are_not_kept(run: Callable[..., None]) -> None:
    async def scenario() -> None:
        async with serving() as server:
            client = await server.connect()
            usual = b"".join(b"X%d: %b\r\n" % (n, b"y" * 4000) for n in range(10))
            client.say(b"GET / HTTP/1.1\r\nHost: x\r\n" + usual + b"\r\n")
            assert await client.answer() == b"200"
            client.say(b"GET / HTTP/1.1\r\nHost: x\r\n" + usual + usual)
            await client.closed()
            await server.seen.until(lambda: server.seen.open == 0)
            assert server.seen.closed == {"header_size": 1}
            await client.close()

    run(scenario)


def test_who_does_not_read_the_answer_is_closed(run: Callable[..., None]) -> None:
    async def scenario() -> None:
        async with serving(body=SHORT) as server:
            client = await server.connect()
            client.say(b"GET /big HTTP/1.1\r\nHost: x\r\n\r\n")
            await server.seen.until(lambda: server.seen.closed["write_timeout"] == 1)
            await client.close()

    run(scenario)


def test_who_reads_an_answer_slowly_gets_all_of_it(run: Callable[..., None]) -> None:
    async def scenario() -> None:
        async with serving(body=WAIT) as server:
            client = await server.connect()
            assert await client.get("/big") == b"200"
            assert len(await client.reader.readexactly(64 << 20)) == 64 << 20
            await client.close()

    run(scenario)


def test_between_requests_only_the_idle_timeout_counts(run: Callable[..., None]) -> None:
    async def scenario() -> None:
        async with serving(header=SHORT, body=SHORT) as server:
            client = await server.connect()
            for _ in range(2):
                assert await client.get() == b"200"
                client.say(POST + b"\r\n" + bytes(1000))
                assert await client.answer() == b"200"
                await asyncio.sleep(2 * SHORT)  # nothing happens in that time: that is the point
            assert server.seen.closed == {}
            await client.close()

    run(scenario)


def test_a_request_may_take_long_once_it_is_whole(run: Callable[..., None]) -> None:
    async def scenario() -> None:
        async with serving(header=SHORT, body=SHORT) as server:
            client = await server.connect()
            answer = asyncio.create_task(client.get("/wait"))
            await asyncio.wait([answer], timeout=2 * SHORT)
            server.release.set()
            assert await answer == b"200"
            await client.close()

    run(scenario)


def test_one_too_many_costs_the_oldest_that_never_said_anything(run: Callable[..., None]) -> None:
    async def scenario() -> None:
        async with serving(number=3) as server:
            used = await server.connect()
            assert await used.get() == b"200"
            silent = [await server.connect() for _ in range(2)]
            await server.seen.until(lambda: server.seen.open == 3)
            new = await server.connect()
            assert await new.get() == b"200"
            await silent[0].closed()
            for alive in (used, silent[1]):
                assert await alive.get() == b"200"
            assert server.seen.closed == {"evicted": 1}
            for client in (used, new, *silent):
                await client.close()

    run(scenario)


def test_when_all_were_used_the_longest_idle_one_goes(run: Callable[..., None]) -> None:
    async def scenario() -> None:
        async with serving(number=2) as server:
            clients = [await server.connect() for _ in range(2)]
            for client in (*clients, clients[0]):
                assert await client.get() == b"200"
            new = await server.connect()
            assert await new.get() == b"200"
            await clients[1].closed()
            assert await clients[0].get() == b"200"
            for client in (new, *clients):
                await client.close()

    run(scenario)


def test_calls_in_flight_are_never_closed_for_a_new_connection(run: Callable[..., None]) -> None:
    async def scenario() -> None:
        async with serving(number=2) as server:
            clients = [await server.connect() for _ in range(2)]
            calls = [asyncio.create_task(client.get("/wait")) for client in clients]
            half = POST + b"\r\n"
            await server.seen.until(lambda: server.seen.open == 2)
            await asyncio.wait(calls, timeout=SHORT)
            new = await server.connect()
            new.say(half)
            await new.closed()
            assert server.seen.closed == {"too_many": 1}
            server.release.set()
            assert await asyncio.gather(*calls) == [b"200", b"200"]
            for client in (new, *clients):
                await client.close()

    run(scenario)


@pytest.mark.parametrize(
    "start",
    [
        pytest.param(b"GET /", id="half of a line"),
        pytest.param(POST + b"\r\n{", id="half of a body"),
        pytest.param(b"GET /big HTTP/1.1\r\nHost: x\r\n\r\n", id="an answer that nobody reads"),
    ],
)
def test_clients_that_keep_us_waiting_keep_nobody_out(
    run: Callable[..., None], start: bytes
) -> None:
    async def scenario() -> None:
        async with serving(number=3) as server:
            called = await server.connect()
            call = asyncio.create_task(called.get("/wait"))
            slow = [await server.connect() for _ in range(2)]
            for client in slow:
                client.say(start)
            await server.seen.until(lambda: server.seen.open == 3)
            await asyncio.wait([call], timeout=SHORT)
            for _ in range(3):
                probe = await server.connect()
                assert await probe.get() == b"200"
                await probe.close()
            assert server.seen.closed == {"evicted": 1}
            server.release.set()
            assert await call == b"200"
            for client in (called, *slow):
                await client.close()

    run(scenario)


HALF = POST + b"\r\n{"
FLOODS = {
    "nothing": b"",
    "half a body": HALF,
    "half a body that is refused": HALF.replace(b"POST /", b"POST /refuse"),
    "a whole request": b"GET / HTTP/1.1\r\nHost: x\r\n\r\n",
}
"""What each of hundreds of connections says before it waits."""


@pytest.mark.parametrize("floods", [*((name,) for name in FLOODS), tuple(FLOODS)], ids=str)
def test_hundreds_of_connections_keep_no_probe_out(
    run: Callable[..., None], floods: tuple[str, ...]
) -> None:
    async def scenario() -> None:
        opened: list[Client] = []
        async with serving(number=32) as server:
            try:
                for number in range(600):
                    opened.append(await server.connect())
                    opened[-1].say(FLOODS[floods[number % len(floods)]])
                    if number % 15 == 14:
                        opened.append(await server.connect())
                        assert await opened[-1].get() == b"200"
            finally:
                for client in opened:
                    await client.close()
            assert server.seen.closed.keys() == {"evicted"}

    run(scenario)


# TLS


@pytest.fixture(scope="module")
def ca() -> trustme.CA:
    """Issuer of every certificate that is right."""
    return trustme.CA()


def server_context(ca: trustme.CA) -> ssl.SSLContext:
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    ca.issue_cert("localhost").configure_cert(context)
    ca.configure_trust(context)
    context.verify_mode = ssl.CERT_REQUIRED
    return context


def client_context(ca: trustme.CA, shown: trustme.LeafCert | None) -> ssl.SSLContext:
    context = ssl.create_default_context()
    ca.configure_trust(context)
    if shown is not None:
        shown.configure_cert(context)
    return context


@pytest.mark.parametrize(
    ("allowed", "gets_through"),
    [
        pytest.param((), True, id="any name"),
        pytest.param(("other", "system:kube-scheduler"), True, id="its common name"),
        pytest.param(("scheduler.test",), True, id="its DNS name"),
        pytest.param(("system:kube-scheduler.test", "scheduler"), False, id="only alike"),
    ],
)
def test_who_shows_a_certificate_has_to_have_an_allowed_name(
    run: Callable[..., None], ca: trustme.CA, allowed: tuple[str, ...], *, gets_through: bool
) -> None:
    shown = ca.issue_cert("scheduler.test", common_name="system:kube-scheduler")

    async def scenario() -> None:
        async with serving(server_context(ca), allowed) as server:
            client = await server.connect(client_context(ca, shown))
            if gets_through:
                for _ in range(2):
                    client.say(POST + b"\r\n" + bytes(1000))
                    assert await client.answer() == b"200"
                assert server.seen.failed == {}
            else:
                client.say(POST + b"\r\n" + bytes(1000))
                await client.closed()
                assert server.seen.failed == {"client_name": 1}
            await client.close()

    run(scenario)


@pytest.mark.parametrize(
    ("shown_by", "reason"),
    [
        pytest.param(None, "client_certificate", id="no certificate"),
        pytest.param("stranger", "client_certificate", id="a certificate of another CA"),
    ],
)
def test_a_client_that_is_not_known_is_counted(
    run: Callable[..., None], ca: trustme.CA, shown_by: str | None, reason: str
) -> None:
    shown = trustme.CA().issue_cert("scheduler") if shown_by else None

    async def scenario() -> None:
        async with serving(server_context(ca)) as server:
            with contextlib.suppress(ConnectionError, ssl.SSLError):
                client = await server.connect(client_context(ca, shown))
                await client.closed()
                await client.close()
            await server.seen.until(lambda: server.seen.failed == {reason: 1})
            await server.seen.until(lambda: server.seen.open == 0)

    run(scenario)


@pytest.mark.parametrize(
    ("said", "closes", "reason"),
    [
        pytest.param(b"GET / HTTP/1.1\r\n\r\n", False, "protocol", id="HTTP without TLS"),
        pytest.param(b"", False, "timeout", id="nothing at all"),
        pytest.param(b"\x16\x03\x01", False, "timeout", id="the beginning of a handshake"),
        pytest.param(b"\x16\x03\x01", True, "connection_lost", id="and then goes away"),
    ],
)
def test_a_handshake_that_comes_to_nothing_is_closed_and_counted(
    run: Callable[..., None], ca: trustme.CA, said: bytes, reason: str, *, closes: bool
) -> None:
    async def scenario() -> None:
        timeout = SHORT if reason == "timeout" else WAIT
        async with serving(server_context(ca), handshake=timeout) as server:
            client = await server.connect()
            client.say(said)
            await server.seen.until(lambda: server.seen.open == 1 or bool(server.seen.failed))
            if closes:
                await client.writer.drain()
                await client.close()
            else:
                await client.closed()
            await server.seen.until(lambda: server.seen.failed == {reason: 1})
            await server.seen.until(lambda: server.seen.open == 0)
            await client.close()

    run(scenario)


def test_a_handshake_that_comes_to_nothing_leaves_no_circle(ca: trustme.CA) -> None:
    async def scenario() -> None:
        async with serving(server_context(ca)) as server:
            client = await server.connect()
            client.say(b"\x16\x03\x01")
            await client.close()
            await server.seen.until(lambda: server.seen.failed == {"connection_lost": 1})

    with left_in_circles(Connection) as found:
        uvloop.run(scenario())
    assert not found


def test_failures_are_logged_once_a_minute(
    run: Callable[..., None], ca: trustme.CA, caplog: pytest.LogCaptureFixture
) -> None:
    def failed(server: Server, number: int) -> bool:
        return server.seen.failed["protocol"] == number

    async def scenario() -> None:
        async with serving(server_context(ca)) as server:
            for number in range(1, 4):
                client = await server.connect()
                client.say(b"GET / HTTP/1.1\r\n\r\n")
                await client.closed()
                await server.seen.until(partial(failed, server, number))
                await client.close()

    run(scenario)
    (line,) = [one.message for one in caplog.records if "handshake" in one.message]
    assert line.startswith("TLS handshake with 127.0.0.1 failed: protocol: ")


def test_those_in_a_handshake_count_as_connections(
    run: Callable[..., None], ca: trustme.CA
) -> None:
    async def scenario() -> None:
        async with serving(server_context(ca), number=2) as server:
            silent = [await server.connect() for _ in range(2)]
            await server.seen.until(lambda: server.seen.open == 2)
            known = await server.connect(client_context(ca, ca.issue_cert("scheduler")))
            assert await known.get() == b"200"
            assert server.seen.open == 2
            assert server.seen.closed == {"evicted": 1}
            for client in (known, *silent):
                await client.close()

    run(scenario)


def test_names_of_a_certificate() -> None:
    certificate = {
        "subject": ((("organizationName", "o"),), (("commonName", "cn"),)),
        "subjectAltName": (("DNS", "a.test"), ("IP Address", "10.0.0.1"), ("DNS", "b.test")),
    }
    assert client_names(certificate) == ["cn", "a.test", "b.test"]


# Descriptors


@pytest.mark.parametrize(
    ("files", "configured", "number"),
    [
        pytest.param(1 << 20, None, 1000, id="plenty"),
        pytest.param(1024, None, 704, id="the usual limit"),
        pytest.param(336, None, 16, id="the least"),
        pytest.param(1 << 20, 5000, 5000, id="as configured"),
        pytest.param(1024, 704, 704, id="as many as fit"),
    ],
)
def test_connections_by_the_limit_of_open_files(
    files: int, configured: int | None, number: int
) -> None:
    assert callback_connections(files, configured) == number


@pytest.mark.parametrize(
    ("files", "configured", "expected"),
    [
        pytest.param(335, None, "^the limit of open files is 335, and at least 336", id="too few"),
        pytest.param(1024, 705, "^serving.maxConnections: 705 is more than the 704", id="too many"),
    ],
)
def test_limits_that_do_not_fit(files: int, configured: int | None, expected: str) -> None:
    with pytest.raises((ConfigError, ExtenderError), match=expected):
        callback_connections(files, configured)
