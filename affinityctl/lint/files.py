"""Objects out of files and folders, and the configurations of the extender among them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any, Final

import msgspec

from affinityctl.lint.finding import Place
from affinityctl.lint.linting import Configured
from affinityctl.lint.objects import Raw
from extender.config import Config
from extender.config.checks import faults
from extender.config.document import decode_all
from extender.errors import ConfigError, ConfigFaultsError
from extender.offline import ClusterFileError, UnreadableClusterFileError, objects_in

SUFFIXES: Final = (".yaml", ".yml", ".json")
"""Of files that are looked at in a folder."""


def read_objects(path: Path, passed_over: Callable[[str], None]) -> Iterator[Raw]:
    """Yield the objects of a file, or of all manifests in a folder and below it.

    ClusterFileError for a file that is broken; in a folder it is passed over, with the reason: a
    patch or the values of a chart are no manifests.
    """
    if not path.is_dir():
        yield from _of_file(path)
        return
    for file in sorted(each for each in path.rglob("*") if each.suffix in SUFFIXES):
        if file.is_file():
            yield from _of_member(file, passed_over)


def _of_member(file: Path, passed_over: Callable[[str], None]) -> Iterator[Raw]:
    try:
        found = list(_of_file(file))
    except UnreadableClusterFileError:
        raise
    except ClusterFileError as error:
        passed_over(str(error))
    else:
        yield from found


def _of_file(path: Path) -> Iterator[Raw]:
    return numbered(path, objects_in(path))


def numbered(path: Path, objects: Iterable[tuple[str, msgspec.Raw]]) -> Iterator[Raw]:
    """Yield the objects of a file with their places in it."""
    for index, (kind, raw) in enumerate(objects):
        yield Raw(str(path), index, kind, raw)


def read_configs(found: Iterable[tuple[Place, msgspec.Raw]]) -> list[Configured]:
    """Read configurations; ConfigError says all that is wrong with one."""
    return [Configured(place, _read(place, msgspec.json.decode(raw))) for place, raw in found]


def _read(place: Place, document: Any) -> Config:
    config, wrong = decode_all(document)
    if config is not None and not wrong:
        wrong = list(faults(config))
    if config is None or wrong:
        raise ConfigFaultsError.of(
            [ConfigError(each.path, each.message, place.file) for each in wrong]
        )
    return config
