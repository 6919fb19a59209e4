"""JSON from elsewhere into typed values, or into an error that names the field."""

from __future__ import annotations

import mmap
from typing import Final, TypeAlias, TypeVar

import msgspec

from extender.errors import ObjectError

T = TypeVar("T")

Json: TypeAlias = bytes | mmap.mmap | msgspec.Raw
"""Encoded JSON, wherever it lies."""

BROKEN_JSON: Final = (msgspec.MsgspecError, UnicodeDecodeError, RecursionError)
"""What decoding bytes from elsewhere can raise."""


def decode(decoder: msgspec.json.Decoder[T], raw: Json, path: str = "") -> T:
    """Decode JSON; ObjectError instead of msgspec's errors, with the field's path."""
    try:
        return decoder.decode(raw)
    except msgspec.ValidationError as error:
        message, _, where = str(error).partition(" - at `$")
        field = where.rstrip("`")
        raise ObjectError(f"{path}{field}".lstrip("."), message) from error
    except BROKEN_JSON as error:
        raise ObjectError(path, f"not valid JSON: {error}") from error
