"""What the program gets: pages for people at / and /page/..., and GET /domains."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from functools import cached_property
from time import time
from typing import TYPE_CHECKING, NoReturn

from extender.core.metrics.series import Collectors, GaugeRow
from extender.core.parts import Context, Part, Program, Task
from extender.core.web.offered import Handler, Request, Response, Route
from extender.features.page.recent import EVERY_SECONDS, RecentCalls

if TYPE_CHECKING:
    from extender.features.page.pages import Pages
    from extender.features.page.status import Shown, Status


class PagesForPeople(Part):
    """Shows the sections of all features; what that takes is imported by the first request."""

    def __init__(self, context: Context) -> None:
        self._context = context
        self._started = time()
        self._recent = RecentCalls(context.metrics)
        self._waiting = self.metrics(context.metrics.make)
        self._program: Program | None = None
        self._pages: Pages | None = None

    @staticmethod
    def metrics(make: Collectors) -> GaugeRow:
        return make.gauges(
            "waiting_pods",
            "Pods that wait for a node, 20,000 at most, by what keeps them from most nodes, as "
            "their scheduler says.",
            "reason",
        )

    def built(self, program: Program) -> None:
        """Answer at the address of each section."""
        self._program = program
        own = ("/", "/page/domains", "/page/activity")
        paths = (*own, *(each.path for each in program.sections))
        self.routes = (
            Route("/domains", self._domains),
            *(Route(each, self._get) for each in paths),
        )

    def tasks(self) -> Iterator[Task]:
        """Yield what reads the metrics, so that pages can tell of the last minutes."""
        yield "recent-calls", self._recent.run()
        yield "waiting-pods", self._count_waiting()

    async def _count_waiting(self) -> NoReturn:
        from extender.features.page.waiting import count  # noqa: PLC0415

        while True:
            await count(self._context.state, self._waiting)
            await asyncio.sleep(EVERY_SECONDS)

    @cached_property
    def shown(self) -> Shown:
        """What pages show parts of."""
        from extender.features.page.status import Shown  # noqa: PLC0415

        context = self._context
        return Shown(
            context.state,
            self._recent,
            context.turns,
            context.history,
            context.unsynced,
            self._status,
            refused=context.refused,
        )

    def _made(self) -> Pages:
        from extender.features.page.pages import Pages  # noqa: PLC0415

        assert self._program is not None  # noqa: S101 - routes begin with it
        return Pages(self.shown, self._program.readiness, self._program.sections)

    @cached_property
    def _document(self) -> Handler:
        from extender.features.page.document import Domains  # noqa: PLC0415

        return Domains(self.shown.state, self.shown.unready, self.shown.turns).get

    def _status(self) -> Status:
        from extender.features.page.status import status_of  # noqa: PLC0415

        assert self._program is not None  # noqa: S101
        return status_of(self._context, self._program, self._started)

    async def _get(self, request: Request) -> Response:
        if self._pages is None:
            # Imports and templates take 0.1 s, in which calls have to be answered.
            self._pages = await asyncio.to_thread(self._made)
        return await self._pages.get(request)

    async def _domains(self, request: Request) -> Response:
        return await self._document(request)


PART = PagesForPeople
