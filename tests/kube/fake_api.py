"""An API server on loopback that lists and watches as the real one does, and misbehaves on request.

It keeps a history by resource version, so that a watch resumes, falls behind a compaction or asks
for a version that does not exist yet, with the answers of Kubernetes 1.36. `Collection.lists`,
`watches`, `streams` and `looks` take answers to give instead, one a request.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import secrets
import ssl
from collections import deque
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from itertools import count
from math import inf
from types import TracebackType
from typing import Any, Final, Self, TypeVar

from aiohttp import web

from tests.kube.pulse import Pulse

Json = dict[str, Any]
Answer = Callable[[web.Request], Awaitable[web.StreamResponse]]

DRIP_SECONDS: Final = 0.005

CLOSE: Final = b""
"""Ends a watch as the server's timeout does."""


class _Cut:
    """Ends a watch by closing its connection in the middle of the answer."""


CUT: Final = _Cut()


class _Watch(asyncio.Queue["bytes | _Cut"]):
    """What an open watch is still to send."""

    def __init__(self, version: int) -> None:
        super().__init__()
        self.version = version
        """Only changes after it are shown, even where the server has not come to it yet."""


@dataclass(frozen=True, slots=True)
class Backup:
    """What etcd had at one moment."""

    version: int
    objects: Mapping[str, str]
    """Of each collection, as JSON."""


@dataclass(frozen=True, slots=True)
class Seen:
    """One request as it came in."""

    verb: str
    path: str
    params: Mapping[str, str]
    headers: Mapping[str, str]
    at: float
    """On the clock of the loop."""


