"""Takes work that is cut into steps at once, where nobody else is waiting."""

from __future__ import annotations

from collections.abc import Generator
from typing import TypeVar

T = TypeVar("T")


def at_once(steps: Generator[object, None, T]) -> T:
    """Take all steps, and return what the last one returns."""
    while True:
        try:
            next(steps)
        except StopIteration as end:
            found: T = end.value
            return found
