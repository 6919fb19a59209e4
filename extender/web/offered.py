"""What features add to the operations port: routes, and pages for people."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection, Iterable
from dataclasses import dataclass
from typing import NamedTuple, TypeAlias

from aiohttp.web import Request, Response

from extender.web.page.tables import Asked, Steps

__all__ = ["Asked", "Handler", "Request", "Response", "Route", "Section", "Steps", "Tile"]

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
