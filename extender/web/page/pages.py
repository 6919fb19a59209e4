"""Serves the page: each part in slices, within a deadline, and with an answer whatever happens."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Generator, Mapping
from dataclasses import dataclass
from http import HTTPStatus
from typing import Final, TypeAlias

from aiohttp import web

from extender.callbacks.refused_pods import RefusedPods
from extender.cluster.audits.drift import DriftWatch
from extender.cluster.audits.violations import Watch
from extender.cluster.state import ClusterState
from extender.controllers.eviction.controller import EvictionController
from extender.controllers.history import History
from extender.ports import Check
from extender.timing import CALL_LOG_SECONDS, LogThrottle
from extender.verbs.explaining.explanation import Explanation
from extender.verbs.explaining.steps import taking_apart
from extender.web.explain import Explain
from extender.web.health import failing
from extender.web.page import activity, domains, explanation, quotas, violations
from extender.web.page.html import Html, element, text
from extender.web.page.layout import PAGES, closing, links, opening
from extender.web.page.overview import LINKS, Numbers, Overview, overview
from extender.web.page.quotas import NOT_LOOKED_AT, QuotaSettings
from extender.web.page.status import RecentCalls, Status
from extender.web.page.tables import Asked, Steps
from extender.web.turns import QueryError, in_slices
from extender.wire.explanation import Explained
from extender.wire.validation import LONGEST_KEY

MOST_BYTES: Final = 2 << 20
"""Of a page."""

Build: TypeAlias = Callable[[Asked], Awaitable[Steps]]

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Shown:
    """Whatever the page shows parts of."""

    state: ClusterState
    drift: DriftWatch
    watch: Watch
    recent: RecentCalls
    explain: Explain
    history: History
    unready: Check
    status: Callable[[], Status]
    eviction: EvictionController | None = None
    refused: RefusedPods | None = None
    """None where filter refuses nothing."""
    quotas: QuotaSettings = NOT_LOOKED_AT


class Pages:
    """Answers GET / and GET /page/..."""

    def __init__(self, shown: Shown, readiness: Mapping[str, Check]) -> None:
        self._shown = shown
        self._readiness = readiness
        self._log = LogThrottle(_log, seconds=CALL_LOG_SECONDS)
        self._parts: Mapping[str, tuple[Collection[str], Build]] = {
            "/": ((), self._overview),
            explanation.PATH: (explanation.PARAMETERS, self._explanation),
            domains.PATH: (domains.PARAMETERS, self._domains),
            violations.PATH: (violations.PARAMETERS, self._violations),
            quotas.PATH: (quotas.PARAMETERS, self._quotas),
            activity.PATH: (activity.PARAMETERS, self._activity),
        }

    def add_to(self, app: web.Application) -> None:
        """Add the routes, and what runs beside them."""
        for path in self._parts:
            app.router.add_get(path, self._get)
        app.cleanup_ctx.append(self._reading)

    async def _reading(self, _: web.Application) -> AsyncIterator[None]:
        task = asyncio.create_task(self._shown.recent.run(), name="recent-calls")
        yield
        task.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await task

    async def _get(self, request: web.Request) -> web.Response:
        status, body = await self.answer(request.path, request.query)
        return web.Response(status=status, body=body, content_type="text/html", charset="utf-8")

    async def answer(self, path: str, query: Mapping[str, str]) -> tuple[HTTPStatus, bytes]:
        """Return a page, or one that says why there is none."""
        turns = self._shown.explain.turns
        parameters, build = self._parts[path]
        try:
            async with turns.waiting(), turns.working:
                steps = await build(_asked(path, query, parameters))
                body, status = await in_slices(_collected(steps)), HTTPStatus.OK
        except QueryError as error:
            status, body = error.status, [_fault("This cannot be shown", str(error))]
        except Exception as error:  # noqa: BLE001 - a page that failed says so
            kind = type(error).__name__
            self._log.log(logging.ERROR, kind, "a page cannot be shown", exc_info=error)
            status = HTTPStatus.INTERNAL_SERVER_ERROR
            body = [_fault("This page failed", "The log says why."), links(*LINKS)]
        title = dict(PAGES)[path] if path != "/" else "affinity-extender"
        whole = "".join((opening(path, title), *body, closing(time.time())))
        return status, whole.encode("utf-8", "replace")

    async def _overview(self, _: Asked) -> Steps:
        shown = self._shown
        recent, refused = await shown.recent.read(), shown.refused
        seen = Overview(
            shown.status(),
            failing(self._readiness),
            recent,
            None if refused is None else refused.latest(),
            self._numbers(),
            time.time(),
        )
        return overview(seen)

    def _numbers(self) -> Numbers:
        shown = self._shown
        return Numbers(
            len(shown.watch.known),
            None if shown.eviction is None else len(shown.eviction.broken),
            len(shown.state.reservations),
            shown.drift.pods,
            len(shown.state.broken_annotations),
            len(shown.history.latest()),
        )

    async def _explanation(self, asked: Asked) -> Steps:
        shown = self._shown
        if not asked.get("pod"):
            known = () if shown.refused is None else shown.refused.latest()
            refused = {each.uid: each for each in known}
            return explanation.waiting(shown.state, refused, asked, time.time())
        pod = shown.explain.known(asked.get("namespace") or "default", asked.get("pod"))
        names = [asked.get("node")] if asked.get("node") else None
        found = await shown.explain.explanation(Explained(pod, names))
        return _then_apart(explanation.explained(shown.state, found, asked), found)

    async def _domains(self, asked: Asked) -> Steps:
        return domains.domains(self._known(), asked)

    async def _violations(self, asked: Asked) -> Steps:
        shown = self._shown
        return violations.violations(self._known(), shown.watch, shown.eviction, asked)

    async def _quotas(self, asked: Asked) -> Steps:
        return quotas.quotas(self._known(), self._shown.quotas, asked)

    async def _activity(self, asked: Asked) -> Steps:
        return activity.activity(self._shown.history, asked)

    def _known(self) -> ClusterState:
        """Return the state; QueryError while parts of the cluster are not known yet."""
        if reason := self._shown.unready():
            raise QueryError(HTTPStatus.SERVICE_UNAVAILABLE, reason)
        return self._shown.state


def _asked(path: str, query: Mapping[str, str], parameters: Collection[str]) -> Asked:
    """Refuse what would otherwise be ignored without a word."""
    for name, value in query.items():
        if name not in parameters:
            raise QueryError(HTTPStatus.BAD_REQUEST, f"no parameter {name[:LONGEST_KEY]}")
        if len(value) > LONGEST_KEY:
            raise QueryError(HTTPStatus.BAD_REQUEST, f"{name}: longer than any name")
    return Asked(path, dict(query))


def _then_apart(steps: Steps, found: Explanation) -> Steps:
    yield from steps
    yield from taking_apart(found)


def _collected(steps: Steps) -> Generator[None, None, list[str]]:
    """Take the pieces of a page; QueryError when they are too many to be sent."""
    pieces: list[str] = []
    size = 0
    for piece in steps:
        if piece is not None:
            pieces.append(piece)
            # A character takes four bytes at most.
            size += len(piece) if piece.isascii() else 4 * len(piece)
            if size > MOST_BYTES:
                raise QueryError(HTTPStatus.INSUFFICIENT_STORAGE, "this page is too long")
        yield
    return pieces


def _fault(title: str, why: str) -> Html:
    said = element("strong", title), element("p", text(why))
    return element("div", *said, class_="state", role="status")
