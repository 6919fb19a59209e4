"""Files that people and machines name: whatever they turn out to be, reading them ends.

All that is wrong with one comes as an OSError with a `strerror`, as from the system itself.
"""

from __future__ import annotations

import errno
import os
import select
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import Final

MOST_BYTES: Final = 16 << 20
"""Of a file that people write or a key, a token. etcd holds no object of more than 1.5 MiB."""
PIPE_SECONDS: Final = 10.0
"""Patience with a pipe, as `--config <(...)` makes one: nobody may be there to write to it."""

_PIECE: Final = 1 << 20


BYTE_ORDER_MARKS: Final = (b"\xef\xbb\xbf", b"\xff\xfe", b"\xfe\xff")


def read_text(path: Path, most: int = MOST_BYTES) -> str:
    """Return the text of a file: UTF-8, or UTF-16 with its mark, as PowerShell writes it.

    UnicodeDecodeError when it is neither.
    """
    return as_utf8(read_bytes(path, most)).decode()


def read_bytes(path: Path, most: int = MOST_BYTES, *, patience: float = PIPE_SECONDS) -> bytes:
    """Return the content of a file, or of a pipe that somebody writes to."""
    # Opening a pipe that nobody writes to would wait for ever.
    file = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    try:
        regular = stat.S_ISREG(os.fstat(file).st_mode)
        content = b"".join(_pieces(file, most, None if regular else patience))
    finally:
        os.close(file)
    return within(content, most, path)


def within(content: bytes, most: int, path: Path) -> bytes:
    """Return a content that is no larger than it may be; OSError when it is."""
    if len(content) > most:
        raise OSError(errno.EFBIG, f"larger than {most >> 20} MiB", str(path))
    return content


def as_utf8(content: bytes) -> bytes:
    """Return a text in UTF-8 without a byte order mark; UnicodeDecodeError when it is broken."""
    if content.startswith(BYTE_ORDER_MARKS[1:]):
        return content.decode("utf-16").encode()
    return content.removeprefix(BYTE_ORDER_MARKS[0])


def _pieces(file: int, most: int, patience: float | None) -> Iterator[bytes]:
    """Read to the end, or a little further than is allowed; wait so long for each piece."""
    found = 0
    while found <= most:
        if patience is not None and not select.select([file], [], [], patience)[0]:
            raise OSError(errno.ETIMEDOUT, f"nothing was written to it for {patience:.0f} s")
        piece = os.read(file, _PIECE)
        if not piece:
            break
        found += len(piece)
        yield piece
