"""The connections of one port: how many there may be, and how long each may take for what.

aiohttp bounds how long a connection may idle, and nothing else. A client that sends a request byte
by byte, or opens connections and says nothing, would hold descriptors that callbacks and watches
need.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from itertools import islice
from typing import Any, Final, Protocol, cast

from aiohttp import StreamReader, hdrs, web
from aiohttp.http_exceptions import BadHttpMethod, HttpProcessingError
from multidict import CIMultiDict

from extender.core.config import Serving
from extender.core.timing import CALL_LOG_SECONDS, LogThrottle
from extender.core.web.limits import MOST, WITHIN

_NAME: Final = "aiohttp.server"

# A client's doing, whatever aiohttp calls it.
_NOT_HTTP: Final = (HttpProcessingError, web.RequestPayloadError, ConnectionError)


class ConnectionObserver(Protocol):
    """Hears what becomes of connections; `port` is callbacks or operations."""

    def connections(self, port: str, number: int) -> None:
        """Note how many are open."""

    def connection_closed(self, port: str, reason: str, /) -> None:
        """Count one that was closed for its client's fault; `core/metrics` has the reasons."""

    def handshake_failed(self, reason: str, /) -> None:
        """Count a TLS handshake that came to nothing; `core/metrics` has the reasons."""


class Connections:
    """All connections of a port, from the moment that each was accepted.

    One too many costs the one that was heard of longest ago, of those that wait for their client.
    If most have never said anything, it is one of them. Else it is one whose client does not go on
    with its request, with a body that was refused, or with reading its answer; else one that is
    between two requests; else one that never said anything. So a flood of connections of one kind
    closes its own, and a probe, which is new, is answered before its turn to be closed comes.
    When we work on what all have asked, the new one is closed.
    """

    def __init__(self, port: str, most: int, limits: Serving, observer: ConnectionObserver) -> None:
        """Have that many at `most`, with the times of `limits` for each."""
        self.limits: Final = limits
        self._most = most
        self._port = port
        self.observer: Final = observer
        # In the order in which they came, and in which they were last heard of.
        self._silent: dict[Connection, None] = {}
        self._heard: dict[Connection, None] = {}

    def __len__(self) -> int:
        return len(self._silent) + len(self._heard)

    def admit(self, connection: Connection) -> bool:
        """Take a new one in, at the cost of an idle one if need be; False when there is none."""
        if len(self) >= self._most and not self._evict():
            self.closed("too_many")
            return False
        self._silent[connection] = None
        self.observer.connections(self._port, len(self))
        return True

    def heard(self, connection: Connection) -> None:
        """Note that a client has said something."""
        where = self._silent if connection in self._silent else self._heard
        if connection in where:
            del where[connection]
            self._heard[connection] = None

    def gone(self, connection: Connection) -> None:
        """Forget a connection; once more does no harm."""
        self._silent.pop(connection, None)
        self._heard.pop(connection, None)
        self.observer.connections(self._port, len(self))

    def closed(self, reason: str) -> None:
        self.observer.connection_closed(self._port, reason)

    def _evict(self) -> bool:
        victim = next(iter(self._silent), None)
        if len(self._silent) <= len(self._heard):
            oldest = [*islice(self._heard, MOST.looked_at)]
            waiting = next((each for each in oldest if each.waits_for_its_client), None)
            idle = next((each for each in oldest if each.is_idle), None)
            if waiting is None and idle is None:
                # We work for them all: the next one that is too many looks behind them.
                for each in oldest:
                    self.heard(each)
            victim = waiting or idle or victim
        if victim is not None:
            self._close(victim)
        return victim is not None

    def _close(self, connection: Connection) -> None:
        self.gone(connection)
        self.closed("evicted")
        connection.abort()


