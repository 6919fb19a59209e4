"""Work that is cut into steps, each of which yields what it took; and who takes the steps.

A program that answers calls beside it takes them in turns of the event loop (`core/warm_up.py`).
"""

from __future__ import annotations

from collections.abc import Generator, Iterable
from typing import Final, TypeVar

T = TypeVar("T")

A_LOOK: Final = 10
"""Conditions on labels that take as long as a look at a node, at a class of pods or at a pod."""


def at_once(steps: Generator[object, None, T]) -> T:
    """Take all steps, and return what the last one returns."""
    while True:
        try:
            next(steps)
        except StopIteration as end:
            found: T = end.value
            return found


def within(steps: Iterable[int], limit: int) -> int | None:
    """Take steps until they took more than a limit; return what all of them took, else None."""
    spent = 0
    for took in steps:
        spent += took
        if spent > limit:
            return None
    return spent
