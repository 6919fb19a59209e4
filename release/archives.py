"""Archives whose bytes follow from what is in them."""

from __future__ import annotations

import gzip
import io
import tarfile
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable


class Entry(NamedTuple):
    name: str
    content: bytes
    mode: int = 0o644


def archived(entries: Iterable[Entry]) -> bytes:
    """Return a tar.gz with these files, in this order, and without times or owners."""
    tar = io.BytesIO()
    with tarfile.open(fileobj=tar, mode="w", format=tarfile.PAX_FORMAT) as packing:
        for entry in entries:
            header = tarfile.TarInfo(entry.name)
            header.size, header.mode = len(entry.content), entry.mode
            packing.addfile(header, io.BytesIO(entry.content))
    return gzip.compress(tar.getvalue(), mtime=0)
