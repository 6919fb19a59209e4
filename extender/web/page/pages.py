"""Serves the page: each part in slices, within a deadline, and with an answer whatever happens."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import time
from collections.abc import (
    AsyncIterator,
    Awaitable,
    Callable,
    Collection,
    Generator,
    Iterable,
    Mapping,
)
from functools import partial
from http import HTTPStatus
from itertools import chain
from types import ModuleType
from typing import Final, TypeAlias

from aiohttp import web

from extender.ports import Check
from extender.timing import CALL_LOG_SECONDS, LogThrottle
from extender.web.health import failing
from extender.web.offered import Section
from extender.web.page import activity, domains
from extender.web.page.html import element
from extender.web.page.layout import closing, links, notice, opening
from extender.web.page.overview import LINKS, Overview, overview
from extender.web.page.status import Shown
from extender.web.page.tables import Asked, Steps
from extender.web.turns import QueryError, in_slices
from extender.wire.validation import LONGEST_KEY

MOST_BYTES: Final = 2 << 20

Shows: TypeAlias = Steps | Awaitable[Steps]

_FAILED: Final = notice("This page failed", element("p", "The log says why."))

_log = logging.getLogger(__name__)


class Pages:
    """Answers GET / and GET /page/..."""

    def __init__(
        self, shown: Shown, readiness: Mapping[str, Check], others: Iterable[Section] = ()
    ) -> None:
        """`others` are those of features."""
        self._shown = shown
        self._readiness = readiness
        self._log = LogThrottle(_log, seconds=CALL_LOG_SECONDS)
        sections = [
            Section("/", "Overview", 0, self._overview),
            self._own(domains, "Rules and domains", 20, domains.domains),
            self._own(activity, "Activity", 50, activity.activity),
            *others,
        ]
        sections.sort(key=lambda each: each.place)
        self._sections = {each.path: each for each in sections}
        self._links = (*LINKS, *chain.from_iterable(each.links for each in sections))

    def _own(
        self, of: ModuleType, title: str, place: int, show: Callable[[Shown, Asked], Shows]
    ) -> Section:
        return Section(of.PATH, title, place, partial(show, self._shown), of.PARAMETERS)

    def add_to(self, app: web.Application) -> None:
        """Add the routes, and what runs beside them."""
        for path in self._sections:
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
        turns = self._shown.turns
        section = self._sections[path]
        try:
            async with turns.waiting(), turns.working:
                steps = section.show(_asked(path, query, section.parameters))
                if isinstance(steps, Awaitable):
                    steps = await steps
                body, status = await in_slices(_collected(steps)), HTTPStatus.OK
        except QueryError as error:
            status, body = error.status, [notice("This cannot be shown", element("p", str(error)))]
        except Exception as error:  # noqa: BLE001 - a page that failed says so
            kind = type(error).__name__
            self._log.log(logging.ERROR, kind, "a page cannot be shown", exc_info=error)
            status = HTTPStatus.INTERNAL_SERVER_ERROR
            body = [_FAILED, links(*self._links)]
        title = section.title if path != "/" else "affinity-extender"
        pages = [(each.path, each.title) for each in self._sections.values()]
        whole = "".join((opening(path, title, pages), *body, closing(time.time())))
        return status, whole.encode("utf-8", "replace")

    async def _overview(self, _: Asked) -> Steps:
        shown = self._shown
        recent, refused = await shown.recent.read(), shown.refused
        latest = None if refused is None else refused.latest()
        failures = failing(self._readiness)
        tiles = [tile for each in self._sections.values() for tile in each.tiles()]
        seen = (shown, shown.status(), failures, recent, latest, time.time())
        return overview(Overview(*seen, tiles, self._links))


def _asked(path: str, query: Mapping[str, str], parameters: Collection[str]) -> Asked:
    """Refuse what would otherwise be ignored without a word."""
    for name, value in query.items():
        if name not in parameters:
            raise QueryError(HTTPStatus.BAD_REQUEST, f"no parameter {name[:LONGEST_KEY]}")
        if len(value) > LONGEST_KEY:
            raise QueryError(HTTPStatus.BAD_REQUEST, f"{name}: longer than any name")
    return Asked(path, dict(query))


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
