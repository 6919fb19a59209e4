"""Writes what the commands read of a cluster into a file."""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import tempfile
from collections import Counter
from collections.abc import Iterator, Sequence
from http import HTTPStatus
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, Final, TypeAlias

from affinityctl.commands.dump.fields import LISTED_AS, READ_AS, Pruner, ReadAs
from affinityctl.commands.lint.objects import LISTED_WORKLOADS, POLICIES, ListedResource
from affinityctl.reading.api_server import api_server
from affinityctl.reading.limit_ranges import LIMIT_RANGES
from affinityctl.reading.priorities import PRIORITY_CLASSES
from affinityctl.reading.sources import PassedOver, read_objects
from affinityctl.scheduler.default_spread.selectors import Selectors, selecting_resources
from affinityctl.scheduler.volumes.resources import VOLUME_RESOURCES
from affinityctl.terminal.progress import Progress
from extender.core.command_line import DONE, complain, say
from extender.core.errors import ApiError, ConfigError, ObjectError, UnreadableFileError
from extender.core.model.workload import STATEFUL_SET
from extender.core.offline import EXPECTED, ClusterFileError
from extender.core.resources import RESOURCES, VITAL, WatchedResource, of_features

if TYPE_CHECKING:
    from msgspec import Raw

    from extender.core.kube.client import ApiClient

Listed: TypeAlias = "WatchedResource[Any] | ListedResource"
LISTED: Final[Sequence[Listed]] = (
    *RESOURCES,
    *of_features(),
    *VOLUME_RESOURCES,
    *LISTED_WORKLOADS,
    POLICIES,
    PRIORITY_CLASSES,
    LIMIT_RANGES,
    *(each for each in selecting_resources(Selectors()) if each.kind != STATEFUL_SET),
)
SMALL: Final = 100_000
"""Bytes that are not told in MB."""
TRIES: Final = 3
"""Of a list that took longer than the API server keeps its version, five minutes by default."""


def run(flags: argparse.Namespace) -> int:
    progress = Progress(things="objects")
    progress.begin()
    with _replaced(flags.output) as file:
        writer = _Writer(file, progress, READ_AS if flags.cluster else LISTED_AS)
        if flags.cluster:
            for path in flags.cluster:
                _rewrite(path, writer, verbose=flags.verbose)
        else:
            asyncio.run(_list(flags, writer))
        progress.wipe()
        if not writer.found:
            raise ConfigError("--cluster", f"nothing that a command reads is in it; {EXPECTED}")
        size = writer.end()
    what = ", ".join(f"{count:,} {name}" for name, count in writer.found.items())
    large = f"{size / 1e6:,.1f} MB" if size >= SMALL else f"{size:,} bytes"
    say(f"{flags.output}: {large} with {what}")
    return DONE


@contextlib.contextmanager
def _replaced(path: Path) -> Iterator[IO[bytes]]:
    """Open a file that takes the place of another once it is whole; nobody else may read it."""
    if path.exists() and not path.is_file():
        raise ConfigError("--output", f"{path} is no file")
    temporary = None
    try:
        with tempfile.NamedTemporaryFile(
            dir=path.parent, prefix=f".{path.name}.", delete=False
        ) as file:
            temporary = Path(file.name)
            yield file
        temporary.replace(path)
    except OSError as error:
        raise UnreadableFileError("--output", f"{path}: {error.strerror or error}") from error
    finally:
        if temporary is not None:
            temporary.unlink(missing_ok=True)


class _Writer:
    def __init__(self, file: IO[bytes], progress: Progress, read_as: ReadAs) -> None:
        self._file = file
        self._progress = progress
        self._read_as = read_as
        self._pruners: dict[str, Pruner] = {}
        self.found: Counter[str] = Counter()
        file.write(b'{"kind":"List","apiVersion":"v1","items":[')

    def write(self, kind: str, raw: Raw) -> None:
        """Add an object of a kind that is read; ObjectError names what is broken."""
        pruner = self._pruners.get(kind)
        if pruner is None:
            pruner = self._pruners[kind] = Pruner(kind, self._read_as)
        pruned = pruner.prune(raw)
        self._file.write(b",\n" if self.found else b"\n")
        self._file.write(pruned)
        self.found[kind] += 1
        self._progress.show(kind, self.found[kind])

    def place(self) -> int:
        """Return a place to go back to."""
        return self._file.tell()

    def back(self, place: int, kind: str) -> None:
        """Take back all objects of a kind, which were written since."""
        self._file.seek(place)
        self._file.truncate()
        del self.found[kind]

    def end(self) -> int:
        self._file.write(b"\n]}\n")
        return self._file.tell()


def _rewrite(path: Path, writer: _Writer, *, verbose: bool) -> None:
    passed = PassedOver()
    for each in read_objects(path, passed, of_cluster=True):
        if each.kind not in READ_AS:
            passed.add(each.kind, each.where)
            continue
        try:
            writer.write(each.kind, each.content)
        except ObjectError as error:
            raise ClusterFileError(f"{each.where} ({each.kind}): {error}") from error
    passed.note(path, verbose=verbose)


async def _list(flags: argparse.Namespace, writer: _Writer) -> None:
    lacking = []
    async with api_server(flags) as client:
        for each in LISTED:
            try:
                await _list_one(client, each, writer)
            except ApiError as error:
                if (
                    error.status not in {HTTPStatus.FORBIDDEN, HTTPStatus.NOT_FOUND}
                    or each.name in VITAL
                ):
                    raise
                if each is not POLICIES or error.status == HTTPStatus.FORBIDDEN:
                    lacking.append(each.name)
    if lacking:
        complain(f"note: no right to list {', '.join(lacking)}, so the dump has none of them")


async def _list_one(client: ApiClient, each: Listed, writer: _Writer) -> None:
    from affinityctl.reading.listing import list_pages  # noqa: PLC0415 - 40 MB of models come along

    place = writer.place()
    for last in (False,) * (TRIES - 1) + (True,):
        try:
            async for page in list_pages(client, each.path, each.query):
                for raw in page:
                    writer.write(each.kind, raw)
        except ApiError as error:
            if last or error.status != HTTPStatus.GONE:
                raise
            writer.back(place, each.kind)
        else:
            return
