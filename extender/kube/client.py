"""Requests to the API server: a fresh token each, every status checked, every wait bounded."""

from __future__ import annotations

import contextlib
import ipaddress
import socket
import time
import urllib.request
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Self

import aiohttp
from yarl import URL

from extender import __version__
from extender.kube.failures import (
    UNAUTHORIZED,
    BrokenAnswerError,
    EndlessLineError,
    IdleStreamError,
    NoAnswerError,
    StatusError,
    failure_from_body,
)
from extender.kube.observers import Unobserved

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Mapping
    from types import TracebackType

    from extender.kube.credentials import Credentials
    from extender.kube.observers import RequestObserver
    from extender.kube.timing import RateLimit

USER_AGENT: Final = f"affinity-extender/{__version__}"

LINE_LIMIT: Final = 64 << 20
"""Bytes of one watch event. etcd takes objects up to 1.5 MiB; their JSON is a few times that."""

ERROR_BODY_LIMIT: Final = 64 << 10
"""Bytes read of a failure's body; a Status is far smaller."""

JSON: Final = "application/json"

READ_BUFFER: Final = 1 << 20

_DONE: Final = frozenset((200, 201, 202))
"""OK; Created, which is what a POST is answered with; and Accepted, as a DELETE may be."""


@dataclass(frozen=True, slots=True)
class Timeouts:
    """Seconds after which an answer is given up."""

    connect: float = 10.0
    read: float = 60.0
    """Between two pieces of an ordinary answer."""
    total: float = 300.0
    """For the whole of an ordinary answer."""
    idle: float = 75.0
    """Between two pieces of a watch. Bookmarks come each minute, so more silence means that the
    connection is dead: HTTP/1.1 has no pings to tell."""


@dataclass(frozen=True, slots=True)
class Content:
    """What a request carries, and of which media type."""

    body: bytes
    kind: str = JSON


