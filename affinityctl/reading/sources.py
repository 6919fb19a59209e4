"""The objects of files, folders and archives, and what else is in them, counted.

Archives may come from strangers. Nothing of them is written to disk, no link is followed, and how
much is read is bounded; of Secrets nothing is read but their kind.
"""

from __future__ import annotations

import gzip
import io
import os
import re
import stat
import struct
import tarfile
import zipfile
import zlib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from itertools import islice
from pathlib import Path, PurePosixPath
from typing import IO, Any, Final, NamedTuple, TypeAlias

import msgspec

from affinityctl.terminal.progress import Progress
from extender.core.command_line import complain
from extender.core.errors import ObjectError
from extender.core.files import GZIP_MAGIC, STANDARD_INPUT, read_content, utf8
from extender.core.model.wording import some
from extender.core.offline import (
    ClusterFileError,
    UnreadableClusterFileError,
    faults_of,
    listed,
    objects_in,
    objects_of,
)
from extender.core.wire.decoding import Json, decode


@dataclass(frozen=True, slots=True)
class ArchiveLimits:
    """How much a folder or an archive may have."""

    members: int = 100_000
    """Must-gathers of large clusters have tens of thousands."""
    member: int = 512 << 20
    """Bytes of one that is read."""
    all_read: int = 2 << 30
    """Bytes of all that are read."""
    unpacked: int = 16 << 30
    """Bytes of all, logs as well: to get past those takes time."""
    header: int = 1 << 20
    """Bytes of a tar's header for a long name, which is in memory."""
    directory: int = 32 << 20
    """Bytes of the directory of a zip."""


MOST: Final = ArchiveLimits()

SUFFIXES: Final = (".yaml", ".yml", ".json")
"""Of files that are looked at in a folder or an archive."""
_ARCHIVES: Final = (".gz", ".tgz", ".zip", ".tar", ".xz", ".bz2", ".zst")
SECRET: Final = "Secret"  # noqa: S105 - a kind
_UNREAD: Final = frozenset(
    (
        SECRET,
        "Event",
        "CustomResourceDefinition",
        "Endpoints",
        "EndpointSlice",
        "ControllerRevision",
    )
)
"""Kinds of which a YAML file is not even parsed."""
_KIND: Final = re.compile(rb"""^kind:[ \t]*(["']?)([A-Za-z]+)\1[ \t]*\r?$""", re.MULTILINE)
_NO_CONTENT: Final = msgspec.Raw(b'{"kind":"Secret"}')
_NEXT: Final = re.compile(rb"\S\s*\n---")
"""The end of a document that is not the last."""
_OTHER_PACKING: Final = (b"BZh", b"\xfd7zXZ\x00", b"\x28\xb5\x2f\xfd", b"7z\xbc\xaf\x27\x1c")
"""How files of bzip2, xz, zstd and 7-Zip begin."""
_PIECE: Final = 1 << 20
_DIRECTLY: Final = frozenset((zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED))
"""Others need memory as the archive says."""
_HEADERS: Final = frozenset(
    (tarfile.XHDTYPE, tarfile.XGLTYPE, tarfile.GNUTYPE_LONGNAME, tarfile.GNUTYPE_LONGLINK)
)
_BROKEN: Final = (
    *(tarfile.TarError, zipfile.BadZipFile, zlib.error, struct.error, EOFError, OSError),
    *(ValueError, OverflowError, RecursionError, NotImplementedError, RuntimeError),
)
"""What the standard library raises over hostile archives."""


class Raw(NamedTuple):
    file: str
    number: int
    """Which object of its file, from 0."""
    kind: str
    content: msgspec.Raw

    @property
    def where(self) -> str:
        return f"{self.file}: object {self.number}"


