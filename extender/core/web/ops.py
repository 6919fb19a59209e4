"""The operations port: probes, metrics, the configuration, and what features add. It only reads."""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import AsyncIterator, Collection, Iterable, Mapping
from http import HTTPStatus
from typing import Any

from aiohttp import web
from aiohttp.typedefs import Handler, Middleware

from extender.core.metrics import Metrics
from extender.core.ports import Check
from extender.core.web.callers import Callers
from extender.core.web.health import LoopLag, has_passed, ping, report, run
from extender.core.web.offered import Route
from extender.core.web.turns import QueryError, Turns

_HEADERS = {
    "Cache-Control": "no-store",
    "Content-Security-Policy": (
        "default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    ),
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
}


def ops_app(
    *,
    configuration: Mapping[str, Any],
    readiness: Mapping[str, Check],
    metrics: Metrics,
    hosts: Collection[str] = (),
    routes: Iterable[Route] = (),
) -> web.Application:
    """Build the application.

    `configuration` is the effective one, spelled as in the file. `readiness` is asked at each
    probe, in its order.
    `hosts` are names of this server beside the usual ones, `routes` what features answer.
    """
    lag = LoopLag(metrics.loop_lag.observe)
    alive = {"ping": ping, "event-loop": lag.check}
    ready = {"ping": ping, **readiness}
    handlers = _Handlers(configuration, alive, ready, metrics)
    app = web.Application(middlewares=[_guarding(Callers(hosts))])
    app.router.add_get("/livez", handlers.livez)
    app.router.add_get("/readyz", handlers.readyz)
    # Names of checks have slashes of their own: informer-sync/pods.
    app.router.add_get("/livez/{check:.+}", handlers.livez)
    app.router.add_get("/readyz/{check:.+}", handlers.readyz)
    app.router.add_get("/metrics", handlers.metrics)
    app.router.add_get("/metrics/slis", handlers.slis)
    app.router.add_get("/configz", handlers.configz)
    for each in routes:
        app.router.add_get(each.path, each.get)
        if each.post is not None:
            app.router.add_post(each.path, each.post)

    async def measure_lag(_: web.Application) -> AsyncIterator[None]:
        task = asyncio.create_task(lag.run(), name="event-loop-lag")
        yield
        task.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await task

    app.cleanup_ctx.append(measure_lag)
    return app


class _Handlers:
    def __init__(
        self,
        configuration: Mapping[str, Any],
        alive: Mapping[str, Check],
        ready: Mapping[str, Check],
        metrics: Metrics,
    ) -> None:
        self._configuration = json.dumps(configuration, indent=2) + "\n"
        self._alive = alive
        self._ready = ready
        self._metrics = metrics
        # By themselves: whatever people ask, Prometheus has its answer.
        self._scrapes = Turns()
        for kind, checks in self._health():
            metrics.health.begin(checks, kind)

    async def livez(self, request: web.Request) -> web.Response:
        return self._report("livez", self._alive, request)

    async def readyz(self, request: web.Request) -> web.Response:
        return self._report("readyz", self._ready, request)

    async def configz(self, _: web.Request) -> web.Response:
        return web.Response(text=self._configuration, content_type="application/json")

    async def metrics(self, request: web.Request) -> web.Response:
        accept = ",".join(request.headers.getall("Accept", []))
        try:
            async with self._scrapes.waiting(), self._scrapes.working:
                # In a thread: it takes milliseconds, in which a callback would have to wait.
                content_type, body = await asyncio.to_thread(self._metrics.exposition, accept)
        except QueryError as error:
            return web.Response(status=error.status, text=f"{error}\n")
        response = web.Response(body=body, headers={"Content-Type": content_type})
        response.enable_compression()
        return response

    async def slis(self, request: web.Request) -> web.Response:
        # Whoever asks is told what holds now, also where nobody probes.
        for kind, checks in self._health():
            for name, check in checks.items():
                self._metrics.health.observe(name, kind, has_passed(run(check)))
        accept = ",".join(request.headers.getall("Accept", []))
        content_type, body = self._metrics.health.exposition(accept)
        return web.Response(body=body, headers={"Content-Type": content_type})

    def _report(self, name: str, checks: Mapping[str, Check], request: web.Request) -> web.Response:
        if single := request.match_info.get("check"):
            if single not in checks:
                return web.Response(status=HTTPStatus.NOT_FOUND, text=f"no check named {single}\n")
            checks = {single: checks[single]}
        passed, text = report(
            f"{name}/{single}" if single else name,
            checks,
            verbose="verbose" in request.query,
            excluded=request.query.getall("exclude", []),
            observe=lambda check, passed: self._metrics.health.observe(check, name, passed),
        )
        status = HTTPStatus.OK if passed else HTTPStatus.SERVICE_UNAVAILABLE
        return web.Response(status=status, text=text)

    def _health(self) -> tuple[tuple[str, Mapping[str, Check]], ...]:
        return ("livez", self._alive), ("readyz", self._ready)


def _guarding(callers: Callers) -> Middleware:
    """Answer permitted callers, and have nothing cached, framed or loaded from elsewhere."""

    @web.middleware
    async def guarded(request: web.Request, handler: Handler) -> web.StreamResponse:
        try:
            callers.check(request)
            response = await handler(request)
        except web.HTTPNotFound:
            text = "no such page; / lists what there is\n"
            response = web.Response(status=HTTPStatus.NOT_FOUND, text=text)
        except web.HTTPException as error:
            error.headers.update(_HEADERS)
            raise
        for name, value in _HEADERS.items():
            response.headers.setdefault(name, value)
        return response

    return guarded