@dataclass(slots=True)
class Collection:
    """All objects of one resource, and what happened to them."""

    api: FakeApi
    path: str
    objects: dict[str, Json] = field(default_factory=dict)
    history: list[tuple[int, Json]] = field(default_factory=list)
    compacted: int = 0
    lists: deque[Answer] = field(default_factory=deque)
    watches: deque[Answer] = field(default_factory=deque)
    streams: deque[Answer] = field(default_factory=deque)
    looks: deque[Answer] = field(default_factory=deque)
    """For questions where the server stands, of which a list of one object tells."""
    open: list[_Watch] = field(default_factory=list)
    streams_lists: bool = False
    """Whether a watch may begin with all there is, as since Kubernetes 1.34."""
    paginates_cached: bool = False
    """Whether a list at version 0 honours its limit; the real watch cache does not."""
    expires_in_stream: bool = False
    """Whether a watch from before the compaction gets 200 and an ERROR event, or a plain 410."""
    muted: bool = False
    """Whether changes are kept from the open watches."""
    bookmarks: float = inf
    """Seconds without an event after which a watch gets a bookmark."""
    idle: float = inf
    """Seconds without a byte after which a proxy ends a watch as the server's timeout does."""
    continues: dict[str, tuple[int, list[Json]]] = field(default_factory=dict)

    def put(self, obj: Json) -> int:
        """Create or replace an object, stamped with the next version."""
        key = _key(obj)
        kind = "MODIFIED" if key in self.objects else "ADDED"
        self.objects[key] = obj
        return self._record(kind, obj)

    def delete(self, key: str) -> int:
        """Remove an object."""
        return self._record("DELETED", self.objects.pop(key))

    def bookmark(self) -> int:
        """Tell the open watches how far they are."""
        version = self.api.next_version()
        obj = {"kind": "Any", "metadata": {"resourceVersion": str(version)}}
        self.send(line("BOOKMARK", obj))
        return version

    def compact(self) -> None:
        """Forget everything but the present."""
        self.compacted = self.api.next_version()
        self.history.clear()
        self.continues.clear()

    def send(self, *pieces: bytes | _Cut) -> None:
        """Put bytes into all open watches as they are; CLOSE and CUT end them."""
        for watch in self.open:
            for piece in pieces:
                watch.put_nowait(piece)

    @property
    def listed(self) -> list[Seen]:
        """The lists asked for."""
        return [seen for seen in self.api.seen if (seen.path, seen.verb) == (self.path, "list")]

    @property
    def looked(self) -> list[Seen]:
        """The questions where the server stands."""
        return [seen for seen in self.api.seen if (seen.path, seen.verb) == (self.path, "look")]

    @property
    def watched(self) -> list[Seen]:
        """The watches asked for."""
        return [seen for seen in self.api.seen if (seen.path, seen.verb) == (self.path, "watch")]

    @property
    def streamed(self) -> list[Seen]:
        """The streamed lists asked for."""
        return [seen for seen in self.api.seen if (seen.path, seen.verb) == (self.path, "stream")]

    def _record(self, kind: str, obj: Json) -> int:
        version = self.api.next_version()
        obj["metadata"]["resourceVersion"] = str(version)
        event = {"type": kind, "object": json.loads(json.dumps(obj))}
        self.history.append((version, event))
        for watch in () if self.muted else self.open:
            if version > watch.version:
                watch.put_nowait(_encode(event) + b"\n")
        return version

    # Answers

    async def list(self, request: web.Request) -> web.StreamResponse:
        """Answer a list by the rules of the real server's validation and watch cache."""
        query = request.query
        version, token = query.get("resourceVersion", ""), query.get("continue")
        if token is not None and version not in {"", "0"}:
            return failure(400, "BadRequest", "resourceVersion must be unset with continue")
        if "resourceVersionMatch" in query and (not version or token is not None):
            return failure(400, "Invalid", "resourceVersionMatch is forbidden here")
        if version and int(version) > self.api.version:
            return too_large()
        limit = int(query.get("limit", "0"))
        if token is not None:
            if token not in self.continues:
                return failure(410, "Expired", "The provided continue parameter is too old")
            shown, rest = self.continues.pop(token)
        else:
            shown, rest = self.api.version, [self.objects[key] for key in sorted(self.objects)]
        if not limit or (version == "0" and not self.paginates_cached):
            limit = len(rest)
        page, rest = rest[:limit], rest[limit:]
        metadata = {"resourceVersion": str(shown)}
        if rest:
            metadata["continue"] = secrets.token_hex(8)
            self.continues[metadata["continue"]] = shown, rest
        return web.json_response({"kind": "AnyList", "metadata": metadata, "items": page})

    async def stream(self, request: web.Request) -> web.StreamResponse:
        """Send all there is, a bookmark that says so, and then follow."""
        if not self.streams_lists:
            return failure(422, "Invalid", "sendInitialEvents: Forbidden: is off")
        if int(request.query["resourceVersion"] or "0") > self.api.version:
            return too_large()
        response = await _start(request)
        for obj in self.objects.values():
            await response.write(line("ADDED", obj))
        await response.write(initial_events_end(self.api.version))
        await asyncio.Event().wait()
        return response

    async def watch(self, request: web.Request) -> web.StreamResponse:
        """Replay what came after the version named, then follow."""
        version = int(request.query["resourceVersion"])
        expired = version < self.compacted
        if expired and not self.expires_in_stream:
            return failure(410, "Expired", "too old resource version")
        response = await _start(request)
        if expired:
            await response.write(line("ERROR", status(410, "Expired", "too old resource version")))
            return response
        pieces = _Watch(version)
        for at, event in self.history:
            if at > version:
                pieces.put_nowait(_encode(event) + b"\n")
        self.open.append(pieces)
        self.api.pulse.beat()
        try:
            await _pour(request, response, pieces, self._at_rest)
        finally:
            self.open.remove(pieces)
        return response

    async def _at_rest(self, pieces: _Watch) -> None:
        """Wait until a quiet watch gets a bookmark, or its end."""
        await asyncio.sleep(min(self.bookmarks, self.idle))
        if self.idle < self.bookmarks:
            pieces.put_nowait(CLOSE)
        elif self.api.version > pieces.version:
            shown = {"metadata": {"resourceVersion": str(self.api.version)}}
            pieces.put_nowait(line("BOOKMARK", shown))