@dataclass(slots=True)
class PassedOver:
    """What is in files and is not looked at."""

    kinds: Counter[str] = field(default_factory=Counter)
    """Kinds of objects, and of files in lower case."""
    places: list[str] = field(default_factory=list)
    not_judged: list[str] = field(default_factory=list)
    """Objects with a template for pods, of kinds that nothing here knows."""
    first: str = ""
    """Why the first was, of the files that have no objects or broken ones."""

    def add(self, what: str, where: str, why: str = "") -> None:
        self.kinds[what] += 1
        self.places.append(f"{where} ({what}{why and f': {why}'})")
        if why and not self.first:
            self.first = f"{where}: {why}"

    def add_object(self, raw: Raw) -> None:
        """Pass over an object; one with a template for pods is named."""
        if name := with_template(raw):
            self.not_judged.append(name)
        else:
            self.add(raw.kind, raw.where)

    def __str__(self) -> str:
        first = f"; the first: {self.first}" if self.first else ""
        over = f"passed over: {listed(self.kinds)}{first}" if self.kinds else ""
        return "; ".join(filter(None, (not_judged(self.not_judged), over)))

    def update(self, ignored: Counter[str], places: Iterable[str]) -> None:
        self.kinds += ignored
        self.places += places

    def note(self, path: Path, read: str = "", *, verbose: bool = False) -> None:
        """Say what was passed over, if anything was; each thing on its line if `verbose`."""
        if said := str(self):
            complain(f"note: {path}: {read and f'{read}; '}{said}")
        for each in self.places if verbose else ():
            complain(f"passed over: {each}")


class _Identity(msgspec.Struct):
    name: str | None = None
    namespace: str | None = None
    uid: str | None = None


class _Identified(msgspec.Struct):
    metadata: _Identity | None = None


class _Containers(msgspec.Struct):
    containers: list[msgspec.Raw]


class _Template(msgspec.Struct):
    spec: _Containers


class _Templated(msgspec.Struct):
    template: _Template


class _Controller(_Identified):
    spec: _Templated | None = None


_IDENTIFIED: Final = msgspec.json.Decoder(_Identified)
_CONTROLLER: Final = msgspec.json.Decoder(_Controller)


def with_template(raw: Raw) -> str | None:
    """Name an object that has a template for pods, as those of other controllers do."""
    try:
        found = decode(_CONTROLLER, raw.content)
    except ObjectError:
        return None
    if found.spec is None:
        return None
    its = found.metadata or _Identity()
    return f"{raw.kind} {its.namespace or 'default'}/{its.name}"


def not_judged(names: Sequence[str]) -> str:
    return f"not judged: {some(names, len(names), 10)}" if names else ""


_Objects: TypeAlias = Iterable[tuple[str, msgspec.Raw]]
_Member: TypeAlias = tuple[str, Callable[[], Json]]
"""Where it is, and what reads it."""
_Entry: TypeAlias = tuple[str, bool, Callable[[int], bytes]]
"""Name, whether it is a plain file, and what reads it."""


def read_objects(path: Path, passed: PassedOver, *, of_cluster: bool = False) -> Iterator[Raw]:
    """Yield the objects of a file, or of all files of a folder or an archive.

    ClusterFileError for a file that is broken, or has too much; in a folder or an archive a broken
    one is passed over: a patch or the values of a chart are no manifests. What is `of_cluster` is
    there once, whichever files repeat it.
    """
    if path.is_dir():
        yield from _of_members(_of_folder(path, passed), passed, of_cluster, once=of_cluster)
        return
    if path != STANDARD_INPUT and path.is_file():
        with faults_of(path), path.open("rb") as file:
            archive = _entries(file, path)
            if archive is not None:
                members = _of_archive(archive, path, passed)
                yield from _of_members(members, passed, of_cluster, once=True)
                return
        yield from numbered(str(path), objects_in(path, of_cluster=of_cluster))
        return
    with faults_of(path):
        content = read_content(path)
        archive = _entries(io.BytesIO(content), path) if _is_archive(content[:512]) else None
        if archive is None:
            yield from numbered(str(path), objects_of(content, of_cluster=of_cluster))
        else:
            members = _of_archive(archive, path, passed)
            yield from _of_members(members, passed, of_cluster, once=True)


def numbered(file: str, objects: _Objects) -> Iterator[Raw]:
    for index, (kind, raw) in enumerate(objects):
        yield Raw(file, index, kind, _NO_CONTENT if kind == SECRET else raw)


def _identity(raw: Raw) -> tuple[object, str | None] | None:
    """Return what tells an object from others of its cluster, and its uid; None without a name."""
    try:
        found = decode(_IDENTIFIED, raw.content).metadata
    except ObjectError:
        return None
    if found is None or not found.name:
        return None
    return (raw.kind, found.namespace, found.name), found.uid


