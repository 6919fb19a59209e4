"""What the program gets: GET and POST /explain, and a page."""

from __future__ import annotations

from functools import cached_property
from time import time
from typing import TYPE_CHECKING

from extender.core.parts import Context, Part
from extender.core.web.offered import Asked, Request, Response, Route, Section, View

if TYPE_CHECKING:
    from extender.features.explain.answer import Explain


class Explaining(Part):
    """Explains pods; what it takes is imported by the first request."""

    def __init__(self, context: Context) -> None:
        self._context = context
        self.routes = (Route("/explain", self._get, self._post, takes_questions=True),)
        parameters = frozenset(("namespace", "pod", "node", "q", "page"))
        self.sections = (
            Section(
                *("/page/explain", "Explain", 10, self._show),
                parameters=parameters,
                explains_pods=True,
            ),
        )

    @cached_property
    def explain(self) -> Explain:
        from extender.features.explain.answer import build_explain  # noqa: PLC0415

        return build_explain(self._context)

    async def _get(self, request: Request) -> Response:
        return await self.explain.get(request)

    async def _post(self, request: Request) -> Response:
        return await self.explain.post(request)

    async def _show(self, asked: Asked) -> View:
        from extender.features.explain.page import explanation  # noqa: PLC0415
        from extender.features.explain.waiting import waiting  # noqa: PLC0415

        if asked.get("pod"):
            return await explanation(self.explain, asked)
        return await waiting(self.explain, self._context.refused, asked, time())


PART = Explaining
