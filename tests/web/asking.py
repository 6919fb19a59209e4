"""What the address of a page asks for, where no page is put together."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Rows:
    """All rows that were chosen."""

    rows: Sequence[Any]

    @property
    def found(self) -> int:
        """How many there are."""
        return len(self.rows)


class Asking:
    """Asks for parameters, and for all rows on one page, in the order in which they come."""

    def __init__(self, **query: str) -> None:
        self._query = query

    def get(self, name: str) -> str:
        """Return a parameter; nothing if it is not there."""
        return self._query.get(name, "")

    def choose(self, rows: Iterable[Any], fits: Callable[[Any], bool], orders: Any = None) -> Rows:
        """Return the rows that fit."""
        del orders
        return Rows([each for each in rows if fits(each)])