class ApiClient:
    """One HTTP session with one API server; enter it before use."""

    def __init__(
        self,
        credentials: Credentials,
        *,
        observer: RequestObserver | None = None,
        timeouts: Timeouts | None = None,
        limit: RateLimit | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._credentials = credentials
        self._observer = observer or Unobserved()
        self._limit = limit
        self._clock = clock
        self._base = URL(credentials.host)
        timeouts = timeouts or Timeouts()
        self._whole = aiohttp.ClientTimeout(
            total=timeouts.total, sock_connect=timeouts.connect, sock_read=timeouts.read
        )
        self._endless = aiohttp.ClientTimeout(
            total=None, sock_connect=timeouts.connect, sock_read=timeouts.idle
        )
        self._session: aiohttp.ClientSession | None = None

    async def __aenter__(self) -> Self:
        """Open the session; connections are made when they are needed."""
        self._session = aiohttp.ClientSession(
            connector=aiohttp.TCPConnector(socket_factory=kept_alive_socket, limit=0),
            headers={
                "User-Agent": USER_AGENT,
                "Accept": JSON,
                # Packing costs the API server more than the wire inside a cluster does.
                "Accept-Encoding": "identity",
            },
            cookie_jar=aiohttp.DummyCookieJar(),
            read_bufsize=READ_BUFFER,
            # Its proxies come with ~/.netrc, whose passwords have no place here: see _proxy.
            trust_env=False,
        )
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        exception: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        """Close every connection."""
        if self._session is not None:
            await self._session.close()

    async def get(self, path: str, params: Mapping[str, str]) -> bytes:
        """Return the body of a successful answer."""
        return await self._read(await self._request("GET", path, params, self._whole), path)

    async def post(self, path: str, body: bytes) -> bytes:
        """Create something; return the body of a successful answer.

        NoAnswerError and BrokenAnswerError leave open whether it was created.
        """
        response = await self._request("POST", path, {}, self._whole, Content(body))
        return await self._read(response, path)

    async def patch(self, path: str, body: bytes, kind: str) -> bytes:
        """Change something; return the body of a successful answer, which `post` says more of."""
        response = await self._request("PATCH", path, {}, self._whole, Content(body, kind))
        return await self._read(response, path)

    async def delete(self, path: str, body: bytes) -> bytes:
        """Remove something, with these DeleteOptions; returns the body, as `post` does."""
        response = await self._request("DELETE", path, {}, self._whole, Content(body))
        return await self._read(response, path)

    async def _read(self, response: aiohttp.ClientResponse, path: str) -> bytes:
        try:
            return await response.read()
        except (aiohttp.ClientError, TimeoutError, OSError) as failure:
            raise BrokenAnswerError(f"{path}: {_words(failure)}") from failure
        finally:
            response.release()

    @contextlib.asynccontextmanager
    async def stream(self, path: str, params: Mapping[str, str]) -> AsyncIterator[Lines]:
        """Open an answer that goes on until the server ends it, line by line."""
        response = await self._request("GET", path, params, self._endless)
        try:
            yield Lines(response)
        finally:
            response.close()

    async def _request(
        self,
        method: str,
        path: str,
        params: Mapping[str, str],
        patience: aiohttp.ClientTimeout,
        content: Content | None = None,
    ) -> aiohttp.ClientResponse:
        header = await self._credentials.authorization()
        response = await self._send(method, path, params, patience, header, content=content)
        if response.status == UNAUTHORIZED and await self._credentials.renew(header):
            response.close()
            header = await self._credentials.authorization()
            response = await self._send(method, path, params, patience, header, content=content)
        if response.status not in _DONE:
            raise await _failure(response)
        return response

    async def _send(
        self,
        method: str,
        path: str,
        params: Mapping[str, str],
        patience: aiohttp.ClientTimeout,
        header: str | None,
        *,
        content: Content | None,
    ) -> aiohttp.ClientResponse:
        if self._session is None:
            raise RuntimeError("the client has not been entered")
        if self._limit is not None:
            await self._limit.admit()
        start = self._clock()
        code = "<error>"
        try:
            response = await self._session.request(
                method,
                self._base.joinpath(path.lstrip("/")),
                params=params,
                data=content and content.body,
                headers=_headers(header, content),
                timeout=patience,
                ssl=self._credentials.tls or True,
                server_hostname=self._credentials.tls_server_name,
                proxy=self._credentials.proxy or _proxy(self._base),
                # A redirect would take the token along.
                allow_redirects=False,
            )
            code = str(response.status)
        except (aiohttp.ClientError, TimeoutError, OSError) as failure:
            raise NoAnswerError(f"{path}: {_words(failure)}") from failure
        finally:
            self._observer.request(
                method=method,
                host=self._base.authority,
                code=code,
                seconds=self._clock() - start,
            )
        return response


class Lines:
    """The lines of an answer, each with its newline; a last one without was cut off."""

    def __init__(self, response: aiohttp.ClientResponse) -> None:
        self._content = response.content

    def __aiter__(self) -> Self:
        """Iterate over what is left."""
        return self

    async def __anext__(self) -> bytes:
        """Wait for the next line."""
        try:
            line = await self._content.readline(max_line_length=LINE_LIMIT)
        except TimeoutError as failure:
            raise IdleStreamError("nothing came, not even a bookmark") from failure
        except aiohttp.http_exceptions.LineTooLong as failure:
            raise EndlessLineError(f"an event of more than {LINE_LIMIT} bytes") from failure
        except (aiohttp.ClientError, OSError) as failure:
            raise BrokenAnswerError(_words(failure)) from failure
        if not line:
            raise StopAsyncIteration
        return line


async def _failure(response: aiohttp.ClientResponse) -> StatusError:
    body = b""
    with contextlib.suppress(aiohttp.ClientError, TimeoutError, OSError):
        while len(body) < ERROR_BODY_LIMIT and (piece := await response.content.readany()):
            body += piece
    response.close()
    return failure_from_body(
        body,
        status=response.status,
        phrase=response.reason or "",
        retry_after=response.headers.get("Retry-After"),
    )


def _headers(authorization: str | None, content: Content | None) -> dict[str, str]:
    headers = {"Authorization": authorization} if authorization else {}
    return headers if content is None else {**headers, "Content-Type": content.kind}


def _words(failure: BaseException) -> str:
    # Some of these exceptions have no text of their own.
    return f"{type(failure).__name__}: {failure}" if str(failure) else type(failure).__name__


def _proxy(base: URL) -> str | None:
    # Go's rule: the environment names it, and loopback never goes through one.
    host = base.host or ""
    with contextlib.suppress(ValueError):
        if ipaddress.ip_address(host).is_loopback:
            return None
    if host == "localhost" or urllib.request.proxy_bypass(host):
        return None
    return urllib.request.getproxies().get(base.scheme)


def kept_alive_socket(address: aiohttp.AddrInfoType) -> socket.socket:
    """Make a socket that notices in about a minute when its peer went away without a word."""
    family, kind, protocol, *_ = address
    connection = socket.socket(family=family, type=kind, proto=protocol)
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    for option, value in (
        ("TCP_KEEPIDLE", 30),
        ("TCP_KEEPINTVL", 10),
        ("TCP_KEEPCNT", 3),
        ("TCP_USER_TIMEOUT", 60_000),
    ):
        if hasattr(socket, option):
            connection.setsockopt(socket.IPPROTO_TCP, getattr(socket, option), value)
    return connection
