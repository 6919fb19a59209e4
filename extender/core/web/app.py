"""The callbacks' HTTP side: routes, limits, bodies, latency, and an answer whatever happens."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable, Collection, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from http import HTTPStatus
from time import perf_counter
from typing import Final, Protocol, TypeAlias

from aiohttp import web
from aiohttp.typedefs import Handler as AnyHandler

from extender.core.callbacks.observing import soon
from extender.core.callbacks.passing import Passing
from extender.core.errors import ExtenderError, RequestError
from extender.core.logs import TRACE
from extender.core.metrics import Metrics
from extender.core.metrics.table import HUNG_UP, USUAL_CODES
from extender.core.timing import CALL_LOG_SECONDS, LogThrottle
from extender.core.web.callers import Callers
from extender.core.web.limits import MOST

Handler = Callable[[web.Request], Awaitable[web.Response]]

_log = logging.getLogger(__name__)


class Callback(Protocol):
    """What answers one verb, from bytes to bytes."""

    async def answer(self, body: bytes) -> bytes:
        """Answer a call; RequestError when no scheduler sends such a body."""

    def fault(self, error: Exception, seconds: float) -> bytes:
        """Answer a call when something broke."""


def callbacks_app(
    callbacks: Mapping[str, Callback],
    metrics: Metrics,
    max_body_bytes: int,
    hosts: Collection[str] | None = (),
    stopping: Callable[[], bool] = lambda: False,
) -> web.Application:
    """Serve POST /<verb> for each callback there is.

    Answers carry Content-Length and are never compressed or chunked: Go reads one JSON value and
    gives up the connection when more follows. `hosts` are names of this server, as for `Callers`.
    While it is `stopping`, each answer is the last one of its connection, so that the scheduler's
    next call goes to another replica, and not to a socket that is just being closed.
    """
    app = web.Application(client_max_size=max_body_bytes, middlewares=[_closing])
    # What all calls pass is on record once it is called: the scheduler need not.
    wanted = (verb for verb, each in callbacks.items() if not isinstance(each, Passing))
    port = _Shared(
        metrics,
        Callers(hosts),
        Arrivals(),
        LastCalls(wanted),
        dict.fromkeys(callbacks, 0),
        stopping,
    )
    app[ARRIVALS], app[LAST_CALLS], app[CALLBACKS] = port.arrivals, port.calls, callbacks
    for name, callback in callbacks.items():
        metrics.requests.begin((name,), USUAL_CODES)
        metrics.requests_in_flight.ask(partial(port.in_flight.__getitem__, name), name)
        app.router.add_post(f"/{name}", _handler(name, callback, port))
    return app


@dataclass(frozen=True, slots=True)
class _Shared:
    metrics: Metrics
    callers: Callers
    arrivals: Arrivals
    calls: LastCalls
    in_flight: dict[str, int]
    stopping: Callable[[], bool]


@web.middleware
async def _closing(request: web.Request, handler: AnyHandler) -> web.StreamResponse:
    """Close a connection on which a body may still come that will not be read."""
    try:
        return await handler(request)
    except web.HTTPException as error:
        if request.body_exists:
            error.force_close()
        raise


def _handler(name: str, callback: Callback, port: _Shared) -> Handler:
    throttle = LogThrottle(_log, seconds=CALL_LOG_SECONDS)

    async def handle(request: web.Request) -> web.Response:
        start = perf_counter()
        port.in_flight[name] += 1
        code: int = HUNG_UP  # also for a call that is cancelled
        try:
            port.callers.check(request)
            response = _json(await callback.answer(await port.arrivals.read(request)))
            code = HTTPStatus.OK
        except HungUpError:
            response = web.Response(status=HUNG_UP)  # nobody is there to read it
        except web.HTTPException as error:
            code = error.status
            why = (error.text or "").strip()
            throttle.log(logging.INFO, str(code), "%s: answered %d: %s", name, code, why)
            raise
        except RequestError as error:
            code = HTTPStatus.BAD_REQUEST
            throttle.log(logging.INFO, str(code), "%s: answered %d: %s", name, code, error)
            response = web.Response(status=code, text=f"{error}\n")
        except Exception as error:  # noqa: BLE001 - an answer is owed whatever broke
            kind = type(error).__name__
            throttle.log(logging.ERROR, kind, "%s failed unexpectedly", name, exc_info=error)
            code = HTTPStatus.OK
            response = _json(callback.fault(error, perf_counter() - start))
        finally:
            port.in_flight[name] -= 1
            if request.transport is None:
                code = HUNG_UP
                throttle.log(logging.DEBUG, "hung up", "%s: the client hung up", name)
            if code == HTTPStatus.OK:
                port.calls.note(name)
            if _log.isEnabledFor(TRACE):
                _log.log(TRACE, "%s: answered %d in %.6f s", name, code, perf_counter() - start)
            # The scheduler need not wait for it.
            soon(partial(port.metrics.requests.observe, perf_counter() - start, name, str(code)))
        if port.stopping():
            response.force_close()
        return response

    return handle


def _json(body: bytes) -> web.Response:
    return web.Response(body=body, content_type="application/json")


class HungUpError(ExtenderError):
    """The client closed its connection before all of its request was here."""


async def read_body(request: web.Request) -> bytes:
    """Return the body of a request; HungUpError and RequestError as `Arrivals.read`.

    The request's stream keeps the error, which would keep the frames, and with them what came.
    """
    try:
        return await request.read()
    except ConnectionError as error:
        raise HungUpError("the client hung up") from error.with_traceback(None)
    except web.RequestPayloadError as error:
        raise RequestError(f"the body cannot be read: {error}") from error.with_traceback(None)


class Arrivals:
    """Reads bodies, and tells when none is left to arrive.

    A server of aiohttp that shuts down throws away what it still receives, the second half of a
    request included. Callbacks can be hundreds of kilobytes, so this is worth waiting for.
    """

    def __init__(self) -> None:
        self._arriving = 0
        self._large = asyncio.Semaphore(MOST.large_bodies)
        self._none = asyncio.Event()
        self._none.set()

    async def read(self, request: web.Request) -> bytes:
        """Return the body of a request.

        RequestError when it is not encoded as its headers say; HungUpError when it never comes.
        """
        self._arriving += 1
        self._none.clear()
        try:
            if (request.content_length or 0) <= MOST.small_body:
                return await read_body(request)
            async with self._large:
                return await read_body(request)
        finally:
            self._arriving -= 1
            if not self._arriving:
                self._none.set()

    async def over(self, seconds: float) -> None:
        """Return once nothing is arriving, or after `seconds`."""
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self._none.wait()


class LastCalls:
    """The moment of the last call of each verb, in seconds since the epoch; None before one."""

    def __init__(self, verbs: Iterable[str]) -> None:
        self.at: dict[str, float | None] = dict.fromkeys(verbs)

    def note(self, verb: str) -> None:
        """Note a call that got an answer."""
        self.at[verb] = time.time()


Application: TypeAlias = web.Application

ARRIVALS: Final = web.AppKey("ARRIVALS", Arrivals)
LAST_CALLS: Final = web.AppKey("LAST_CALLS", LastCalls)

CALLBACKS: Final = web.AppKey("CALLBACKS", Mapping[str, Callback])
"""What answers each verb, for those who call without HTTP."""
