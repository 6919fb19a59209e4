"""A clock for what asks for the time."""

from __future__ import annotations


class Clock:
    """Stands still until a test sets it."""

    def __init__(self, now: float = 0.0) -> None:
        self.now = now

    def __call__(self) -> float:
        return self.now
