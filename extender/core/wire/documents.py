"""JSON documents with long lists, written a row at a time."""

from __future__ import annotations

from collections.abc import Generator, Iterator
from typing import Any, Final, TypeAlias

import orjson

PIECE_BYTES: Final = 16 << 10
"""Of rows that are sent together."""

Fields: TypeAlias = Iterator[tuple[str, Any] | None]
"""Names with values; None where another step was needed to find out."""


def write_document(fields: Fields) -> Generator[None, None, list[bytes]]:
    """Write an object in steps; a value that is an iterator is a list, with a row on each line.

    Its rows are made one in each step, and None is a step without one. The next field is asked for
    after the last of them.
    """
    pieces: list[bytes] = []
    comma = b"{"
    for field in fields:
        if field is not None:
            name, value = field
            start = b"%b\n  %b: " % (comma, orjson.dumps(name))
            comma = b","
            if isinstance(value, Iterator):
                yield from _rows(start, value, pieces)
            else:
                pieces.append(start + orjson.dumps(value))
        yield
    pieces.append(b"\n}\n")
    return pieces


def _rows(start: bytes, rows: Iterator[Any], pieces: list[bytes]) -> Iterator[None]:
    piece, comma = start + b"[", b""
    for row in rows:
        if row is not None:
            piece += b"%b\n    %b" % (comma, orjson.dumps(row))
            comma = b","
            if len(piece) > PIECE_BYTES:
                pieces.append(piece)
                piece = b""
        yield
    pieces.append(piece + b"]")
