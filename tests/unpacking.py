"""Unpack archives with every Python that the project runs on."""

from __future__ import annotations

import tarfile
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path


def unpack(archive: tarfile.TarFile, folder: Path) -> None:
    """Unpack an archive of our own.

    The argument `filter` came with Python 3.11.4, and from 3.12 on a warning where no filter is
    named; the attribute is no mistake in any.
    """
    archive.extraction_filter = getattr(tarfile, "data_filter", None)
    archive.extractall(folder)  # noqa: S202 - made here a moment ago
