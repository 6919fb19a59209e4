"""What the API server has, by watches that no failing hop is on."""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager, suppress
from http import HTTPStatus
from time import monotonic
from typing import TYPE_CHECKING

import aiohttp

from tests.e2e.api import Api, ApiError

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from tests.e2e.faults.judge import Judge
    from tests.e2e.objects import JSON

_PODS, _NODES = "/api/v1/pods", "/api/v1/nodes"
_RETRY_S = 0.1
_AWAY = (ApiError, aiohttp.ClientError, OSError, TimeoutError)


class Store:
    """Pods and nodes as they are; tells the judge of each change."""

    def __init__(self, api: Api, judge: Judge) -> None:
        self.pods: dict[str, JSON] = {}
        """By uid."""
        self.nodes: dict[str, JSON] = {}
        self.current = False
        """Whether it is followed."""
        self._api = api
        self._judge = judge
        self._changed = asyncio.Condition()
        self._tasks: list[asyncio.Task[None]] = []
        self._listed: set[str] = set()

    @asynccontextmanager
    async def following(self) -> AsyncIterator[None]:
        """Follow the API server."""
        await self.go_on()
        try:
            yield
        finally:
            await self.stop()

    async def go_on(self) -> None:
        """List, and return; watch from there on."""
        self._listed.clear()
        self._tasks = [asyncio.create_task(self._follow(path)) for path in (_NODES, _PODS)]
        async with self._changed:
            await self._changed.wait_for(lambda: len(self._listed) == len(self._tasks))
        self.current = True

    async def stop(self) -> None:
        """Follow it no longer."""
        self.current = False
        for each in self._tasks:
            each.cancel()
            with suppress(asyncio.CancelledError):
                await each

    def forget(self) -> None:
        """Forget everything, as the store goes back in time."""
        self.pods.clear()
        self.nodes.clear()

    async def change(self, within: float) -> None:
        """Return after a change, or some time."""
        with suppress(TimeoutError):
            async with asyncio.timeout(within), self._changed:
                await self._changed.wait()

    async def shown(self, name: str, within: float) -> None:
        """Return once there is a pod of that name, or after some time."""
        with suppress(TimeoutError):
            async with asyncio.timeout(within), self._changed:
                await self._changed.wait_for(
                    lambda: any(each["metadata"]["name"] == name for each in self.pods.values())
                )

    async def _follow(self, path: str) -> None:
        while True:
            with suppress(*_AWAY):
                version = await self._list(path)
                while version:
                    version = await self._watch(path, version)
            await asyncio.sleep(_RETRY_S)

    async def _list(self, path: str) -> str:
        listing = await self._api.get(path)
        found = {each["metadata"]["uid"]: each for each in listing["items"]}
        if path == _NODES:
            for each in listing["items"]:
                self._take(path, "MODIFIED", each)
        else:
            for uid in self.pods.keys() - found.keys():
                self._judge.pod(self.pods.pop(uid), monotonic(), gone=True, listed=True)
            for each in sorted(listing["items"], key=_version):
                self.pods[each["metadata"]["uid"]] = each
                self._judge.pod(each, monotonic(), listed=True)
        self._listed.add(path)
        async with self._changed:
            self._changed.notify_all()
        version: str = listing["metadata"]["resourceVersion"]
        return version

    async def _watch(self, path: str, version: str) -> str:
        """Take one stream; return where the next one starts, or nothing to list again."""
        try:
            async for event in self._api.watch(path, version):
                thing = event["object"]
                if event["type"] == "ERROR":
                    return ""
                version = thing["metadata"]["resourceVersion"]
                if event["type"] != "BOOKMARK":
                    self._take(path, event["type"], thing)
                    async with self._changed:
                        self._changed.notify_all()
        except ApiError as error:
            # It was compacted; anything else is the server's trouble, and goes by.
            if error.status == HTTPStatus.GONE:
                return ""
            await asyncio.sleep(_RETRY_S)
        except (aiohttp.ClientError, OSError, TimeoutError):
            await asyncio.sleep(_RETRY_S)
        return version

    def _take(self, path: str, kind: str, thing: JSON) -> None:
        if path == _NODES:
            self.nodes[thing["metadata"]["name"]] = thing
            self._judge.node(thing, monotonic())
            return
        uid = thing["metadata"]["uid"]
        if kind == "DELETED":
            self.pods.pop(uid, None)
        else:
            self.pods[uid] = thing
        self._judge.pod(thing, monotonic(), gone=kind == "DELETED")


def _version(thing: JSON) -> int:
    return int(thing["metadata"]["resourceVersion"])
