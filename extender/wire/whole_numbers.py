"""Whole numbers: those that Go holds in 32 or 64 bits, and those that are written as text.

A larger one is refused as Go does, and would not fit into an answer in JSON.
"""

from __future__ import annotations

from typing import Annotated, TypeAlias

from msgspec import Meta

Int32: TypeAlias = Annotated[int, Meta(ge=-(1 << 31), lt=1 << 31)]
Int64: TypeAlias = Annotated[int, Meta(ge=-(1 << 63), le=(1 << 63) - 1)]


def whole_number(text: str, digits: int) -> int | None:
    """Return what at most so many decimal digits say; None for anything else.

    Digits of other scripts are none, and Python itself refuses to read thousands of them.
    """
    is_number = text.isascii() and text.isdecimal() and len(text) <= digits
    return int(text) if is_number else None