class Connection(web.RequestHandler):
    """One connection with its deadlines.

    It hears of its socket as soon as that is accepted; with TLS `accepted` comes before the
    handshake and `connection_made` after it, without TLS both are one.
    """

    __slots__ = (
        *("_body", "_connections", "_header_bytes", "_raw", "_reading", "_refused", "_writing"),
    )

    def __init__(self, manager: web.Server, connections: Connections, log: ServerLog) -> None:
        super().__init__(
            manager,
            loop=asyncio.get_running_loop(),
            keepalive_timeout=connections.limits.idle_timeout_seconds,
            lingering_time=WITHIN.lingering,
            read_bufsize=MOST.read_ahead,
            # A body says how long it is packed, not how long it gets.
            auto_decompress=False,
            logger=log,
            access_log=None,  # type: ignore[arg-type]  # None is how aiohttp is told to keep none
        )
        self._connections = connections
        self._body: StreamReader | None = None
        self._raw: asyncio.Transport | None = None
        self._reading: tuple[str, asyncio.TimerHandle] | None = None
        self._writing: asyncio.TimerHandle | None = None
        self._refused = False
        self._header_bytes = 0

    @property
    def is_open(self) -> bool:
        return self._raw is not None

    @property
    def is_idle(self) -> bool:
        """Whether it waits for a request of which nothing has come yet."""
        return self._reading is None and self._waits

    @property
    def waits_for_its_client(self) -> bool:
        """Whether nothing happens until more of a request comes, or an answer is read."""
        return self._reading is not None or self._writing is not None

    @property
    def _waits(self) -> bool:
        """Whether no request is whole, as far as its headers."""
        return self._waiter is not None and not self._waiter.done()

    @property
    def _has_part_of_a_body(self) -> bool:
        """Whether the body of the last request is not whole, be it answered or not."""
        if self._messages:
            self._body = self._messages[-1][1]
        elif self._current_request is not None:
            self._body = self._current_request.content
        return self._body is not None and not self._body.is_eof()

    def accepted(self, transport: asyncio.Transport) -> bool:
        """Take the socket; False when there are too many, and it was closed."""
        if not self._connections.admit(self):
            transport.abort()
            return False
        self._raw = transport
        return True

    def abort(self) -> None:
        """Close at once, unsent answers included."""
        if self._raw is not None:
            self._raw.abort()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        # uvloop's transports have another base.
        if self._raw is not None or self.accepted(cast("asyncio.Transport", transport)):
            super().connection_made(transport)

    def connection_lost(self, exc: BaseException | None) -> None:
        self._raw = self._body = None
        self._connections.gone(self)
        self._read_by(None, 0)
        self._write_by(None)
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Parse; a client that begins a request has to finish it in time, however it is cut."""
        if self._refused:
            return
        self._connections.heard(self)
        super().data_received(data)
        limits = self._connections.limits
        if self._raw is None:
            return
        self._header_bytes = self._header_bytes + len(data) if self._waits else 0
        if self._header_bytes > MOST.header:
            self._connections.closed("header_size")
            self.abort()
        elif self._waits:
            self._read_by("header_timeout", limits.header_timeout_seconds)
        elif self._has_part_of_a_body:
            self._read_by("body_timeout", limits.body_timeout_seconds)
        else:
            self._read_by(None, 0)

    async def finish_response(
        self, request: web.BaseRequest, resp: web.StreamResponse, start_time: float | None
    ) -> tuple[web.StreamResponse, bool]:
        """Send an answer, which does not say by what and which version it was made.

        When it closes the connection, nothing that still comes is looked at.
        """
        self._refused = resp.keep_alive is False
        request.writer._on_headers_sent = _anonymous  # type: ignore[attr-defined]  # noqa: SLF001 - also of answers that no application hears of
        return await super().finish_response(request, resp, start_time)

    def pause_writing(self) -> None:
        """Stop writing; a client that reads nothing of its answer has that long to go on."""
        super().pause_writing()
        self._write_by(self._connections.limits.body_timeout_seconds)

    def resume_writing(self) -> None:
        self._write_by(None)
        super().resume_writing()

    def _read_by(self, reason: str | None, seconds: float) -> None:
        """Close with this reason after `seconds`; a running deadline of the same reason stays."""
        if self._reading is not None:
            if self._reading[0] == reason:
                return
            self._reading[1].cancel()
        self._reading = None if reason is None else (reason, self._close_after(seconds, reason))

    def _write_by(self, seconds: float | None) -> None:
        if self._writing is not None:
            self._writing.cancel()
        self._writing = None if seconds is None else self._close_after(seconds, "write_timeout")

    def _close_after(self, seconds: float, reason: str) -> asyncio.TimerHandle:
        def expire() -> None:
            self._connections.closed(reason)
            self.abort()

        return self._loop.call_later(seconds, expire)


async def _anonymous(headers: CIMultiDict[str]) -> None:
    headers.pop(hdrs.SERVER, None)


class ServerLog(logging.Logger):
    """The logger that aiohttp's server is given.

    On its own it logs a stack trace as an error for each request that is not HTTP. Here that is a
    line at level info, now and then; `malformed` is told of each such request.
    """

    def __init__(self, malformed: Callable[[], None] | None = None) -> None:
        super().__init__(_NAME)
        self.parent = logging.getLogger(_NAME)
        self._malformed = malformed
        self._throttle = LogThrottle(self.parent, seconds=CALL_LOG_SECONDS)

    def isEnabledFor(self, level: int) -> bool:  # noqa: N802 - the base class's name
        return logging.getLogger(_NAME).isEnabledFor(level)

    def exception(self, msg: object, *args: object, exc_info: Any = True, **_: Any) -> None:
        kind = type(exc_info).__name__
        if isinstance(exc_info, _NOT_HTTP):
            self._count(exc_info)
            why = " ".join(str(exc_info).split())
            self._throttle.log(logging.INFO, kind, "a request that is not HTTP: %s", why)
        else:
            self._throttle.log(logging.ERROR, kind, str(msg), *args, exc_info=exc_info)

    def debug(self, msg: object, *args: object, exc_info: Any = None, **_: Any) -> None:
        # A first line that is no request at all is not even worth a line to aiohttp.
        if isinstance(exc_info, BadHttpMethod):
            self._count(exc_info)
        self._throttle.log(logging.DEBUG, str(msg), str(msg), *args)

    def _count(self, error: object) -> None:
        # A body that cannot be read has been counted where it was read.
        if self._malformed is not None and isinstance(error, HttpProcessingError):
            self._malformed()
