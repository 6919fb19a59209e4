"""Whole numbers that somebody has written as text."""

from __future__ import annotations


def whole_number(text: str, digits: int) -> int | None:
    """Return what at most so many decimal digits say; None for anything else.

    Digits of other scripts are none, and Python itself refuses to read thousands of them.
    """
    is_number = text.isascii() and text.isdecimal() and len(text) <= digits
    return int(text) if is_number else None
