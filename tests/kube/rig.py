"""One reflector between a fake API server and a sink that remembers, in virtual time."""

from __future__ import annotations

import asyncio
import contextlib
from collections import Counter
from collections.abc import AsyncIterator
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from typing import Any, Self

import msgspec
import pytest
from kubernetes_asyncio.client import Configuration

from extender.core.cluster.state import ClusterState
from extender.core.errors import ObjectError
from extender.core.kube.client import ApiClient
from extender.core.kube.credentials import Credentials
from extender.core.kube.frames import Resource
from extender.core.kube.limits import Timeouts
from extender.core.kube.pacing import MirrorSettings, Timing
from extender.core.kube.reflector import Reflector
from extender.core.kube.watchers import Watchers, build_reflectors
from extender.core.resources import WatchedResource
from extender.core.wire.objects import PodReader
from tests.builders import empty_state
from tests.kube.fake_api import Collection, FakeApi, Json
from tests.kube.pulse import Pulse

PATH = "/api/v1/things"


@dataclass
class VirtualTime:
    """A clock that only sleeping moves, and moves at once."""

    now: float = 1000.0
    slept: list[float] = field(default_factory=list)
    chance: float = 0.0
    """What is drawn each time; at 0 the delays are their base."""

    @property
    def timing(self) -> Timing:
        """What the product takes."""
        return Timing(
            clock=lambda: self.now,
            wall=lambda: self.now,
            sleep=self.sleep,
            chance=lambda: self.chance,
        )

    async def sleep(self, seconds: float) -> None:
        """Move the clock and let others run."""
        self.slept.append(seconds)
        self.now += seconds
        await asyncio.sleep(0)


@dataclass(frozen=True)
class Thing:
    """An object as the mirror sees it."""

    key: str
    uid: str
    value: int


def thing(name: str, value: int = 0, *, uid: str | None = None) -> Json:
    """Build the manifest of a Thing."""
    metadata = {"name": name, "namespace": "ns", "uid": uid or f"uid-of-{name}"}
    return {"metadata": metadata, "value": value}


def at(version: int, obj: Json) -> Json:
    """Stamp a manifest with a version."""
    obj["metadata"]["resourceVersion"] = str(version)
    return obj


def read_thing(raw: msgspec.Raw) -> Thing:
    """Read one; a value that is no number cannot be read."""
    obj: Json = msgspec.json.decode(raw)
    if not isinstance(obj.get("value"), int):
        raise ObjectError("value", "expected a number")
    metadata = obj["metadata"]
    return Thing(f"{metadata['namespace']}/{metadata['name']}", metadata["uid"], obj["value"])


class RecordingSink:
    """Holds things, and remembers each change."""

    def __init__(self, pulse: Pulse) -> None:
        self.things: dict[str, Thing] = {}
        self.deleted: list[tuple[str, str]] = []
        self._pulse = pulse

    @property
    def values(self) -> dict[str, int]:
        """The value of each thing by its name."""
        return {each.key.partition("/")[2]: each.value for each in self.things.values()}

    def keys(self) -> AbstractSet[str]:
        return self.things.keys()

    def uid(self, key: str) -> str:
        return self.things[key].uid

    def put(self, obj: Thing) -> None:
        self.upsert(obj)

    def upsert(self, obj: Thing) -> None:
        self.things[obj.key] = obj
        self._pulse.beat()

    def delete(self, key: str, uid: str) -> None:
        self.deleted.append((key, uid))
        if key in self.things and self.things[key].uid == uid:
            del self.things[key]
        self._pulse.beat()


