"""How many Python functions some work calls: what it costs, without a clock."""

from __future__ import annotations

import sys
from collections.abc import Callable
from types import FrameType
from typing import TypeVar

T = TypeVar("T")


def calls_during(
    work: Callable[[], T], *, of: Callable[[FrameType], bool] | None = None
) -> tuple[T, int]:
    """Return what some work does, and how many Python functions it calls, or goes on with.

    With `of`, those of which the frame meets that.
    """
    calls = 0

    def count(frame: FrameType, event: str, _: object) -> None:
        nonlocal calls
        if event == "call" and (of is None or of(frame)):
            calls += 1

    sys.setprofile(count)
    try:
        done = work()
    finally:
        sys.setprofile(None)
    return done, calls
