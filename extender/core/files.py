"""Files that people and machines name: whatever they turn out to be, reading them ends.

People's own and keys; and cluster files: plain, packed or piped, JSON or YAML, in bounded memory.
"""

from __future__ import annotations

import errno
import gzip
import io
import mmap
import os
import re
import select
import stat
import sys
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import msgspec
import yaml

from extender.core import plain_yaml
from extender.core.errors import ObjectError
from extender.core.wire.decoding import Json

MOST_BYTES: Final = 16 << 20
"""Of a file that people write or a key, a token. etcd holds no object of more than 1.5 MiB."""
PIPE_SECONDS: Final = 10.0
"""Patience with a pipe, as `--config <(...)` makes one: there may be no writer."""


@dataclass(frozen=True, slots=True)
class ClusterFileLimits:
    """How much a file with objects of a cluster may have, and how long it may take to come."""

    most: int = 2 << 30
    """Bytes that have to be in memory, unpacked. 150,000 pods are about 1 GiB of JSON; a plain file
    of any size stays on disk."""
    yaml: int = 128 << 20
    """Bytes of YAML, which takes some twenty times its size in memory, and a minute for each 20
    MiB."""
    patience: float = 300.0
    """Seconds for a pipe: kubectl prints nothing before it has listed all that was asked for."""


OF_CLUSTERS: Final = ClusterFileLimits()

STANDARD_INPUT: Final = Path("-")
GZIP_MAGIC: Final = b"\x1f\x8b"
BYTE_ORDER_MARKS: Final = (b"\xef\xbb\xbf", b"\xff\xfe", b"\xfe\xff")
_LOG_BEGINS: Final = b"\n==== START logs for container "
_LOG_ENDS: Final = b"==== END logs for container "
_HELM_SOURCE: Final = b"\n# Source: "
_HELM_NOTES: Final = b"\nNOTES:\n"
_HELM_ACTION: Final = b"{{"
_HELM_HINT: Final = "; if it is a template of a Helm chart, `helm template` renders it"
_BETWEEN_DOCUMENTS: Final = re.compile(rb"(?<=\})[ \t\r]*\n(?:---[ \t\r]*\n)?\s*(?=\{)")


def read_text(path: Path, most: int = MOST_BYTES) -> str:
    """Return the text of a file: UTF-8, or UTF-16 with its mark, as PowerShell writes it.

    OSError with a `strerror`, as from the system itself, for all that is wrong with the file;
    UnicodeDecodeError when it is neither.
    """
    return asutf8(read_bytes(path, most)).decode()


def read_bytes(path: Path, most: int = MOST_BYTES, *, patience: float = PIPE_SECONDS) -> bytes:
    """Return the content of a file, or of a pipe that has a writer."""
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


def asutf8(content: bytes) -> bytes:
    """Return a text in UTF-8 without a byte order mark; UnicodeDecodeError when it is broken."""
    if content.startswith(BYTE_ORDER_MARKS[1:]):
        return content.decode("utf-16").encode()
    return content.removeprefix(BYTE_ORDER_MARKS[0])


def _pieces(file: int, most: int, patience: float | None) -> Iterator[bytes]:
    """Read to the end, or a little further than is allowed; wait `patience` for each piece."""
    found = 0
    while found <= most:
        if patience is not None and not select.select([file], [], [], patience)[0]:
            raise OSError(errno.ETIMEDOUT, f"nothing was written to it for {patience:.0f} s")
        piece = os.read(file, 1 << 20)
        if not piece:
            break
        found += len(piece)
        yield piece


