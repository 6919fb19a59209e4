"""What lists and watch streams are made of; objects stay raw JSON until they are read."""

from __future__ import annotations

import traceback
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Final, Generic, Self, TypeAlias, TypeVar

import aiohttp
import msgspec

from extender.core.errors import ObjectError
from extender.core.kube.failures import (
    BrokenAnswerError,
    EndlessLineError,
    IdleStreamError,
    failure_from_body,
    words,
)
from extender.core.kube.limits import MOST
from extender.core.reading import APART_BYTES, ApartReader
from extender.core.wire.decoding import BROKEN_JSON, decoded

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Resource(Generic[T]):
    """What to mirror: where the API server has it, and how one object is read."""

    name: str
    """As metrics and logs call it, for example pods."""
    path: str
    read: Callable[[msgspec.Raw], T]
    """Raises `errors.ObjectError` for an object it cannot make sense of."""
    params: Mapping[str, str]
    """Of every list and watch, for example a fieldSelector."""
    apart: ApartReader[Callable[[msgspec.Raw], T]] | None = None
    """Reads what is large beside the event loop."""
    key: Callable[[T], str] | None = None
    """Where objects know their keys: a list of a million holds each but once."""


class EventType(StrEnum):
    ADDED = "ADDED"
    MODIFIED = "MODIFIED"
    DELETED = "DELETED"
    BOOKMARK = "BOOKMARK"


class Skip(StrEnum):
    """Why something that the server sent was left out."""

    NOT_JSON = "not_json"
    TRUNCATED = "truncated"
    UNKNOWN_TYPE = "unknown_type"
    NO_METADATA = "no_metadata"
    UNREADABLE = "unreadable"


class SkippedError(Exception):
    """Internal: a frame that is left out; never leaves this package."""

    def __init__(self, reason: Skip, detail: str) -> None:
        super().__init__(str(reason))
        self.reason: Final = reason
        self.detail: Final = detail
        """For the log: what it was, in few words."""


Skipped: TypeAlias = "Callable[[Skip, str], None]"
"""Hears of something that was left out, with what it was in few words."""


class Metadata(msgspec.Struct, rename="camel", frozen=True):
    """The part of an object's metadata that mirroring needs."""

    name: str = ""
    namespace: str = ""
    uid: str = ""
    resource_version: str = ""

    @property
    def key(self) -> str:
        """Return namespace/name, or the name of what has no namespace."""
        return f"{self.namespace}/{self.name}" if self.namespace else self.name


@dataclass(frozen=True, slots=True)
class Event:
    """One watch event whose metadata could be read."""

    kind: EventType
    metadata: Metadata
    raw: msgspec.Raw


class ListMetadata(msgspec.Struct, rename="camel"):
    resource_version: str
    continue_: str = msgspec.field(name="continue", default="")


class ListPage(msgspec.Struct):
    """One page of a list; Go may send null for no items."""

    metadata: ListMetadata
    items: list[msgspec.Raw] | None


class _Headed(msgspec.Struct):
    metadata: Metadata


class _Annotations(msgspec.Struct):
    annotations: dict[str, str] | None = None


class _Annotated(msgspec.Struct):
    metadata: _Annotations


class _Frame(msgspec.Struct):
    type: str
    object: msgspec.Raw


_decode_page = msgspec.json.Decoder(ListPage).decode
_decode_frame = msgspec.json.Decoder(_Frame).decode
_decode_headed = msgspec.json.Decoder(_Headed).decode
_decode_annotated = msgspec.json.Decoder(_Annotated).decode


def read_answer(body: bytes, kind: type[T]) -> T:
    """Decode a body; one that is something else is a BrokenAnswerError."""
    try:
        return decoded(msgspec.json.Decoder(kind).decode, body)
    except BROKEN_JSON as failure:
        raise BrokenAnswerError(f"not what the API server sends: {failure}") from failure


