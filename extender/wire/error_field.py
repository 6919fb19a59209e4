"""The field `Error` of an answer."""

from __future__ import annotations

from extender.errors import one_line


def error_text(message: str) -> str:
    """Make a message fit for an `Error` field: one bounded line, and no % (Go formats it)."""
    return one_line(one_line(message).replace("%", " percent"))