def read_content(path: Path) -> Json:
    """Return a file's content, without a copy where it is plain.

    OSError when the file cannot be read or is too large, ObjectError when it is broken. A mapping
    ends with its last reference: objects that were cut out of it may outlive a close.
    """
    if path == STANDARD_INPUT or not path.is_file():
        content = _piped(path)
        packed = content.startswith(GZIP_MAGIC)
        return utf8(_unpacked(io.BytesIO(content), path) if packed else content)
    with path.open("rb") as file:
        magic = file.read(4)
        file.seek(0)
        if magic.startswith(GZIP_MAGIC):
            return utf8(_unpacked(file, path))
        if magic.startswith(BYTE_ORDER_MARKS):
            return utf8(read_bytes(path, OF_CLUSTERS.most))
        # Nothing cannot be mapped.
        return mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) if magic else b""


def without_talk(content: Json) -> Json:
    """Leave out what programs print between objects.

    `kubectl cluster-info dump` has logs, and `helm install --dry-run` the release and its notes.
    """
    text = bytes(content)
    if (start := text.find(_LOG_BEGINS)) >= 0:
        return b"".join(_between_logs(text, start))
    if _HELM_SOURCE in text:
        text = text.replace(b"\r\n", b"\n").partition(_HELM_NOTES)[0]
        return text.partition(b"\n---\n")[2] if text.startswith(b"NAME: ") else text
    return text


def _between_logs(content: bytes, start: int) -> Iterator[bytes]:
    at = 0
    while start >= 0:
        yield content[at:start] + b"\n"
        end = content.find(_LOG_ENDS, start)
        at = content.find(b"\n", end) + 1 if end >= 0 else 0
        if not at:
            return
        start = content.find(_LOG_BEGINS, at - 1)
    yield content[at:]


def json_documents(content: Json) -> Iterator[bytes]:
    """Yield JSON documents that follow one another; nothing when there is one alone.

    Two kubectls that write into one file, or jq -c, make such a file. In a document no `}` comes
    before a new line and a `{`, but for in between there is a comma; a text has no new line in it.
    """
    start = 0
    for between in _BETWEEN_DOCUMENTS.finditer(memoryview(content)):
        yield bytes(memoryview(content)[start : between.start()])
        start = between.end()
    if start:
        yield bytes(memoryview(content)[start:])


def yaml_documents(content: Json, *, of_cluster: bool = False) -> Iterator[bytes]:
    """Yield the documents of a YAML stream as JSON; ObjectError when it is broken or too large."""
    loader = plain_yaml.ClusterLoader if of_cluster else plain_yaml.FastLoader
    length = len(memoryview(content))
    if length > OF_CLUSTERS.yaml:
        limit = OF_CLUSTERS.yaml >> 20
        raise ObjectError("", f"{length >> 20} MiB of YAML, {limit} MiB at most; JSON has no limit")
    try:
        for document in plain_yaml.documents(bytes(content), loader):
            if document is not None:
                yield msgspec.json.encode(document)
    except yaml.MarkedYAMLError as error:
        where, what = plain_yaml.told(error)
        hint = _HELM_HINT if _HELM_ACTION in bytes(content) else ""
        raise ObjectError(where, what + hint) from error
    except (yaml.YAMLError, TypeError, ValueError, OverflowError) as error:
        raise ObjectError("", f"neither JSON nor YAML: {error}") from error


def _piped(path: Path) -> bytes:
    if path == STANDARD_INPUT:
        return within(sys.stdin.buffer.read(OF_CLUSTERS.most + 1), OF_CLUSTERS.most, path)
    return read_bytes(path, OF_CLUSTERS.most, patience=OF_CLUSTERS.patience)


def _unpacked(file: io.IOBase, path: Path) -> bytes:
    try:
        with gzip.GzipFile(fileobj=file) as packed:
            content = packed.read(OF_CLUSTERS.most + 1)
    except (gzip.BadGzipFile, zlib.error, EOFError) as error:
        raise ObjectError("", f"broken gzip: {error}") from error
    return within(content, OF_CLUSTERS.most, path)


def utf8(content: bytes) -> bytes:
    try:
        return asutf8(content)
    except UnicodeDecodeError as error:
        raise ObjectError("", f"not a text: {error}") from error
