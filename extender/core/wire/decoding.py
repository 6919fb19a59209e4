"""JSON from elsewhere into typed values, or into an error that names the field.

Whole numbers are those that Go holds in 32 or 64 bits: a larger one is refused, as Go does, and
would not fit into an answer in JSON.
"""

from __future__ import annotations

import mmap
import platform
import sys
from collections.abc import Callable
from datetime import datetime
from threading import Lock
from typing import Annotated, Final, TypeAlias, TypeVar

import msgspec
from msgspec import Meta

from extender.core.errors import ExtenderError, ObjectError

T = TypeVar("T")

Json: TypeAlias = bytes | mmap.mmap | msgspec.Raw
"""Encoded JSON, wherever it lies."""

BROKEN_JSON: Final = (msgspec.MsgspecError, UnicodeDecodeError, RecursionError)
"""What decoding bytes from elsewhere can raise."""


MOST_STORED: Final = 10_000
"""The API server takes and stores JSON of this depth, and a tenant can put it into a pod's
managedFields. It must not hide the pod, let alone the list that it is in."""
MOST_NESTED: Final = MOST_STORED + 1_000

_USUAL: Final = sys.getrecursionlimit()
_deep: Final = Lock()

Int32: TypeAlias = Annotated[int, Meta(ge=-(1 << 31), lt=1 << 31)]
Moment: TypeAlias = Annotated[datetime, Meta(tz=True)]
"""As RFC 3339 has it. Of a time without an offset nothing says when it is."""
Int64: TypeAlias = Annotated[int, Meta(ge=-(1 << 63), le=(1 << 63) - 1)]


def decoded(decode: Callable[[Json], T], raw: Json) -> T:
    """Decode JSON as deep as the API server takes it; raises BROKEN_JSON.

    Half a MiB of a thread's stack is enough for that.
    """
    try:
        return decode(raw)
    except RecursionError:
        with _deep:
            sys.setrecursionlimit(_USUAL + MOST_NESTED)
            try:
                return decode(raw)
            finally:
                sys.setrecursionlimit(_USUAL)


def check_depth() -> None:
    """Raise ExtenderError where this Python cannot decode what the API server may store.

    With 3.12 and 3.13, the limit of `sys` does not hold for what is written in C.
    """
    try:
        decoded(msgspec.json.Decoder(msgspec.Raw).decode, b"[" * MOST_STORED + b"]" * MOST_STORED)
    except RecursionError as error:
        raise ExtenderError(
            f"this is Python {platform.python_version()}, which cannot decode JSON as deep as the "
            "API server stores it: whoever may edit one pod could hide all of them. Run the server "
            "with Python 3.11 or 3.14"
        ) from error


def decode(decoder: msgspec.json.Decoder[T], raw: Json, path: str = "") -> T:
    """Decode JSON; ObjectError instead of msgspec's errors, with the field's path."""
    try:
        return decoded(decoder.decode, raw)
    except msgspec.ValidationError as error:
        message, _, where = str(error).partition(" - at `$")
        field = where.rstrip("`")
        raise ObjectError(f"{path}{field}".lstrip("."), message) from error
    except BROKEN_JSON as error:
        raise ObjectError(path, f"not valid JSON: {error}") from error


def whole_number(text: str, digits: int = 19) -> int | None:
    """Return what at most `digits` decimal digits say, usually those of 64 bits; None for others.

    Digits of other scripts are none, and Python itself refuses to read thousands of them.
    """
    is_number = text.isascii() and text.isdecimal() and len(text) <= digits
    return int(text) if is_number else None