class FakeApi:
    """The server; enter it to have it listen on a free port."""

    def __init__(self, pulse: Pulse, *, tls: ssl.SSLContext | None = None) -> None:
        self.pulse = pulse
        self.version = 100
        self.seen: list[Seen] = []
        self.tokens: set[str] | None = None
        """Bearer tokens that are accepted; None accepts every request."""
        self._collections: dict[str, Collection] = {}
        self._tls = tls
        self._runner: web.AppRunner | None = None
        self.port = 0

    @property
    def url(self) -> str:
        return f"{'https' if self._tls else 'http'}://127.0.0.1:{self.port}"

    def collection(self, path: str) -> Collection:
        """Return the collection at a path, empty at first."""
        return self._collections.setdefault(path, Collection(self, path))

    def next_version(self) -> int:
        """Count one write anywhere."""
        self.version += 1
        return self.version

    def back_up(self) -> Backup:
        """Return what there is now."""
        every = {path: json.dumps(each.objects) for path, each in self._collections.items()}
        return Backup(self.version, every)

    def restore(self, backup: Backup) -> None:
        """Have what there was then, as an API server that was started over a restored etcd."""
        self.version = backup.version
        for path, each in self._collections.items():
            each.objects = json.loads(backup.objects[path])
            each.history.clear()
            each.continues.clear()
            each.compacted = self.version

    async def start(self, port: int = 0) -> None:
        """Listen, also again after a stop."""
        app = web.Application()
        app.router.add_get("/{path:.*}", self._answer)
        app.router.add_route("*", "/{path:.*}", self.write)
        self._runner = web.AppRunner(app, shutdown_timeout=0.01)
        await self._runner.setup()
        await web.TCPSite(self._runner, "127.0.0.1", port, ssl_context=self._tls).start()
        self.port = int(self._runner.addresses[0][1])

    async def stop(self) -> None:
        """Close everything; connections are refused from now on."""
        for collection in self._collections.values():
            collection.send(CLOSE)
        if self._runner is not None:
            await self._runner.cleanup()

    async def __aenter__(self) -> Self:
        await self.start()
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        exception: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        await self.stop()

    async def write(self, request: web.Request) -> web.StreamResponse:
        """Refuse what would change something."""
        return failure(405, "MethodNotAllowed", f"{request.method} is not for this server")

    async def _answer(self, request: web.Request) -> web.StreamResponse:
        verb = "watch" if request.query.get("watch") == "true" else "list"
        verb = "stream" if request.query.get("sendInitialEvents") == "true" else verb
        verb = "look" if request.query.get("limit") == "1" else verb
        query, headers = dict(request.query), request.headers
        now = asyncio.get_running_loop().time()
        self.seen.append(Seen(verb, request.path, query, headers, now))
        self.pulse.beat()
        token = request.headers.get("Authorization", "").removeprefix("Bearer ")
        if self.tokens is not None and token not in self.tokens:
            return failure(401, "Unauthorized", "Unauthorized")
        collection = self._collections.get(request.path)
        if collection is None:
            return failure(404, "NotFound", "the server could not find the requested resource")
        scripted, answer = {
            "list": (collection.lists, collection.list),
            "look": (collection.looks, collection.list),
            "watch": (collection.watches, collection.watch),
            "stream": (collection.streams, collection.stream),
        }[verb]
        return await (scripted.popleft() if scripted else answer)(request)


# Objects and lines


def line(kind: str, obj: Json) -> bytes:
    """Encode a watch event."""
    return _encode({"type": kind, "object": obj}) + b"\n"


def initial_events_end(version: int) -> bytes:
    """Encode the bookmark that ends the initial events of a streamed list."""
    annotations = {"k8s.io/initial-events-end": "true"}
    return line(
        "BOOKMARK", {"metadata": {"resourceVersion": str(version), "annotations": annotations}}
    )


