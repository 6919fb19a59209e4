"""TLS before HTTP: the handshake has a deadline, its failures are counted, and names are checked.

asyncio tells nobody of a handshake that failed, and a socket in one is no connection to aiohttp
yet; so the socket is accepted here, and handed on when it is known who is at its other end.
"""

from __future__ import annotations

import asyncio
import logging
import ssl
from collections.abc import Collection, Coroutine, Mapping
from typing import Any, Final, TypeVar, cast

from extender.core.timing import LogThrottle
from extender.core.web.connections import Connection, Connections

_Result = TypeVar("_Result")

_log = logging.getLogger(__name__)

_NO_CERTIFICATE: Final = {"PEER_DID_NOT_RETURN_A_CERTIFICATE", "CERTIFICATE_VERIFY_FAILED"}


class Handshakes:
    """Takes each new connection of a port through its handshake.

    With `allowed` names a client's certificate has to have one of them, as its common name or among
    its DNS names; without, that it is of the right CA is enough.
    """

    def __init__(
        self,
        context: ssl.SSLContext,
        connections: Connections,
        allowed: Collection[str] = (),
    ) -> None:
        self._context = context
        self._connections = connections
        self._allowed = frozenset(allowed)
        self._running: set[asyncio.Task[Any]] = set()
        self._log = LogThrottle(_log)

    def wrap(self, connection: Connection) -> asyncio.BaseProtocol:
        return _Socket(self, connection)

    def close(self) -> None:
        for task in self._running:
            task.cancel()

    def begin(self, socket: asyncio.Transport, early: _Socket, connection: Connection) -> None:
        """Begin one, unless there are too many connections."""
        if connection.accepted(socket):
            self._run(self._shake_hands(socket, early, connection))

    def _run(self, work: Coroutine[Any, Any, _Result]) -> asyncio.Task[_Result]:
        task = asyncio.get_running_loop().create_task(work)
        self._running.add(task)
        task.add_done_callback(self._running.discard)
        return task

    async def _shake_hands(
        self, socket: asyncio.Transport, early: _Socket, connection: Connection
    ) -> None:
        loop = asyncio.get_running_loop()
        peer = socket.get_extra_info("peername")
        encrypting = self._run(
            loop.start_tls(
                socket,
                connection,
                self._context,
                server_side=True,
                ssl_handshake_timeout=self._connections.limits.handshake_timeout_seconds,
            )
        )
        # Now the socket is TLS's, which it hears of next; what the client said before comes then.
        await asyncio.sleep(0)
        loop.call_soon(early.hand_over, socket.get_protocol())
        try:
            encrypted = await encrypting
        except (OSError, RuntimeError) as error:  # the second: it was closed before it began
            self._fail(_reason(error), peer, str(error))
        else:
            if encrypted is not None and connection.is_open:
                self._hand_on(encrypted, connection, peer)
                return
            self._fail("connection_lost", peer, "closed by the client")
        finally:
            # It keeps its error, which keeps this frame.
            del encrypting
            if not connection.connected:
                self._connections.gone(connection)
                socket.abort()

    def _hand_on(self, encrypted: asyncio.Transport, connection: Connection, peer: object) -> None:
        names = client_names(encrypted.get_extra_info("peercert") or {})
        if self._allowed and self._allowed.isdisjoint(names):
            shown = ", ".join(names)[:200] or "no name"
            self._fail("client_name", peer, f"{shown} is not among serving.allowedClientNames")
        else:
            connection.connection_made(encrypted)

    def _fail(self, reason: str, peer: object, why: str) -> None:
        self._connections.observer.handshake_failed(reason)
        host = peer[0] if isinstance(peer, tuple) else "?"
        self._log.log(
            logging.WARNING, reason, "TLS handshake with %s failed: %s: %s", host, reason, why
        )


class _Socket(asyncio.Protocol):
    """A socket until its handshake has begun, and what came by then.

    To stop reading would be simpler, but uvloop begins to read after connection_made whatever that
    has done.
    """

    def __init__(self, handshakes: Handshakes, connection: Connection) -> None:
        self._handshakes = handshakes
        self._connection = connection
        self._came = bytearray()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        # uvloop's transports have another base.
        self._handshakes.begin(cast("asyncio.Transport", transport), self, self._connection)

    def data_received(self, data: bytes) -> None:
        self._came += data

    def hand_over(self, successor: asyncio.BaseProtocol) -> None:
        if not isinstance(successor, _Socket):
            protocol = cast("asyncio.BufferedProtocol", successor)
            while self._came:
                buffer = protocol.get_buffer(len(self._came))
                size = min(len(buffer), len(self._came))  # type: ignore[arg-type]
                buffer[:size] = self._came[:size]  # type: ignore[index]
                protocol.buffer_updated(size)
                del self._came[:size]


def client_names(certificate: Mapping[str, Any]) -> list[str]:
    """List the common names and DNS names of a peer's certificate, as `getpeercert` has it."""
    subject = [pair for part in certificate.get("subject", ()) for pair in part]
    return [value for key, value in subject if key == "commonName"] + [
        value for key, value in certificate.get("subjectAltName", ()) if key == "DNS"
    ]


def _reason(error: Exception) -> str:
    match error:
        case ssl.SSLError() if error.reason in _NO_CERTIFICATE:
            return "client_certificate"
        case ssl.SSLError():
            return "protocol"
        case ConnectionAbortedError() | TimeoutError():
            return "timeout"  # as asyncio and uvloop have it
        case _:
            return "connection_lost"
