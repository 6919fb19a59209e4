"""Files that exist in memory only, for libraries that take private keys by file name alone."""

from __future__ import annotations

import contextlib
import os
from pathlib import Path
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterator

_NOT_EXECUTABLE: Final = 0x0008
"""MFD_NOEXEC_SEAL: Linux 6.3 and newer can be set up to refuse memory files without it."""


@contextlib.contextmanager
def memory_file(content: bytes) -> Iterator[str]:
    """Yield a file name under which this process, and no other user, reads `content`.

    Nothing is written to any file system, and nothing outlives the process, however it ends. Where
    there is no memfd (only Linux has it) the name is that of a pipe, which can be read once and
    holds what the kernel lets it, 16 KiB at least; where there is not even /dev/fd, an OSError says
    so.
    """
    folder = next((name for name in ("/proc/self/fd", "/dev/fd") if Path(name).is_dir()), None)
    if folder is None:
        raise OSError("embedded keys need /dev/fd, which is missing: use files instead")
    reader = _memfd(content)
    if reader is None:
        reader = _pipe(content)
    try:
        yield f"{folder}/{reader}"
    finally:
        os.close(reader)


def _memfd(content: bytes) -> int | None:
    """Open a memory file that holds `content`; None where the system has none."""
    if not hasattr(os, "memfd_create"):
        return None
    for flags in (os.MFD_CLOEXEC | _NOT_EXECUTABLE, os.MFD_CLOEXEC):
        with contextlib.suppress(OSError):
            opened = os.memfd_create("credentials", flags)
            return _written(opened, opened, content)
    return None


def _pipe(content: bytes) -> int:
    """Open a pipe with `content` in it and nothing to follow."""
    reader, writer = os.pipe()
    try:
        # More than it holds would otherwise wait for a reader that comes afterwards.
        os.set_blocking(writer, False)
        return _written(reader, writer, content)
    finally:
        os.close(writer)


def _written(reader: int, writer: int, content: bytes) -> int:
    try:
        rest = memoryview(content)
        while rest:
            rest = rest[os.write(writer, rest) :]
    except OSError:
        os.close(reader)
        raise
    return reader
