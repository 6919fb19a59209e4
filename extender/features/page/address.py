"""What the address of a page asks for, and the rows of a table that it chooses."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any, Final, Generic, TypeVar

from extender.core.web.turns import QueryError
from extender.core.wire.decoding import whole_number
from extender.core.wire.validation import LONGEST_KEY
from extender.features.page.words import address

ROWS: Final = 100
MOST_DIGITS: Final = 9

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Choice(Generic[T]):
    """The rows of one page of a table."""

    rows: Sequence[T]
    number: int
    found: int
    """Rows of all pages."""
    sort: str = ""
    """The order that they are in, as the address names it."""

    @property
    def last(self) -> int:
        """The number of the last page."""
        return max(1, -(-self.found // ROWS))


@dataclass(frozen=True, slots=True)
class Address:
    """What the address of a page asks for; methods raise QueryError where that makes no sense."""

    path: str
    query: Mapping[str, str]

    @classmethod
    def checked(cls, path: str, query: Mapping[str, str], parameters: Collection[str]) -> Address:
        """Refuse what would otherwise be ignored without a word."""
        for name, value in query.items():
            if name not in parameters:
                raise QueryError(HTTPStatus.BAD_REQUEST, f"no parameter {name[:LONGEST_KEY]}")
            if len(value) > LONGEST_KEY:
                raise QueryError(HTTPStatus.BAD_REQUEST, f"{name}: longer than any name")
        return cls(path, dict(query))

    def get(self, name: str) -> str:
        """Return a parameter; nothing if it is not there."""
        return self.query.get(name, "")

    def number(self, name: str, default: int) -> int:
        """Return a parameter that is a whole number from 1."""
        text = self.get(name)
        found = whole_number(text, MOST_DIGITS) if text else default
        if found is None or found < 1:
            raise QueryError(HTTPStatus.BAD_REQUEST, f"{name}: not a whole number from 1")
        return found

    def one_of(self, name: str, values: Sequence[str]) -> str:
        """Return a parameter that is one of some values, by default the first."""
        found = self.get(name) or values[0]
        if found not in values:
            known = ", ".join(values)
            raise QueryError(HTTPStatus.BAD_REQUEST, f"{name}: not one of {known}")
        return found

    def choose(
        self,
        rows: Iterable[T],
        fits: Callable[[T], bool],
        orders: Mapping[str, Callable[[T], Any]] | None = None,
    ) -> Choice[T]:
        """Return the rows that fit, those of the page that is asked for; O(rows log rows)."""
        sort = "" if orders is None else self.one_of("sort", tuple(orders))
        number = self.number("page", 1)
        found = [each for each in rows if fits(each)]
        if orders is not None:
            found.sort(key=orders[sort])
        start = (number - 1) * ROWS
        return Choice(found[start : start + ROWS], number, len(found), sort)

    def link(self, **changed: str) -> str:
        """Return the address of the same page with other parameters; an empty one is left out."""
        # A label may have an empty value, which is not the same as none.
        query = dict(self.query) | changed
        for name in [name for name, value in changed.items() if not value]:
            del query[name]
        return address(self.path, query)
