"""Requests to the API server: a fresh token each, every status checked, every wait bounded."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
from collections.abc import AsyncIterator, Callable, Mapping
from http import HTTPStatus
from typing import Final, Self
from urllib.parse import urlencode

import aiohttp
from yarl import URL

from extender import __version__
from extender.core.kube.calls import JSON, ApiCall, Body, kept_alive_socket
from extender.core.kube.credentials import Credentials
from extender.core.kube.failures import (
    BrokenAnswerError,
    NoAnswerError,
    NotSentAgainError,
    NotSentError,
    StatusError,
    ThrottledError,
    failure_from_body,
    words,
)
from extender.core.kube.flowcontrol import Flow, FlowControl
from extender.core.kube.frames import Lines, excerpt
from extender.core.kube.limits import MOST, USUAL_TIMEOUTS, Timeouts
from extender.core.kube.observers import RequestObserver, Unobserved
from extender.core.kube.pacing import USUAL_TIMING, Timing
from extender.core.kube.proxies import proxy_for
from extender.core.logs import TRACE

_log = logging.getLogger(__name__)

USER_AGENT: Final = f"affinity-extender/{__version__}"

_DONE: Final = frozenset((200, 201, 202))
"""OK; Created, which is what a POST is answered with; and Accepted, as a DELETE may be."""


class ApiClient:
    """One HTTP session with one API server; enter it before use."""

    def __init__(
        self,
        credentials: Credentials,
        *,
        observer: RequestObserver | None = None,
        timeouts: Timeouts = USUAL_TIMEOUTS,
        limit: FlowControl | None = None,
        session: Callable[[], aiohttp.ClientSession] | None = None,
        timing: Timing = USUAL_TIMING,
        patience: float = 0.0,
    ) -> None:
        """`session` opens what carries the requests, if it is not to be the network.

        `patience` is how many seconds a request without `within` is tried again for, too.
        """
        self._credentials = credentials
        self._open = session or open_session
        self._observer = observer or Unobserved()
        self._limit = limit
        self._clock, self._sleep = timing.clock, timing.sleep
        self._patience = patience
        self._base = URL(credentials.host)
        self._path = self._base.raw_path.rstrip("/")
        # Once: to read the whole environment takes longer than all else that is done for a call.
        self._proxy = credentials.proxy or proxy_for(self._base, os.environ)
        self.timeouts: Final = timeouts
        self._whole, self._until_deadline = (
            aiohttp.ClientTimeout(
                total=total, sock_connect=timeouts.connect, sock_read=timeouts.read
            )
            for total in (timeouts.total, None)
        )
        self._endless = aiohttp.ClientTimeout(
            total=None, sock_connect=timeouts.connect, sock_read=timeouts.idle
        )
        self._session: aiohttp.ClientSession | None = None

    @property
    def host(self) -> str:
        return self._credentials.host

    async def __aenter__(self) -> Self:
        """Open the session; connections are made when they are needed."""
        self._session = self._open()
        return self

    async def __aexit__(self, *failure: object) -> None:
        if self._session is not None:
            await self._session.close()

    # With `within`, a call ends after so many seconds at the latest: with ThrottledError at once
    # when the request could not go out in time, with NotSentError when it did not; meanwhile it is
    # tried again if the server says when, with NotSentAgainError when it does not go out any more.
    # NoAnswerError and BrokenAnswerError leave open what became of it. Without, it waits for its
    # turn as long as it takes.

    async def get(
        self, path: str, params: Mapping[str, str], *, within: float | None = None
    ) -> bytes:
        """Return the body of a successful answer."""
        return await self._call(ApiCall("GET", path, Flow.READS, params), within)

    async def get_text(self, path: str) -> bytes:
        """Return what the API server passes on from others, such as metrics, which is no JSON."""
        return await self._answer(ApiCall("GET", path, Flow.READS, {}), None)

    async def post(
        self,
        path: str,
        body: bytes,
        *,
        within: float | None = None,
        flow: Flow = Flow.BINDS,
        may_go: Callable[[], bool] | None = None,
    ) -> bytes:
        """Create something; return the body of a successful answer.

        With `may_go`, NotSentError when that says no right before it would be sent.
        """
        call = ApiCall("POST", path, flow, content=Body(body), may_go=may_go)
        return await self._call(call, within)

    async def put(self, path: str, body: bytes, *, within: float | None = None) -> bytes:
        return await self._call(ApiCall("PUT", path, Flow.PATCHES, content=Body(body)), within)

    async def patch(
        self,
        path: str,
        body: bytes,
        kind: str,
        *,
        within: float | None = None,
        flow: Flow = Flow.PATCHES,
    ) -> bytes:
        return await self._call(ApiCall("PATCH", path, flow, content=Body(body, kind)), within)

    async def delete(
        self,
        path: str,
        body: bytes,
        *,
        within: float | None = None,
        may_go: Callable[[], bool] | None = None,
    ) -> bytes:
        """Remove something, with these DeleteOptions; return the body of a successful answer.

        `may_go` is as for `post`.
        """
        call = ApiCall("DELETE", path, Flow.EVICTIONS, content=Body(body), may_go=may_go)
        return await self._call(call, within)

    async def _call(self, call: ApiCall, within: float | None) -> bytes:
        body = await self._answer(call, within)
        if not body.lstrip().startswith(b"{"):
            # A proxy may say 200 in its place, to a request that never came there.
            said = excerpt(body)
            raise BrokenAnswerError(
                f"{call.path}: the answer is not what the API server sends: {said}"
            )
        return body

    async def _answer(self, call: ApiCall, within: float | None) -> bytes:
        try:
            return await self._answer_in_time(call, within)
        except NotSentError as failure:
            if not call.turned_away:
                raise
            raise NotSentAgainError(str(failure)) from failure

    async def _answer_in_time(self, call: ApiCall, within: float | None) -> bytes:
        call.deadline = None if within is None else self._clock() + within
        try:
            async with asyncio.timeout(within):
                patience = self._whole if within is None else self._until_deadline
                return await self._read(await self._request(call, patience), call.path)
        except TimeoutError as failure:
            kind = NoAnswerError if call.sent else NotSentError
            raise kind(f"{call.path}: no answer in {within:g} s") from failure

    async def _read(self, response: aiohttp.ClientResponse, path: str) -> bytes:
        try:
            return await response.read()
        except (aiohttp.ClientError, TimeoutError, OSError) as failure:
            raise BrokenAnswerError(f"{path}: {words(failure)}") from failure
        finally:
            response.release()

    @contextlib.asynccontextmanager
    async def stream(self, path: str, params: Mapping[str, str]) -> AsyncIterator[Lines]:
        """Open an answer that goes on until the server ends it, line by line."""
        # Until it begins, bytes that come now and then keep it open: in headers, or of a failure.
        within = self.timeouts.idle
        try:
            async with asyncio.timeout(within):
                call = ApiCall("GET", path, Flow.WATCHES, params)
                response = await self._request(call, self._endless)
        except TimeoutError as failure:
            raise NoAnswerError(f"{path}: no answer in {within:g} s") from failure
        try:
            yield Lines(response)
        finally:
            response.close()

    async def _request(
        self, call: ApiCall, patience: aiohttp.ClientTimeout
    ) -> aiohttp.ClientResponse:
        until = self._clock() + self._patience
        while True:
            header = await self._credentials.authorization()
            response = await self._send(call, patience, header)
            if response.status == HTTPStatus.UNAUTHORIZED:
                call.sent = False
                with contextlib.ExitStack() as ends:
                    ends.callback(response.close)
                    is_new = await self._credentials.renew(header)
                    if not is_new:
                        ends.pop_all()  # its body says why
                if is_new:
                    header = await self._credentials.authorization()
                    response = await self._send(call, patience, header)
            if response.status in _DONE:
                return response
            try:
                raise await _failure(response)
            except StatusError as failure:
                # Kept under a name of this frame, it would be a circle (`core/collecting.py`).
                wait, now = failure.retry_after, self._clock()
                in_time = call.can_wait(wait, now) or (wait is not None and now + wait < until)
                if not (failure.throttled and in_time):
                    raise
            # Turned away, so nobody works on it.
            call.sent, call.turned_away = False, True
            await self._sleep(wait or 0.0)

    async def _send(
        self, call: ApiCall, patience: aiohttp.ClientTimeout, header: str | None
    ) -> aiohttp.ClientResponse:
        if self._session is None:
            raise RuntimeError("the client has not been entered")
        await self._admit(call)
        if call.deadline is not None and self._clock() >= call.deadline:
            # A request of bytes that the socket takes at once would be away before it is given up.
            raise NotSentError(f"{call.path}: not sent, the time for it is over")
        if call.may_go is not None and not call.may_go():
            raise NotSentError(f"{call.path}: not sent, it is no longer ours to do")
        start = self._clock()
        code = "<error>"
        call.sent = True
        try:
            response = await self._session.request(
                call.method,
                self._url(call, start),
                data=call.content and call.content.body,
                headers=self._headers(header, call.content),
                timeout=patience,
                ssl=self._credentials.tls or True,
                server_hostname=self._credentials.tls_server_name,
                proxy=self._credentials.proxy or self._proxy,
                # A redirect would take the token along.
                allow_redirects=False,
            )
            code = str(response.status)
        except (aiohttp.ClientConnectorError, aiohttp.ConnectionTimeoutError) as failure:
            raise NotSentError(f"{call.path}: {words(failure)}") from failure
        except (aiohttp.ClientError, TimeoutError, OSError) as failure:
            raise NoAnswerError(f"{call.path}: {words(failure)}") from failure
        finally:
            seconds = self._clock() - start
            self._observer.request(
                method=call.method, host=self._base.authority, code=code, seconds=seconds
            )
            if _log.isEnabledFor(TRACE):
                _log.log(TRACE, "%s %s: %s in %.3f s", call.method, call.path, code, seconds)
        return response

    def _headers(self, authorization: str | None, content: Body | None) -> list[tuple[str, str]]:
        headers = [*self._credentials.impersonation]
        headers += [("Authorization", authorization)] if authorization else []
        headers += [] if content is None else [("Content-Type", content.kind)]
        return headers

    def _url(self, call: ApiCall, now: float) -> URL:
        """Return where a call goes; its path comes encoded, and to look at parts takes long."""
        base = self._base
        return URL.build(
            scheme=base.scheme,
            authority=base.raw_authority,
            path=self._path + call.path,
            query_string=urlencode(call.params(now)),
            encoded=True,
        )

    async def _admit(self, call: ApiCall) -> None:
        if self._limit is None:
            return
        try:
            await self._limit.admit(call.flow, call.patience(self._clock()))
        except ThrottledError:
            self._observer.throttled(call.flow.value)
            raise


def open_session() -> aiohttp.ClientSession:
    headers = {
        "User-Agent": USER_AGENT,
        "Accept": JSON,
        # Packing costs the API server more than the wire inside a cluster does.
        "Accept-Encoding": "identity",
    }
    return aiohttp.ClientSession(
        connector=aiohttp.TCPConnector(socket_factory=kept_alive_socket, limit=0),
        headers=headers,
        cookie_jar=aiohttp.DummyCookieJar(),
        read_bufsize=MOST.read_ahead,
        # Its proxies come with ~/.netrc, whose passwords have no place here: see `proxy_for`.
        trust_env=False,
    )


async def _failure(response: aiohttp.ClientResponse) -> StatusError:
    body = b""
    try:
        while len(body) < MOST.error_body and (piece := await response.content.readany()):
            body += piece
    except (aiohttp.ClientError, TimeoutError, OSError):
        pass
    finally:
        response.close()
    return failure_from_body(
        body,
        status=response.status,
        phrase=response.reason or "",
        retry_after=response.headers.get("Retry-After"),
    )
