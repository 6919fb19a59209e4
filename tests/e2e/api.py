"""A small Kubernetes client of the tests' own, so that they do not rest on the code they judge."""

from __future__ import annotations

import asyncio
import json
import ssl
from contextlib import asynccontextmanager, suppress
from typing import TYPE_CHECKING, Any, Self

import aiohttp

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable, Iterable
    from pathlib import Path

    from tests.e2e.objects import JSON

_MERGE_PATCH = "application/strategic-merge-patch+json"
_WATCH_SECONDS = 300
_RETRY_S = 0.05
_AT_A_TIME = 16


class ApiError(Exception):
    """The API server refused a request."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(f"{status}: {message}")
        self.status = status


def key_of(thing: JSON) -> str:
    """Return namespace/name, or the name alone where there is no namespace."""
    metadata = thing["metadata"]
    return "/".join(part for part in (metadata.get("namespace"), metadata["name"]) if part)


async def for_each(things: Iterable[JSON], request: Callable[[JSON], Awaitable[object]]) -> None:
    """Make a request about each thing, several at a time, in the order they come.

    They are taken as they are needed, so that not all of them have to be in memory.
    """
    rest = iter(things)

    async def work() -> None:
        for each in rest:
            await request(each)

    await asyncio.gather(*(work() for _ in range(_AT_A_TIME)))


class Api:
    """Create, read, change and watch objects by their REST paths."""

    def __init__(self, session: aiohttp.ClientSession, server: str) -> None:
        self._session = session
        self._server = server

    @classmethod
    @asynccontextmanager
    async def connected(cls, server: str, token: str, ca: Path) -> AsyncIterator[Self]:
        """Open a client that speaks for the holder of this token."""
        connector = aiohttp.TCPConnector(ssl=ssl.create_default_context(cafile=ca), limit=0)
        headers = {"Authorization": f"Bearer {token}"}
        async with aiohttp.ClientSession(connector=connector, headers=headers) as session:
            yield cls(session, server)

    async def request(self, method: str, path: str, body: Any = None, **options: Any) -> JSON:
        """Make one request; anything but a 2xx is an ApiError."""
        headers = {"Content-Type": options.pop("content_type", "application/json")}
        data = None if body is None else json.dumps(body)
        async with self._session.request(
            method, self._server + path, data=data, headers=headers, params=options
        ) as answer:
            text = await answer.text()
            if not answer.ok:
                raise ApiError(answer.status, text)
            decoded: JSON = json.loads(text)
            return decoded

    async def get(self, path: str) -> JSON:
        return await self.request("GET", path)

    async def create(self, path: str, thing: JSON) -> JSON:
        return await self.request("POST", path, thing)

    async def patch(self, path: str, change: JSON) -> JSON:
        """Merge a change into an object or its status."""
        return await self.request("PATCH", path, change, content_type=_MERGE_PATCH)

    async def delete(self, path: str) -> None:
        """Delete an object, or all of a collection, at once; it may be gone already."""
        with suppress(ApiError):
            await self.request("DELETE", path, {"gracePeriodSeconds": 0})

    @asynccontextmanager
    async def mirror(self, path: str) -> AsyncIterator[Mirror]:
        """Follow a collection; the mirror is filled when the block is entered."""
        mirror = Mirror(self, path)
        following = asyncio.create_task(mirror.follow(), name=f"mirror of {path}")
        try:
            await mirror.until(lambda: mirror.listed, 10, f"the first list of {path}")
            yield mirror
        finally:
            following.cancel()
            with suppress(asyncio.CancelledError):
                await following

    async def watch(self, path: str, version: str) -> AsyncIterator[JSON]:
        """Yield the events after this version until the server ends the stream."""
        options = {"watch": "true", "resourceVersion": version, "allowWatchBookmarks": "true"}
        timeout = aiohttp.ClientTimeout(total=None, sock_read=_WATCH_SECONDS)
        async with self._session.get(
            self._server + path, params=options, timeout=timeout, read_bufsize=2**22
        ) as stream:
            if not stream.ok:
                raise ApiError(stream.status, await stream.text())
            try:
                async for line in stream.content:
                    yield json.loads(line)
            finally:
                # Nobody reads the rest; a polite TLS goodbye would outlive the event loop.
                if stream.connection and stream.connection.transport:
                    stream.connection.transport.abort()


class Mirror:
    """The current objects of one collection, kept up to date by a watch."""

    def __init__(self, api: Api, path: str) -> None:
        self.objects: dict[str, JSON] = {}
        self.history: list[JSON] = []
        """Every state of every object, in the order in which the API server told it."""
        self.listed = False
        self._api = api
        self._path = path
        self._changed = asyncio.Condition()

    async def until(self, condition: Callable[[], bool], seconds: float, what: str) -> None:
        """Return as soon as the condition holds after some event."""
        try:
            async with asyncio.timeout(seconds), self._changed:
                await self._changed.wait_for(condition)
        except TimeoutError:
            raise AssertionError(f"still waiting after {seconds} s for {what}") from None

    async def changes(self) -> AsyncIterator[JSON]:
        """Yield every state told so far and all that follow, without an end."""
        told = 0
        while True:
            async with self._changed:
                while told == len(self.history):
                    await self._changed.wait()
            while told < len(self.history):
                yield self.history[told]
                told += 1

    async def follow(self) -> None:
        """List, then watch; a stream that ends goes on from its last version."""
        while True:
            try:
                version = await self._list()
                while version:
                    version = await self._watch(version)
            except (ApiError, aiohttp.ClientConnectionError):
                await asyncio.sleep(_RETRY_S)  # the API server is away

    async def _list(self) -> str:
        listing = await self._api.get(self._path)
        async with self._changed:
            self.objects = {key_of(thing): thing for thing in listing["items"]}
            self.history.extend(listing["items"])
            self.listed = True
            self._changed.notify_all()
        version: str = listing["metadata"]["resourceVersion"]
        return version

    async def _watch(self, version: str) -> str:
        """Apply one stream; returns where the next one starts, or nothing to list again."""
        with suppress(aiohttp.ClientPayloadError):
            async for event in self._api.watch(self._path, version):
                thing = event["object"]
                if event["type"] == "ERROR":
                    return ""
                version = thing["metadata"]["resourceVersion"]
                if event["type"] != "BOOKMARK":
                    await self._apply(event["type"], thing)
        return version

    async def _apply(self, kind: str, thing: JSON) -> None:
        async with self._changed:
            if kind == "DELETED":
                self.objects.pop(key_of(thing), None)
            else:
                self.objects[key_of(thing)] = thing
                self.history.append(thing)
            self._changed.notify_all()
