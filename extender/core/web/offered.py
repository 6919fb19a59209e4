"""What features add to the operations port: routes, and pages for people."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol, TypeAlias, TypeVar

from aiohttp.web import Request, Response

from extender.core.wire.documents import Fields

__all__ = [
    "Asked",
    "Findings",
    "Handler",
    "Request",
    "Response",
    "Route",
    "Section",
    "TableRows",
    "Tile",
    "View",
]

Handler: TypeAlias = Callable[[Request], Awaitable[Response]]

T = TypeVar("T")
T_co = TypeVar("T_co", covariant=True)


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


class TableRows(Protocol[T_co]):
    """The rows of a table that one page shows."""

    @property
    def rows(self) -> Sequence[T_co]:
        """A hundred at most."""

    @property
    def found(self) -> int:
        """How many rows all pages have."""


class Asked(Protocol):
    """What the address of a page asks for; methods raise QueryError where that makes no sense."""

    def get(self, name: str) -> str: ...

    def choose(
        self,
        rows: Iterable[T],
        fits: Callable[[T], bool],
        orders: Mapping[str, Callable[[T], Any]] | None = None,
    ) -> TableRows[T]:
        """Return the rows that fit, those of the page that is asked for.

        `orders` are the values that `sort` may have, the default first.
        """


class View(NamedTuple):
    """What is on a page below its title."""

    template: str
    """Its file below `extender/features/`. It extends frame.html."""
    values: Mapping[str, Any]


class Findings:
    """What a feature knows of placed pods that should be elsewhere; nothing here."""

    def fields(self, limit: int) -> Fields:
        """Yield names and values for JSON, lists with `limit` items at most."""
        del limit
        return iter(())

    def above(self, asked: Asked) -> Iterable[View]:
        """Return what stands above the broken rules on their page.

        A template has its values as `found`, and is included, so it extends nothing.
        """
        del asked
        return ()

    def below(self, asked: Asked) -> Iterable[View]:
        """Return what stands below them, in the same form."""
        del asked
        return ()

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
    show: Callable[[Asked], View | Awaitable[View]]
    """Called within the bounds on long answers; its errors and QueryError are shown."""
    parameters: Collection[str] = ()
    """All others are refused."""
    tiles: Callable[[], Iterable[Tile]] = tuple
    """For the first page, at each request for it."""
    links: tuple[tuple[str, str], ...] = ()
    """Addresses for programs, each with its text."""
    explains_pods: bool = False
    """Names of pods lead there, with the parameters `namespace` and `pod`."""