def read_page(body: bytes) -> ListPage:
    """Read a list; what is none must not pass for an empty cluster, so nothing is optional."""
    try:
        page = decoded(_decode_page, body)
    except BROKEN_JSON as failure:
        raise BrokenAnswerError(f"the answer is no list: {failure}") from failure
    if not page.metadata.resource_version:
        raise BrokenAnswerError("the list has no resourceVersion")
    return page


def read_metadata(raw: msgspec.Raw) -> Metadata:
    """Read whose object this is; raises `SkippedError` when that cannot be told."""
    try:
        return decoded(_decode_headed, raw).metadata
    except BROKEN_JSON:
        raise SkippedError(Skip.NO_METADATA, excerpt(bytes(raw))) from None


def read_version(body: bytes) -> str:
    """Return the resourceVersion of one object; BrokenAnswerError when its metadata is none."""
    return read_answer(body, _Headed).metadata.resource_version


def excerpt(line: bytes) -> str:
    """Show the beginning of something that makes no sense, on one line."""
    return f"{len(line)} bytes, {line[: MOST.excerpt]!a}"


def is_large(raw: msgspec.Raw) -> bool:
    """Return whether an object takes long to read."""
    return len(memoryview(raw)) > APART_BYTES


async def read_object(resource: Resource[T], raw: msgspec.Raw) -> T:
    """Read one object; a defect of ours in reading it must not blind us to all others."""
    try:
        if resource.apart is None or not is_large(raw):
            return resource.read(raw)
        return await resource.apart.read(len(memoryview(raw)), lambda read: read(raw))
    except ObjectError:
        raise
    except Exception as defect:
        where = traceback.extract_tb(defect.__traceback__)[-1]
        what = f"{type(defect).__name__} in {where.name}, line {where.lineno}: {defect}"
        raise ObjectError("", f"unexpected {what}") from defect


def read_event(line: bytes) -> Event:
    """Read one line of a watch.

    Raises `StatusError` for an ERROR event, `SkippedError` for a line to leave out.
    """
    try:
        frame = decoded(_decode_frame, line)
    except BROKEN_JSON:
        # Every line ends in a newline, except one that broke off.
        complete = line.endswith(b"\n")
        reason = Skip.NOT_JSON if complete else Skip.TRUNCATED
        raise SkippedError(reason, excerpt(line)) from None
    if frame.type == "ERROR":
        raise failure_from_body(frame.object, status=0)
    try:
        kind = EventType(frame.type)
    except ValueError:
        raise SkippedError(Skip.UNKNOWN_TYPE, ascii(frame.type)) from None
    metadata = read_metadata(frame.object)
    if not metadata.resource_version or not (metadata.name or kind is EventType.BOOKMARK):
        raise SkippedError(Skip.NO_METADATA, excerpt(line))
    return Event(kind, metadata, frame.object)


def ends_initial_events(event: Event) -> bool:
    """Whether this bookmark says that everything there was has been sent."""
    if event.kind is not EventType.BOOKMARK:
        return False
    try:
        annotations = _decode_annotated(event.raw).metadata.annotations
    except BROKEN_JSON:
        return False
    return (annotations or {}).get("k8s.io/initial-events-end") == "true"


class Lines:
    """The lines of an answer, each with its newline; a last one without was cut off."""

    def __init__(self, response: aiohttp.ClientResponse) -> None:
        self._content = response.content

    def give_up(self, failure: BrokenAnswerError) -> None:
        """Make the wait for a line end with this failure."""
        self._content.set_exception(failure)

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> bytes:
        try:
            line = await self._content.readline(max_line_length=MOST.line)
        except TimeoutError as failure:
            raise IdleStreamError("nothing came, not even a bookmark") from failure
        except aiohttp.http_exceptions.LineTooLong as failure:
            raise EndlessLineError(f"an event of more than {MOST.line} bytes") from failure
        # RuntimeError: a connection lost between two pieces of a line, in aiohttp's words.
        except (aiohttp.ClientError, OSError, RuntimeError) as failure:
            # The stream keeps the failure, whose traceback has the stream: a circle.
            raise BrokenAnswerError(words(failure)) from failure.with_traceback(None)
        if not line:
            raise StopAsyncIteration
        return line
