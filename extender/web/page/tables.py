"""Tables of any length: searched, sorted and shown a page at a time, in small steps."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from heapq import merge
from http import HTTPStatus
from itertools import chain, islice
from typing import Any, Final, Generic, TypeAlias, TypeVar

from extender.web.page.html import Html, address, element, joined
from extender.web.turns import QueryError
from extender.wire.decoding import whole_number
from extender.wire.validation import LONGEST_KEY

ROWS: Final = 100
AT_ONCE: Final = 250
"""Rows that are sorted in one step."""
MOST_DIGITS: Final = 9

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Asked:
    """What the address of a page asks for."""

    path: str
    query: Mapping[str, str]

    def get(self, name: str) -> str:
        """Return a parameter; nothing if it is not there."""
        return self.query.get(name, "")

    def number(self, name: str, default: int) -> int:
        """Return a parameter that is a whole number from 1; QueryError if it is not."""
        text = self.get(name)
        found = whole_number(text, MOST_DIGITS) if text else default
        if found is None or found < 1:
            raise QueryError(HTTPStatus.BAD_REQUEST, f"{name}: not a whole number from 1")
        return found

    def one_of(self, name: str, values: Sequence[str]) -> str:
        """Return a parameter that is one of some values, by default the first; or QueryError."""
        found = self.get(name) or values[0]
        if found not in values:
            known = ", ".join(values)
            raise QueryError(HTTPStatus.BAD_REQUEST, f"{name}: not one of {known}")
        return found

    @property
    def page(self) -> int:
        """Return which page of a table is asked for."""
        return self.number("page", 1)

    def order(self, orders: Mapping[str, Callable[[T], Any]]) -> Callable[[T], Any]:
        """Return what sorts rows, by `sort`: one of some orders, by default the first."""
        return orders[self.one_of("sort", tuple(orders))]

    def link(self, **changed: str) -> str:
        """Return the address of the same page with other parameters; an empty one is left out."""
        # A label may have an empty value, which is not the same as none.
        query = dict(self.query) | changed
        for name in [name for name, value in changed.items() if not value]:
            del query[name]
        return address(self.path, query)


@dataclass(frozen=True, slots=True)
class Column:
    """A column of a table."""

    title: str
    number: bool = False
    sort: str = ""
    """The value of `sort` by which rows are in its order."""
    kind: str = ""
    """A class of the style sheet for its cells."""


def texts(*titles: str) -> Iterator[Column]:
    """Make columns of texts."""
    return map(Column, titles)


def numbers(*titles: str) -> Iterator[Column]:
    """Make columns of numbers."""
    return (Column(title, number=True) for title in titles)


@dataclass(frozen=True, slots=True)
class Page(Generic[T]):
    """Some of the rows that were found."""

    rows: Sequence[T]
    number: int
    found: int
    """Of all pages."""

    @property
    def last(self) -> int:
        """Return the number of the last page."""
        return max(1, -(-self.found // ROWS))


Steps: TypeAlias = Iterator[Html | None]
"""A page in pieces; None is a pause in which there is nothing to show yet."""


def choosing(
    rows: Iterable[T], fits: Callable[[T], bool], order: Callable[[T], Any] | None, number: int
) -> Generator[None, None, Page[T]]:
    """Choose the rows of a page, in steps; those that fit count, in this order if there is one.

    `rows` must not change between two steps.
    """
    runs: list[list[T]] = [[]]
    for each in rows:
        if fits(each):
            if len(runs[-1]) == AT_ONCE:
                _sort(runs[-1], order)
                runs.append([])
            runs[-1].append(each)
        yield
    _sort(runs[-1], order)
    found, start = sum(map(len, runs)), (number - 1) * ROWS
    if order is None:
        return Page([*islice(chain.from_iterable(runs), start, start + ROWS)], number, found)
    chosen = []
    for place, each in enumerate(islice(merge(*runs, key=order), start + ROWS)):
        if place >= start:
            chosen.append(each)
        yield
    return Page(chosen, number, found)


def _sort(run: list[T], order: Callable[[T], Any] | None) -> None:
    if order is not None:
        run.sort(key=order)


def table(
    name: str,
    caption: str,
    columns: Sequence[Column],
    rows: Iterable[Sequence[str]],
    asked: Asked | None = None,
) -> Iterator[Html]:
    """Yield a table row by row, in a region that scrolls by itself; `name` tells it from others.

    The first cell of a row is its heading, and each other one says what it is, for a window in
    which rows are cards. With `asked`, columns can be sorted by.
    """
    yield joined(
        Html(f'<div class="scroll" role="region" tabindex="0" aria-labelledby="{name}"><table>'),
        element("caption", caption, id=name),
        element("thead", element("tr", *(_head(each, asked, columns) for each in columns))),
        Html("<tbody>"),
    )
    for row in rows:
        cells = [
            element(
                "td" if place else "th",
                cell,
                scope=None if place else "row",
                data_label=column.title if place else None,
                class_=("number" if column.number else column.kind) or None,
            )
            for place, (column, cell) in enumerate(zip(columns, row, strict=True))
        ]
        yield element("tr", *cells)
    yield Html("</tbody></table></div>")


def _head(column: Column, asked: Asked | None, columns: Sequence[Column]) -> Html:
    title: str = column.title
    sorted_by = None
    if asked is not None and column.sort:
        by = asked.get("sort") or next(each.sort for each in columns if each.sort)
        title = element("a", title, href=asked.link(sort=column.sort, page=""))
        if by == column.sort:
            sorted_by = "descending" if column.number else "ascending"
    kind = "number" if column.number else None
    return element("th", title, scope="col", class_=kind, aria_sort=sorted_by)


def paged(
    asked: Asked,
    name: str,
    caption: str,
    columns: Sequence[Column],
    rows: Iterable[Sequence[str]],
    *,
    page: Page[T],
) -> Iterator[Html]:
    """Yield a table of one page, with links to the pages before and after."""
    yield from table(name, caption, columns, rows, asked)
    if page.last == 1 and page.number == 1:
        return
    parts: list[str] = []
    if page.number > 1:
        before = min(page.number - 1, page.last)
        parts.append(element("a", "Previous", rel="prev", href=asked.link(page=str(before))))
    parts.append(element("span", f"Page {page.number:,} of {page.last:,}"))
    if page.number < page.last:
        after = asked.link(page=str(page.number + 1))
        parts.append(element("a", "Next", rel="next", href=after))
    yield element("nav", *parts, class_="pages", aria_label=f"Parts of the table: {name}")


def search(asked: Asked, label: str, *keep: str) -> Html:
    """Write a form that searches; `keep` has the parameters that stay."""
    kept = [
        element("input", type="hidden", name=name, value=asked.get(name))
        for name in (*keep, "sort")
        if name in asked.query
    ]
    return element(
        "form",
        *kept,
        field("q", label, asked.get("q")),
        element("button", "Search", type="submit"),
        role="search",
        method="get",
        action=asked.path,
    )


def field(name: str, label: str, value: str, *, required: bool = False) -> Html:
    """Write a field of a form with its label."""
    return labelled(
        name,
        label,
        "input",
        value=value or None,
        type="text",
        maxlength=str(LONGEST_KEY),
        autocomplete="off",
        spellcheck="false",
        required=required,
    )


def labelled(
    name: str, label: str, tag: str, *content: Html, **attributes: str | bool | None
) -> Html:
    """Write a part of a form with its label."""
    id_ = f"field-{name}"
    part = element(tag, *content, id=id_, name=name, **attributes)
    return element("div", element("label", label, for_=id_), part)
