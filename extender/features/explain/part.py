"""What the program gets: GET and POST /explain, and a page."""

from __future__ import annotations

from functools import cached_property
from time import time
from typing import TYPE_CHECKING

from extender.parts import Context, Part
from extender.web.offered import Asked, Request, Response, Route, Section, Steps
from extender.web.page.layout import POD_PAGE

if TYPE_CHECKING:
    from extender.features.explain.answer import Explain


class Explaining(Part):
    """Explains pods; what it takes is imported by the first request."""

    def __init__(self, context: Context) -> None:
        self._context = context
        self.routes = (Route("/explain", self._get, self._post, takes_questions=True),)
        parameters = frozenset(("namespace", "pod", "node", "q", "page"))
        page = Section(POD_PAGE, "Explain", 10, self._show, parameters=parameters)
        self.sections = (page,)

    @cached_property
    def explain(self) -> Explain:
        """What answers."""
        from extender.features.explain.answer import build_explain  # noqa: PLC0415

        return build_explain(self._context)

    async def _get(self, request: Request) -> Response:
        return await self.explain.get(request)

    async def _post(self, request: Request) -> Response:
        return await self.explain.post(request)

    async def _show(self, asked: Asked) -> Steps:
        from extender.features.explain.page import explanation  # noqa: PLC0415

        return await explanation(self.explain, self._context.refused, asked, time())


PART = Explaining
