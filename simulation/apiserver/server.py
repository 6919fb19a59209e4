"""Requests to the API servers, and their answers, with all that can go wrong on their side."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from math import inf
from random import Random
from typing import Any, Final, Protocol, TypeVar

from simulation.apiserver.leases import is_about_lease, lease_act
from simulation.apiserver.lists import Pages, chosen, collection_of
from simulation.apiserver.requests import Request, Troubles, act_of, one_of
from simulation.apiserver.store import PATHS, Json, Refused, Store, encode, is_live
from simulation.apiserver.watches import (
    Watch,
    WatchCache,
    added_line,
    initial_events_end,
)
from simulation.loop import now, spawn
from simulation.trace import Trace

T = TypeVar("T")

REQUEST_TIMEOUT: Final = 34.0
RESOURCES: Final = {path: name for name, path in PATHS.items()}
OWNER: Final = "apiserver"
DONE_ALL_THE_SAME: Final = 0.3
"""The share of the evictions with an unclear end that are carried out before the error is told."""


class Connection(Protocol):
    """Where the answer goes."""

    def answer(self, status: int, body: bytes, headers: Mapping[str, str]) -> None: ...

    def begin(self) -> None: ...

    def piece(self, data: bytes | None) -> int:
        """Send a piece of it, None for the end; return how many have not arrived."""

    def reset(self) -> None: ...

    on_close: Callable[[], None]


@dataclass(slots=True)
class ApiServer:
    """Some servers behind one address, each with its watch cache, in front of the store."""

    store: Store
    chance: Random
    trace: Trace
    streams_lists: bool = True
    page: int = 500
    """Most objects of a page, whatever the client asks for."""
    servers: int = 1
    troubles: Troubles = field(default_factory=Troubles)
    caches: list[WatchCache] = field(init=False)
    pages: Pages = field(init=False)
    restores: int = 0
    """How often etcd was restored from a backup."""
    _back_at: float = 0.0
    """When it comes back, if it is gone."""
    _restored_at: float = 0.0
    _then: list[Callable[[], None]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.caches = [WatchCache(self.store, self.chance) for _ in range(self.servers)]
        self.pages = Pages(self.store)

    async def serve(self, request: Request, connection: Connection) -> None:
        troubles = self.troubles
        if troubles.down or request.made < self._restored_at:
            connection.reset()
            return
        if request.method == "GET" and request.params.get("watch") == "true":
            await self._serve_watch(request, connection)
            return
        if self.chance.random() < troubles.throttled:
            self.trace.say("apiserver", "throttled", request.path)
            refused = Refused(429, "TooManyRequests", "too many requests", retry_after=1)
            _refuse(connection, refused)
            return
        patience = _seconds(request.params.get("timeout")) or REQUEST_TIMEOUT
        work = spawn(self._work(request), OWNER)
        done, _ = await asyncio.wait({work}, timeout=patience)
        if not done:
            self.trace.say("apiserver", "gave up", request.path)
            work.add_done_callback(_forget)
            _refuse(connection, Refused(504, "Timeout", "request did not complete in time"))
            return
        if self._is_lost():
            self.trace.say("apiserver", "answer lost", request.path)
            _forget(work)
            if self.chance.random() < 0.5:
                connection.reset()
            return
        try:
            status, body = work.result()
        except Refused as refused:
            _refuse(connection, refused)
        else:
            connection.answer(status, body, {})

    @property
    def behind(self) -> float:
        """Return by how many seconds the last of the servers is behind etcd."""
        return max(each.behind for each in self.caches)

    def close_watches(self) -> None:
        for cache in self.caches:
            cache.close_all()

    async def commit(self, act: Callable[[], T], later: float = 0.0) -> T:
        """Carry something out, when etcd does; never if it is restored meanwhile."""
        restores = self.restores
        if later:
            await asyncio.sleep(later)
        # It may stall again meanwhile.
        while (left := self.troubles.stalled_until - now()) > 0:  # noqa: ASYNC110
            await asyncio.sleep(left)
        await asyncio.sleep(0.0005 + self.chance.expovariate(1 / 0.001))
        if restores != self.restores:
            raise asyncio.CancelledError
        return act()

    def restart(self, seconds: float) -> None:
        """Be gone for a while; come back with an empty history."""
        self.troubles.down = True
        self.close_watches()
        until = self._back_at = max(self._back_at, now() + seconds)

        def back() -> None:
            if until < self._back_at:
                return
            self.troubles.down = False
            then, self._then = self._then, []
            for each in then:
                self._restored_at = now()
                each()
            for cache in self.caches:
                cache.refill()

        asyncio.get_running_loop().call_at(until, back)

    def restore(self, seconds: float, act: Callable[[], None]) -> None:
        """Be gone for a while with etcd, which is restored by `act` before anybody is back."""
        self.restores += 1
        self._then.append(act)
        self.restart(seconds)
        self.troubles.stalled_until = max(self.troubles.stalled_until, self._back_at)

    def _cache(self) -> WatchCache:
        return self.caches[0] if len(self.caches) == 1 else self.chance.choice(self.caches)

    def _is_lost(self) -> bool:
        return self.troubles.down or self.chance.random() < self.troubles.lost

    async def _work(self, request: Request) -> tuple[int, bytes]:
        if is_about_lease(request.path):
            return 200, encode(await self.commit(lease_act(self.store, request)))
        if request.method == "GET":
            path, space = collection_of(request.path)
            resource = RESOURCES.get(path)
            if resource is not None:
                return 200, encode(await self._list(resource, request.params, space))
            one, key = one_of(request.path)
            return 200, await self.commit(lambda: encode(self.store.get(one, key)))
        act, troubles = act_of(self.store, request), self.troubles
        if (refusal := troubles.refusal(request)) is not None:
            self.trace.say("apiserver", "forbade", request.path)
            raise refusal
        failing, unsure = troubles.chances(request.kind)
        if failing and self.chance.random() < failing:
            self.trace.say("apiserver", "failed", request.path)
            raise Refused(self.chance.choice((409, 500)), "InternalError", "etcdserver: no")
        if unsure and self.chance.random() < unsure:
            if request.path.endswith("/eviction") and self.chance.random() < DONE_ALL_THE_SAME:
                await self.commit(act)
                self.trace.say("apiserver", "unsure", f"{request.path}, done")
            else:
                # Who has made it takes it for done, or not, from this answer on.
                self._unsure(request, act_of(self.store, replace(request, made=-inf)))
            raise Refused(self.chance.choice(request.unclear), "Timeout", "etcdserver: timeout")
        await self.commit(act)
        return 201, b'{"kind":"Status","status":"Success"}'

    def _unsure(self, request: Request, act: Callable[[], None]) -> None:
        """Carry something out up to a minute later, or never."""
        later = min(self.chance.expovariate(1 / 10.0), 60.0)
        if self.chance.random() < 0.7:
            self.trace.say("apiserver", "unsure", f"{request.path} in {later:.1f} s")
            spawn(self._later(act, later), OWNER)
        else:
            self.trace.say("apiserver", "unsure", f"{request.path}, never")

    async def _later(self, act: Callable[[], None], seconds: float) -> None:
        try:
            await self.commit(act, seconds)
        except Refused:
            return

    async def _list(self, resource: str, params: Mapping[str, str], space: str = "") -> Json:
        limit = min(int(params.get("limit", "0")) or 1 << 30, self.page)
        if token := params.get("continue"):
            return self.pages.next(token, limit)
        version, cache = params.get("resourceVersion", ""), self._cache()
        ahead = self.store.ahead
        if version not in {"", "0"} and not await cache.reach(int(version) + ahead):
            raise _too_large()
        if not version:
            seen = await self.commit(lambda: [*self.store.all(resource).items()])
            at, objects = self.store.version, [each for _, each in sorted(seen)]
        else:
            at, objects = cache.version, cache.all(resource)
        if "fieldSelector" in params:
            objects = [each for each in objects if is_live(each)]
        objects = chosen(objects, params, space)
        return self.pages.first(objects, at, limit if "limit" in params else len(objects))

    async def _serve_watch(self, request: Request, connection: Connection) -> None:
        resource, params, cache = RESOURCES[request.path], request.params, self._cache()
        watch = Watch(resource, "fieldSelector" in params, connection.piece)
        initial = params.get("sendInitialEvents") == "true"
        if initial and not self.streams_lists:
            _refuse(connection, Refused(422, "Invalid", "sendInitialEvents: Forbidden"))
            return
        if version := int(params.get("resourceVersion") or "0"):
            version += self.store.ahead
        # One from a version that etcd has not reached is served, and silent until it has.
        is_ahead = version > self.store.version and not initial
        wanted = version or await self.commit(lambda: self.store.version)
        if not is_ahead and not await cache.reach(wanted):
            _refuse(connection, _too_large())
            return
        if self.troubles.down:
            connection.reset()
            return
        if not initial and version < cache.oldest:
            _refuse(connection, Refused(410, "Expired", f"too old resource version: {version}"))
            return
        connection.begin()
        connection.on_close = lambda: cache.close(watch)
        if initial:
            for obj in cache.all(resource):
                if not watch.live_only or is_live(obj):
                    connection.piece(added_line(obj))
            connection.piece(initial_events_end(cache.version - self.store.ahead))
            version = cache.version
        cache.open(watch, version)
        seconds = float(params.get("timeoutSeconds", "1800"))
        end = asyncio.get_running_loop().call_later(seconds, cache.close, watch)
        watch.timers.append(end)


def _refuse(connection: Connection, refused: Refused) -> None:
    body = {
        "kind": "Status",
        "status": "Failure",
        "code": refused.status,
        "reason": refused.reason,
        "message": str(refused),
        "details": {"causes": refused.causes},
    }
    again = refused.retry_after
    headers = {} if again is None else {"Retry-After": str(again)}
    connection.answer(refused.status, encode(body), headers)


def _too_large() -> Refused:
    refused = Refused(504, "Timeout", "Too large resource version")
    refused.causes = [{"reason": "ResourceVersionTooLarge", "message": "Too large"}]
    return refused


def _seconds(text: str | None) -> float | None:
    return None if text is None else float(text.removesuffix("s"))


def _forget(work: asyncio.Future[Any]) -> None:
    if not work.cancelled():
        work.exception()