def status(code: int, reason: str | None, message: str, **details: object) -> Json:
    body: Json = {"kind": "Status", "status": "Failure", "message": message, "code": code}
    if reason is not None:
        body["reason"] = reason
    if details:
        body["details"] = details
    return body


def _key(obj: Json) -> str:
    metadata = obj["metadata"]
    namespace = metadata.get("namespace")
    return f"{namespace}/{metadata['name']}" if namespace else str(metadata["name"])


def _encode(value: Json) -> bytes:
    return json.dumps(value, separators=(",", ":")).encode()


# Answers to script


def failure(
    code: int, reason: str, message: str, *, headers: Mapping[str, str] | None = None
) -> web.Response:
    return web.json_response(status(code, reason, message), status=code, headers=headers)


def too_large() -> web.Response:
    """Answer as a server that has not seen the version named."""
    cause = {"reason": "ResourceVersionTooLarge", "message": "Too large resource version"}
    body = status(504, "Timeout", "Too large resource version", causes=[cause], retryAfterSeconds=1)
    return web.json_response(body, status=504)


def listing(items: list[Any] | None, *, version: str, more: str = "") -> Answer:
    """Answer with a list of these items, well formed or not; `more` is the next page's token."""
    metadata = {"resourceVersion": version} | ({"continue": more} if more else {})
    body = {"kind": "AnyList", "metadata": metadata, "items": items}
    return answering(lambda: web.json_response(body))


def answering(make: Callable[[], web.Response]) -> Answer:
    """Give a fixed answer."""

    async def answer(_request: web.Request) -> web.StreamResponse:
        return make()

    return answer


def saying(*pieces: bytes | _Cut) -> Answer:
    """Answer 200 with these bytes and end, or be cut off, after them."""

    async def answer(request: web.Request) -> web.StreamResponse:
        response = await _start(request)
        queue: asyncio.Queue[bytes | _Cut] = asyncio.Queue()
        for piece in (*pieces, CLOSE):
            queue.put_nowait(piece)
        await _pour(request, response, queue)
        return response

    return answer


def hanging(*pieces: bytes, headers: bool = True) -> Answer:
    """Say some bytes and then nothing, for ever; without headers, nothing at all."""

    async def answer(request: web.Request) -> web.StreamResponse:
        if headers:
            response = await _start(request)
            for piece in pieces:
                await response.write(piece)
        await asyncio.Event().wait()
        raise AssertionError

    return answer


def dripping(*first: bytes, piece: Callable[[int], bytes]) -> Answer:
    """Say some bytes, and then small pieces, for ever: never silent, and of no use."""

    async def answer(request: web.Request) -> web.StreamResponse:
        response = await _start(request)
        for each in first:
            await response.write(each)
        with contextlib.suppress(ConnectionError):
            for number in count():
                await response.write(piece(number))
                await asyncio.sleep(DRIP_SECONDS)
        return response

    return answer


async def dropping(request: web.Request) -> web.StreamResponse:
    """Close the connection instead of answering."""
    _disconnect(request)
    return web.Response()


async def _start(request: web.Request) -> web.StreamResponse:
    response = web.StreamResponse(headers={"Content-Type": "application/json"})
    response.enable_chunked_encoding()
    await response.prepare(request)
    return response


Pieces = TypeVar("Pieces", bound="asyncio.Queue[bytes | _Cut]")


async def _pour(
    request: web.Request,
    response: web.StreamResponse,
    pieces: Pieces,
    at_rest: Callable[[Pieces], Awaitable[None]] | None = None,
) -> None:
    while True:
        resting = at_rest and asyncio.ensure_future(at_rest(pieces))
        try:
            piece = await pieces.get()
        finally:
            if resting:
                resting.cancel()
        match piece:
            case b"":
                return
            case bytes(piece):
                await response.write(piece)
            case _Cut():
                _disconnect(request)
                return


def _disconnect(request: web.Request) -> None:
    if request.transport is not None:
        request.transport.close()
