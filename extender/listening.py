"""Opens ports for applications, with TLS where it is configured."""

from __future__ import annotations

import asyncio
import ssl
from contextlib import AsyncExitStack
from functools import partial
from http import HTTPStatus

from aiohttp import web

from extender.config import Serving
from extender.errors import ExtenderError
from extender.metrics import Metrics
from extender.metrics.callbacks import MALFORMED
from extender.web.arrivals import ARRIVALS
from extender.web.server_log import ServerLog
from extender.web.tls import ServerTLS

KEEP_ALIVE_SECONDS = 3600.0
"""Far longer than Go keeps an idle connection (90 s): whoever closes first, it must not be us, or
a POST could meet the close, and Go does not send a POST twice."""


async def listen_callbacks(
    app: web.Application, serving: Serving, metrics: Metrics, parts: AsyncExitStack
) -> str:
    """Serve the scheduler's callbacks until the stack unwinds; return the URL."""
    context = _tls(serving, metrics, parts)
    where = serving.bind_address, serving.port
    metrics.begin_verb(MALFORMED, (HTTPStatus.BAD_REQUEST,))
    log = ServerLog(partial(metrics.observe_request, MALFORMED, HTTPStatus.BAD_REQUEST, 0.0))
    return await _listen(app, where, serving, parts, context, log=log)


async def listen_ops(app: web.Application, serving: Serving, parts: AsyncExitStack) -> str:
    """Serve the operations port until the stack unwinds; return the URL."""
    where = serving.ops_bind_address or serving.bind_address, serving.ops_port
    return await _listen(app, where, serving, parts, None, log=ServerLog())


def _tls(serving: Serving, metrics: Metrics, parts: AsyncExitStack) -> ssl.SSLContext | None:
    if serving.tls_cert_file is None or serving.tls_private_key_file is None:
        return None
    files = ServerTLS(
        serving.tls_cert_file,
        serving.tls_private_key_file,
        serving.client_ca_file,
        on_reload=metrics.tls_reloaded,
    )
    following = asyncio.create_task(files.follow(), name="tls")
    parts.callback(following.cancel)
    return files.context


async def _listen(
    app: web.Application,
    where: tuple[str, int],
    serving: Serving,
    parts: AsyncExitStack,
    context: ssl.SSLContext | None,
    *,
    log: ServerLog,
) -> str:
    address, port = where
    runner = web.AppRunner(
        app,
        access_log=None,
        logger=log,
        handle_signals=False,
        keepalive_timeout=KEEP_ALIVE_SECONDS,
        shutdown_timeout=serving.shutdown_timeout_seconds,
    )
    await runner.setup()
    parts.push_async_callback(runner.cleanup)
    if ARRIVALS in app:
        parts.push_async_callback(app[ARRIVALS].over, serving.shutdown_timeout_seconds)
    site = web.TCPSite(runner, address, port, ssl_context=context)
    try:
        await site.start()
    except OSError as error:
        reason = error.strerror or error
        raise ExtenderError(f"cannot listen on {address}:{port}: {reason}") from error
    host = f"[{address}]" if ":" in address else address
    actual = runner.addresses[0][1]  # with port 0 the system chose one
    return f"{'http' if context is None else 'https'}://{host}:{actual}"
