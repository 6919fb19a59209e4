"""Opens ports for applications, with TLS where it is configured."""

from __future__ import annotations

import asyncio
import resource
from collections.abc import Callable, Mapping
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Final

from aiohttp import web

from extender.core.config import Serving
from extender.core.errors import ConfigError, ExtenderError
from extender.core.metrics import Metrics
from extender.core.metrics.observers import ERROR, SUCCESS
from extender.core.metrics.table import MALFORMED
from extender.core.ports import Check
from extender.core.web.app import ARRIVALS
from extender.core.web.connections import Connection, Connections, ServerLog


@dataclass(frozen=True, slots=True)
class Listening:
    url: str
    checks: Mapping[str, Check] = field(default_factory=dict)
    """What it has to say about readiness."""


async def listen_callbacks(
    app: web.Application, serving: Serving, metrics: Metrics, parts: AsyncExitStack
) -> Listening:
    where = serving.bind_address, serving.port
    number = callback_connections(raise_file_limit(), serving.max_connections)
    connections = Connections("callbacks", number, serving, metrics)
    log = ServerLog(partial(metrics.requests[MALFORMED].observe, 0.0))
    runner = await _runner(app, serving, parts)
    if serving.tls_cert_file is None or serving.tls_private_key_file is None:
        return Listening(await _start(GuardedSite(runner, where, connections, log), where, "http"))
    from extender.core.web.handshakes import Handshakes  # noqa: PLC0415 - most serve without TLS
    from extender.core.web.tls import ServerTLS  # noqa: PLC0415

    files = ServerTLS(
        serving.tls_cert_file,
        serving.tls_private_key_file,
        serving.client_ca_file,
        on_reload=lambda fine: metrics.tls_reloads.count(SUCCESS if fine else ERROR),
        on_expiry=lambda ends: metrics.certificate_ends.set(ends, "callbacks"),
    )
    following = asyncio.create_task(files.follow(), name="tls")
    parts.callback(following.cancel)
    handshakes = Handshakes(files.context, connections, serving.allowed_client_names)
    parts.callback(handshakes.close)
    site = GuardedSite(runner, where, connections, log, handshakes.wrap)
    return Listening(await _start(site, where, "https"), {"tls-certificate": files.check})


async def listen_ops(
    app: web.Application, serving: Serving, metrics: Metrics, parts: AsyncExitStack
) -> str:
    """Serve the operations port until the stack unwinds; return the URL."""
    where = serving.ops_bind_address, serving.ops_port
    connections = Connections("operations", FILES.operations, serving, metrics)
    runner = await _runner(app, serving, parts)
    site = GuardedSite(runner, where, connections, ServerLog())
    return await _start(site, where, "http")


async def _runner(app: web.Application, serving: Serving, parts: AsyncExitStack) -> web.AppRunner:
    runner = web.AppRunner(
        app,
        access_log=None,
        handle_signals=False,
        shutdown_timeout=serving.shutdown_timeout_seconds,
    )
    await runner.setup()
    parts.push_async_callback(runner.cleanup)
    if ARRIVALS in app:
        parts.push_async_callback(app[ARRIVALS].over, serving.shutdown_timeout_seconds)
    return runner


async def _start(site: GuardedSite, where: tuple[str, int], scheme: str) -> str:
    address, port = where
    try:
        await site.start()
    except OSError as error:
        reason = error.strerror or error
        raise ExtenderError(f"cannot listen on {address}:{port}: {reason}") from error
    host = f"[{address}]" if ":" in address else address
    return f"{scheme}://{host}:{site.port}"  # with port 0 the system chose one


class GuardedSite(web.BaseSite):
    """A listening socket whose connections are bounded; `wrap` puts TLS before them, or nothing."""

    def __init__(
        self,
        runner: web.BaseRunner,
        where: tuple[str, int],
        connections: Connections,
        log: ServerLog,
        wrap: Callable[[Connection], asyncio.BaseProtocol] = lambda connection: connection,
    ) -> None:
        super().__init__(runner)
        self._where = where
        self._connections = connections
        self._log = log
        self._wrap = wrap

    @property
    def name(self) -> str:
        return f"{self._where[0]}:{self._where[1]}"

    @property
    def port(self) -> int:
        server: Any = self._server
        return int(server.sockets[0].getsockname()[1])

    async def start(self) -> None:
        """Listen; raise OSError where that is not possible."""
        await super().start()
        server = self._runner.server
        assert server is not None  # noqa: S101 - the runner has been set up
        host, port = self._where
        self._server = await asyncio.get_running_loop().create_server(
            lambda: self._wrap(Connection(server, self._connections, self._log)),
            host,
            port,
            backlog=128,
        )


@dataclass(frozen=True, slots=True)
class OpenFiles:
    """How many open files are for what."""

    reserved: int = 256
    """For the API server (a watch for each resource, requests beside them), for the program's own
    modules and logs, and for sockets that are just being accepted or refused."""
    operations: int = 64
    """For probes, Prometheus and people; each asks seldom."""
    callbacks: int = 1000
    """A scheduler has two or three; more than some dozens are a client's mistake."""
    least: int = 16
    """For callbacks, without which it is of no use to begin."""

    @property
    def wanted(self) -> int:
        return self.reserved + self.operations + self.callbacks


FILES: Final = OpenFiles()


def raise_file_limit() -> int:
    """Have as many open files as are wanted and allowed; return the limit that there is."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft == resource.RLIM_INFINITY:
        return FILES.wanted
    if soft < FILES.wanted:
        soft = FILES.wanted if hard == resource.RLIM_INFINITY else min(FILES.wanted, hard)
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    return soft


def callback_connections(files: int, configured: int | None) -> int:
    """Return how many connections to the callbacks' port there may be, with a limit of open files.

    Raises ConfigError for more than fit, ExtenderError for a limit under which nothing fits.
    """
    left = files - FILES.reserved - FILES.operations
    if left < FILES.least:
        least = FILES.reserved + FILES.operations + FILES.least
        raise ExtenderError(
            f"the limit of open files is {files}, and at least {least} are needed: raise it with "
            "ulimit -n, or in the service's or container's settings"
        )
    if configured is None:
        return min(FILES.callbacks, left)
    if configured > left:
        raise ConfigError(
            "serving.maxConnections",
            f"{configured} is more than the {left} that a limit of {files} open files has room for",
        )
    return configured