class RecordingObserver:
    """Counts what it is told."""

    def __init__(self, pulse: Pulse) -> None:
        self.syncs: list[tuple[str, bool]] = []
        self.events: Counter[str] = Counter()
        self.restarts: Counter[str] = Counter()
        self.relists: Counter[str] = Counter()
        self.skips: Counter[str] = Counter()
        self.heard_at: float | None = None
        self.requests: list[tuple[str, str, str]] = []
        self.refused: list[str] = []
        """The flows of requests that were not sent."""
        self._pulse = pulse

    def request(self, *, method: str, host: str, code: str, seconds: float) -> None:
        assert seconds >= 0
        self.requests.append((method, host, code))
        self._pulse.beat()

    def throttled(self, flow: str) -> None:
        self.refused.append(flow)
        self._pulse.beat()

    def synced(self, resource: str, synced: bool) -> None:
        self.syncs.append((resource, synced))
        self._pulse.beat()

    def event(self, resource: str, kind: str) -> None:
        assert resource
        self.events[kind] += 1
        self._pulse.beat()

    def last_event(self, resource: str, at: float) -> None:
        assert resource
        self.heard_at = at

    def restarted(self, resource: str, reason: str) -> None:
        assert resource
        self.restarts[reason] += 1
        self._pulse.beat()

    def relisted(self, resource: str, reason: str) -> None:
        assert resource
        self.relists[reason] += 1
        self._pulse.beat()

    def skipped(self, resource: str, reason: str) -> None:
        assert resource
        self.skips[reason] += 1
        self._pulse.beat()


def credentials_for(url: str, token: str | None = None, *, proxy: str | None = None) -> Credentials:
    """Build credentials that never change."""

    async def load(*, forced: bool) -> None:
        del forced

    api_key = {"BearerToken": f"Bearer {token}"} if token else {}
    configuration = Configuration(host=url, api_key=api_key)
    configuration.proxy = proxy
    return Credentials(configuration, load)


class Rig:
    """Server, client, reflector and sink, wired but not running."""

    def __init__(self) -> None:
        self.pulse = Pulse()
        self.api = FakeApi(self.pulse)
        self.things: Collection = self.api.collection(PATH)
        self.time = VirtualTime()
        self.sink = RecordingSink(self.pulse)
        self.observer = RecordingObserver(self.pulse)
        self.settings = MirrorSettings(self.observer, self.time.timing)
        self.timeouts = Timeouts()
        self.reads = 0

    async def __aenter__(self) -> Self:
        await self.api.start()
        return self

    async def __aexit__(self, *exception: object) -> None:
        await self.api.stop()

    def client(self, **options: Any) -> ApiClient:
        options.setdefault("timeouts", self.timeouts)
        return ApiClient(credentials_for(self.api.url), observer=self.observer, **options)

    @contextlib.asynccontextmanager
    async def running(self) -> AsyncIterator[Reflector[Thing]]:
        """Run the reflector; the test fails when it ends by itself."""
        async with self.client() as client:
            resource = Resource("things", PATH, self._read, {"fieldSelector": "shape!=round"})
            reflector = Reflector(client, resource, self.sink, self.settings)
            task = asyncio.create_task(reflector.run())
            task.add_done_callback(lambda _: self.pulse.beat())
            try:
                yield reflector
                assert not task.done(), "the reflector ended"
            finally:
                task.cancel()
                with contextlib.suppress(asyncio.CancelledError):
                    await task

    @contextlib.asynccontextmanager
    async def mirrored(
        self, resource: WatchedResource[Any], collection: Collection
    ) -> AsyncIterator[ClusterState]:
        """Run a reflector of the product, from the moment that it is synced and watching."""
        state = empty_state()
        async with self.client() as client:
            reflectors = build_reflectors(client, state, [resource], PodReader(), self.settings)
            async with Watchers(reflectors) as watchers:
                await watchers.wait_synced()
                await self.pulse.until(lambda: bool(collection.open))
                yield state

    def _read(self, raw: msgspec.Raw) -> Thing:
        self.reads += 1
        return read_thing(raw)

    async def until_values(self, **values: int) -> None:
        """Wait until the sink holds exactly these things."""
        await self.pulse.until(lambda: self.sink.values == values)

    async def until_watching(self, count: int = 1) -> None:
        """Wait until this many watches have been asked for and one is open."""
        await self.pulse.until(lambda: len(self.things.watched) >= count and self.things.open != [])


def forget_proxies(monkeypatch: pytest.MonkeyPatch) -> None:
    """Take the machine's proxies out of the environment."""
    for name in ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.lower(), raising=False)


@pytest.fixture
async def rig(monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Rig]:
    """Return a rig whose server listens."""
    forget_proxies(monkeypatch)
    async with Rig() as ready:
        yield ready
