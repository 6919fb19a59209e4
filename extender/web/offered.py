"""What features add to the operations port: routes, and pages for people."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection, Iterable
from dataclasses import dataclass
from typing import NamedTuple, TypeAlias

from aiohttp.web import Request, Response

from extender.web.page.tables import Asked, Steps
from extender.wire.documents import Fields

__all__ = [
    "Asked",
    "Findings",
    "Handler",
    "Request",
    "Response",
    "Route",
    "Section",
    "Steps",
    "Tile",
]

Handler: TypeAlias = Callable[[Request], Awaitable[Response]]


class Route(NamedTuple):
    """What answers requests for one path."""

    path: str
    get: Handler
    post: Handler | None = None
    takes_questions: bool = False
    """POST takes the body of a filter call; the answer says why nodes refuse the pod."""


class Tile(NamedTuple):
    """A number on the first page."""

    place: int
    """Tiles stand in its order."""
    href: str | None
    number: int
    what: str
    bad: bool = False


class Findings:
    """What a feature knows of placed pods that should be elsewhere; nothing here."""

    def fields(self, limit: int) -> Fields:
        """Yield names and values for JSON, lists with `limit` items at most."""
        del limit
        return iter(())

    def above(self, asked: Asked) -> Steps:
        """Yield what stands above the broken rules on their page."""
        del asked
        return iter(())

    def below(self, asked: Asked) -> Steps:
        """Yield what stands below them."""
        del asked
        return iter(())

    def tiles(self, page: str) -> Iterable[Tile]:
        """Return numbers for the first page, which lead to the page of broken rules."""
        del page
        return ()


@dataclass(frozen=True, slots=True)
class Section:
    """A page for people, GET /page/..., in the frame of all pages."""

    path: str
    title: str
    place: int
    """The navigation has pages in its order."""
    show: Callable[[Asked], Steps | Awaitable[Steps]]
    """Yields the page below its title. Called within the bounds on long answers; its errors and
    QueryError are shown."""
    parameters: Collection[str] = ()
    """All others are refused."""
    tiles: Callable[[], Iterable[Tile]] = tuple
    """For the first page, at each request for it."""
    links: tuple[tuple[str, str], ...] = ()
    """Addresses for programs, each with its text."""