def _of_members(
    members: Iterable[_Member],
    passed: PassedOver,
    of_cluster: bool,  # noqa: FBT001 - of our own
    *,
    once: bool,
) -> Iterator[Raw]:
    seen: dict[object, tuple[str | None, str]] = {}
    progress = Progress(things="files")
    progress.begin()
    for number, (where, read) in enumerate(members, 1):
        progress.show("read", number)
        try:
            with faults_of(Path(where)):
                content = read()
                if kind := _unread(content):
                    passed.add(kind, where)
                    continue
                found = list(numbered(where, objects_of(content, of_cluster=of_cluster)))
        except UnreadableClusterFileError:
            raise
        except ClusterFileError as error:
            passed.add("other file", where, str(error).removeprefix(f"{where}: "))
            continue
        for each in found:
            identity = _identity(each) if once else None
            if identity is not None:
                name, uid = identity
                first = seen.setdefault(name, (uid, each.where))
                if first[1] != each.where:
                    of_other = "" if first[0] == uid else " of another time or cluster"
                    passed.add(f"repeated {each.kind}{of_other}", each.where)
                    continue
            yield each
    progress.wipe()


class _Budget:
    """What is left of the limits."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._members = self._read = self._unpacked = 0

    def take_member(self) -> None:
        self._members += 1
        self._check(self._members, MOST.members, "members")

    def take_unpacked(self, size: int) -> None:
        self._unpacked += size
        self._check(self._unpacked >> 20, MOST.unpacked >> 20, "MiB unpacked")

    def take_read(self, size: int) -> None:
        self._check(size >> 20, MOST.member >> 20, "MiB in one member")
        self._read += size
        self._check(self._read >> 20, MOST.all_read >> 20, "MiB of objects")

    def _check(self, found: int, most: int, what: str) -> None:
        if found > most:
            raise ClusterFileError(f"{self._path}: more than {most:,} {what}, which is the limit")


def _other(name: str) -> str | None:
    """Return what a file is that is not looked at, by its name."""
    path = PurePosixPath(name)
    if path.name == "Chart.yaml":
        return "Helm chart (`helm template` renders it)"
    if path.suffix in SUFFIXES and not path.name.startswith("._"):
        return None
    if path.suffix == ".log" or path.stem == "logs" or "logs" in path.parts[:-1]:
        return "log file"
    return "archive" if path.suffix in _ARCHIVES else "other file"


def _of_folder(path: Path, passed: PassedOver) -> Iterator[_Member]:
    budget, whole = _Budget(path), path.resolve()

    def unreadable(error: OSError) -> None:
        raise UnreadableClusterFileError(f"{error.filename}: {error.strerror}")

    for folder, folders, names in os.walk(path, onerror=unreadable):
        folders.sort()
        for name in sorted(names):
            file = Path(folder, name)
            budget.take_member()
            if what := _other(str(file.relative_to(path))):
                passed.add(what, str(file))
            elif file.is_symlink() and not file.resolve().is_relative_to(whole):
                passed.add("link", str(file))
            elif file.is_file():
                budget.take_read(file.stat().st_size)
                yield str(file), partial(_read_plain, file)


def _read_plain(file: Path) -> Json:
    """Read a file of a folder; ObjectError for one that would be larger than it looks."""
    with file.open("rb") as opened:
        if opened.read(len(GZIP_MAGIC)) == GZIP_MAGIC:
            raise ObjectError("", "packed; unpack it, or name it by itself")
    return read_content(file)


def _of_archive(
    entries: Callable[[_Budget], Iterable[_Entry]],
    path: Path,
    passed: PassedOver,
) -> Iterator[_Member]:
    budget = _Budget(path)
    with _faults(path):
        for name, is_plain, read in entries(budget):
            where = f"{path}: {name}"
            if not is_plain:
                passed.add("link", where)
            elif what := _other(name):
                passed.add(what, where)
            else:
                content = read(MOST.member + (1 << 20))
                budget.take_read(len(content))
                yield where, partial(utf8, content)


def _unread(content: Json) -> str | None:
    """Return the kind of the only document, if it is one that is not even parsed."""
    start = content[:64].lstrip()[:1]
    if start == b"[":
        raise ObjectError("", "a list without a kind")
    if start == b"{":
        return None
    kinds = [found[2].decode() for found in islice(_KIND.finditer(content), 2)]
    if len(kinds) == 1 and kinds[0].removesuffix("List") in _UNREAD and not _NEXT.search(content):
        return kinds[0]
    return None


@contextmanager
def _faults(path: Path) -> Iterator[None]:
    try:
        yield
    except (ClusterFileError, GeneratorExit):
        raise
    except _BROKEN as error:
        raise ClusterFileError(f"{path}: a broken archive: {error}") from error


def _is_archive(head: bytes) -> bool:
    return head.startswith((b"PK\x03\x04", *_OTHER_PACKING)) or _is_tar(head)


def _is_tar(head: bytes) -> bool:
    return head[257:262] == b"ustar"


def _entries(file: IO[bytes], path: Path) -> Callable[[_Budget], Iterable[_Entry]] | None:
    """Return what goes through an archive; None if it is a file of another kind."""
    head = file.read(512)
    file.seek(0)
    if head.startswith(_OTHER_PACKING):
        raise ClusterFileError(f"{path}: packed in a way that is not read; unpack it into a folder")
    if head.startswith(b"PK\x03\x04"):
        return partial(_of_zip, file)
    if head.startswith(b"\x1f\x8b"):
        packed: Any = gzip.GzipFile(fileobj=file)
        try:
            head = packed.read(512)
        except (OSError, EOFError, zlib.error) as error:
            raise ClusterFileError(f"{path}: broken gzip: {error}") from error
        packed.seek(0)
        return partial(_of_tar, packed) if _is_tar(head) else None
    return partial(_of_tar, file) if _is_tar(head) else None


class _Header(tarfile.TarInfo):
    """A header of a tar, of bounded length."""

    def _proc_member(self, tar: tarfile.TarFile) -> tarfile.TarInfo:
        """Read what follows a header; newer Pythons pass `frombuf` by."""
        if self.type in _HEADERS and self.size > MOST.header:
            raise ValueError(f"a header of more than {MOST.header >> 20} MiB")
        found: tarfile.TarInfo = super()._proc_member(tar)  # type: ignore[misc]
        return found


class _Counted:
    """What a tar is read from; raises ClusterFileError when it has given too much."""

    def __init__(self, file: IO[bytes], budget: _Budget) -> None:
        self._file = file
        self._budget = budget

    def read(self, size: int) -> bytes:
        found = self._file.read(size)
        self._budget.take_unpacked(len(found))
        return found


def _of_tar(file: IO[bytes], budget: _Budget) -> Iterator[_Entry]:
    stream: Any = _Counted(file, budget)
    with tarfile.open(fileobj=stream, mode="r|", tarinfo=_Header) as tar:
        for member in tar:
            budget.take_member()
            if not member.isdir():
                is_plain = member.isreg() and not member.issparse()
                yield member.name, is_plain, partial(_read_member, tar, member)


def _read_member(tar: tarfile.TarFile, member: tarfile.TarInfo, most: int) -> bytes:
    opened = tar.extractfile(member)
    return b"" if opened is None else opened.read(most)


class _Narrow:
    """A file that gives little at a time: the whole directory of a zip is read at once."""

    def __init__(self, file: IO[bytes]) -> None:
        self._file = file

    def read(self, size: int = -1) -> bytes:
        found = self._file.read(MOST.directory + 1 if size < 0 else min(size, MOST.directory + 1))
        if len(found) > MOST.directory:
            raise ValueError(f"a directory of more than {MOST.directory >> 20} MiB")
        return found

    def __getattr__(self, name: str) -> Any:
        return getattr(self._file, name)


def _of_zip(file: IO[bytes], budget: _Budget) -> Iterator[_Entry]:
    narrow: Any = _Narrow(file)
    with zipfile.ZipFile(narrow) as archive:
        for member in archive.infolist():
            budget.take_member()
            if not member.is_dir():
                # Those that a system without links has made have no mode.
                mode = stat.S_IFMT(member.external_attr >> 16)
                is_plain = mode in {0, stat.S_IFREG} and member.compress_type in _DIRECTLY
                yield member.filename, is_plain, partial(_read_packed, archive, member)


def _read_packed(archive: zipfile.ZipFile, member: zipfile.ZipInfo, most: int) -> bytes:
    with archive.open(member) as opened:
        return b"".join(islice(iter(partial(opened.read, _PIECE), b""), most // _PIECE))
