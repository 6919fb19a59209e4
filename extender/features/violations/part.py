"""What the program gets: a patrol, its metric, GET /violations and a page."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from extender.core.metrics.series import Collectors, GaugeRow
from extender.core.model.verdict import INTER_POD_AFFINITY
from extender.core.parts import Context, Part, Task
from extender.core.web.offered import Asked, Handler, Request, Response, Route, Section, Tile, View
from extender.diagnosis.verbs.violations import Watch
from extender.features.violations.found import Found
from extender.features.violations.patrol import keep_patrolling

_PATH: Final = "/violations"
_PAGE: Final = "/page/violations"


class Patrol(Part):
    """Looks for broken rules all the time; answers from what it has found."""

    def __init__(self, context: Context) -> None:
        state, unready = context.state, context.unsynced
        self.found = Found(state, Watch(state), unready, context.findings)
        self._context = context
        self.gauge = self.metrics(context.metrics.make)
        self._answer: Handler | None = None
        self.routes = (Route(_PATH, self._get),)
        self.sections = (
            Section(
                *(_PAGE, "Violations", 30, self._show),
                parameters=frozenset(("q", "sort", "page")),
                tiles=self._tiles,
                links=((_PATH, "Violations as JSON"),),
            ),
        )

    @staticmethod
    def metrics(make: Collectors) -> GaugeRow:
        return make.gauges(
            "violations",
            "Required terms that placed pods break now, each counted once a topology domain.",
            *("plugin", "rule"),
        )

    def tasks(self) -> Iterator[Task]:
        found, plugin = self.found, INTER_POD_AFFINITY
        patrol = keep_patrolling(found.state, self.gauge, plugin, found.unready, watch=found.watch)
        yield "patrol", patrol

    async def _get(self, request: Request) -> Response:
        if self._answer is None:
            from extender.features.violations.answer import Violations  # noqa: PLC0415

            self._answer = Violations(self.found, self._context.turns).get
        return await self._answer(request)

    def _show(self, asked: Asked) -> View:
        from extender.features.violations.page import violations  # noqa: PLC0415

        return violations(self.found, asked)

    def _tiles(self) -> Iterator[Tile]:
        broken = len(self.found.watch.known)
        yield Tile(10, _PAGE, broken, "broken rules, each once a domain", bad=broken > 0)
        for each in self.found.others:
            yield from each.tiles(_PAGE)


PART = Patrol
