"""The objects of files and folders, as they are written there."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Final, NamedTuple

import msgspec

from extender.core.offline import ClusterFileError, UnreadableClusterFileError, objects_in


class Raw(NamedTuple):
    file: str
    number: int
    """Which object of its file, from 0."""
    kind: str
    content: msgspec.Raw


SUFFIXES: Final = (".yaml", ".yml", ".json")
"""Of files that are looked at in a folder."""


def read_objects(
    path: Path, passed_over: Callable[[str], None], *, of_cluster: bool = False
) -> Iterator[Raw]:
    """Yield the objects of a file, or of all manifests in a folder and below it.

    ClusterFileError for a file that is broken; in a folder it is passed over, with the reason: a
    patch or the values of a chart are no manifests.
    """
    if not path.is_dir():
        yield from numbered(path, objects_in(path, of_cluster=of_cluster))
        return
    for file in sorted(each for each in path.rglob("*") if each.suffix in SUFFIXES):
        if file.is_file():
            yield from _of_member(file, passed_over)


def _of_member(file: Path, passed_over: Callable[[str], None]) -> Iterator[Raw]:
    try:
        found = list(numbered(file, objects_in(file)))
    except UnreadableClusterFileError:
        raise
    except ClusterFileError as error:
        passed_over(str(error))
    else:
        yield from found


def numbered(path: Path, objects: Iterable[tuple[str, msgspec.Raw]]) -> Iterator[Raw]:
    for index, (kind, raw) in enumerate(objects):
        yield Raw(str(path), index, kind, raw)
