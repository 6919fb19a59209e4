"""The bytes of cluster files: plain, packed or piped, JSON or YAML, in bounded memory."""

from __future__ import annotations

import gzip
import io
import mmap
import re
import sys
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import msgspec
import yaml

from extender import files, plain_yaml
from extender.errors import ObjectError
from extender.wire.decoding import Json

STANDARD_INPUT: Final = Path("-")
GZIP_MAGIC: Final = b"\x1f\x8b"
MOST_BYTES: Final = 2 << 30
"""Of what has to be in memory, unpacked. 150,000 pods are about 1 GiB of JSON; a plain file of any
size stays on disk."""
MOST_YAML_BYTES: Final = 128 << 20
"""YAML takes some twenty times its size in memory, and a minute for each 20 MiB."""
_BETWEEN_DOCUMENTS: Final = re.compile(rb"(?<=\})[ \t\r]*\n(?:---[ \t\r]*\n)?\s*(?=\{)")
PIPE_SECONDS: Final = 300.0
"""Patience with a pipe: kubectl prints nothing before it has listed all that was asked for."""


def read_content(path: Path) -> Json:
    """Return a file's content, without a copy where it is plain.

    OSError when the file cannot be read or is too large, ObjectError when it is broken. A mapping
    ends with its last reference: objects that were cut out of it may outlive a close.
    """
    if path == STANDARD_INPUT or not path.is_file():
        content = _piped(path)
        packed = content.startswith(GZIP_MAGIC)
        return _utf8(_unpacked(io.BytesIO(content), path) if packed else content)
    with path.open("rb") as file:
        magic = file.read(4)
        file.seek(0)
        if magic.startswith(GZIP_MAGIC):
            return _utf8(_unpacked(file, path))
        if magic.startswith(files.BYTE_ORDER_MARKS):
            return _utf8(files.read_bytes(path, MOST_BYTES))
        # Nothing cannot be mapped.
        return mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) if magic else b""


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


def yaml_documents(content: Json) -> Iterator[bytes]:
    """Yield the documents of a YAML stream as JSON; ObjectError when it is broken or too large."""
    length = len(memoryview(content))
    if length > MOST_YAML_BYTES:
        limit = MOST_YAML_BYTES >> 20
        raise ObjectError("", f"{length >> 20} MiB of YAML, {limit} MiB at most; JSON has no limit")
    try:
        for document in plain_yaml.documents(bytes(content)):
            if document is not None:
                yield msgspec.json.encode(document)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        line = f"line {mark.line + 1}: " if mark else ""
        raise ObjectError("", f"{line}{error.problem or 'not YAML'}") from error
    except (yaml.YAMLError, TypeError, ValueError, OverflowError) as error:
        raise ObjectError("", f"neither JSON nor YAML: {error}") from error


def _piped(path: Path) -> bytes:
    if path == STANDARD_INPUT:
        return files.within(sys.stdin.buffer.read(MOST_BYTES + 1), MOST_BYTES, path)
    return files.read_bytes(path, MOST_BYTES, patience=PIPE_SECONDS)


def _unpacked(file: io.IOBase, path: Path) -> bytes:
    try:
        with gzip.GzipFile(fileobj=file) as packed:
            content = packed.read(MOST_BYTES + 1)
    except (gzip.BadGzipFile, zlib.error, EOFError) as error:
        raise ObjectError("", f"broken gzip: {error}") from error
    return files.within(content, MOST_BYTES, path)


def _utf8(content: bytes) -> bytes:
    try:
        return files.as_utf8(content)
    except UnicodeDecodeError as error:
        raise ObjectError("", f"not a text: {error}") from error
