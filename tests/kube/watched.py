"""All that the program mirrors, from the fake API server, in virtual time."""

from __future__ import annotations

import asyncio
import json
from argparse import Namespace
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from random import Random

import msgspec

from extender.core.cluster.state import ClusterState
from extender.core.config import API_VERSION, KIND, Config
from extender.core.config.layers import load
from extender.core.controllers.staleness import Freshness
from extender.core.kube.client import ApiClient
from extender.core.kube.flowcontrol import FlowControl
from extender.core.kube.pacing import Timing
from extender.core.metrics import Metrics
from extender.core.resources import NAMESPACES, NODES, PODS, VITAL, needed, object_counts
from extender.core.source import Source, empty_state, mirror
from tests.kube.fake_api import Collection, FakeApi, Json, Seen
from tests.kube.pulse import Pulse
from tests.kube.rig import credentials_for


def replacing(**connection: object) -> Config:
    """Configure a program that has to know of every resource."""
    document = {
        "apiVersion": API_VERSION,
        "kind": KIND,
        "mode": "replace",
        "plugins": ["InterPodAffinity", "CrossNamespacePodAffinity"],
        "clientConnection": connection,
    }
    return load(Namespace(config="config.yaml"), lambda _: json.dumps(document))


REPLACE = replacing()


@dataclass(frozen=True)
class Watched:
    """An API server, and what is known of it."""

    api: FakeApi
    state: ClusterState
    source: Source
    freshness: Freshness
    at: dict[str, Collection]
    """By the names of the resources."""

    @property
    def now(self) -> float:
        """The virtual seconds since the start."""
        return asyncio.get_running_loop().time()

    @property
    def equal(self) -> bool:
        """Whether each pod is known on its node, and nothing else is known."""
        pods = self.at[PODS.name].objects
        known = {key: (pod.uid, pod.node) for key, pod in self.state.pods.items()}
        return (
            known == {key: (each["metadata"]["uid"], _node(each)) for key, each in pods.items()}
            and self.state.nodes.keys() == self.at[NODES.name].objects.keys()
            and self.state.namespaces.keys() == self.at[NAMESPACES.name].objects.keys()
        )

    @property
    def failing(self) -> list[str]:
        """Why readiness fails for each resource that is stale."""
        checks = (self.freshness.check(name) for name in self.at)
        return [why for check in checks if (why := check())]

    def taken(self, name: str) -> list[Seen]:
        """Return the lists of a resource that were asked for, as streams or in pages."""
        return [*self.at[name].listed, *self.at[name].streamed]

    async def until(self, condition: Callable[[], bool], within: float) -> float:
        """Wait for a condition; return the seconds that took."""
        start = self.now
        async with asyncio.timeout(within):
            while not condition():  # noqa: ASYNC110 - virtual time, which passes by sleeping
                await asyncio.sleep(0.05)
        return self.now - start


@asynccontextmanager
async def watched(
    objects: Mapping[str, list[Json]],
    *,
    config: Config = REPLACE,
    seed: int = 1,
    chance: Callable[[], float] | None = None,
) -> AsyncIterator[Watched]:
    """Run the program's mirror from the moment that everything is known and watched."""
    loop = asyncio.get_running_loop()
    timing = Timing(loop.time, loop.time, asyncio.sleep, chance or Random(seed).random)
    state, metrics = empty_state(config), Metrics()
    async with AsyncExitStack() as parts:
        api = await parts.enter_async_context(FakeApi(Pulse()))
        at = {each.name: api.collection(each.path) for each in needed(config)}
        for name, collection in at.items():
            collection.bookmarks = 60.0
            for obj in objects.get(name, ()):
                collection.put(msgspec.json.decode(msgspec.json.encode(obj)))
        limit = FlowControl(config.client_connection.qps, config.client_connection.burst, timing)
        client = ApiClient(credentials_for(api.url), limit=limit, timing=timing)
        await parts.enter_async_context(client)
        source = await mirror(client, config, state, metrics=metrics, parts=parts, timing=timing)
        stale_after = config.client_connection.stale_after_seconds
        freshness = Freshness(
            lambda: source.picture.silent_for,
            stale_after,
            state,
            VITAL,
            clock=asyncio.get_running_loop().time,
        )
        looking = asyncio.create_task(freshness.run())
        parts.callback(looking.cancel)
        there = Watched(api, state, source, freshness, at)
        await there.until(lambda: all(source.picture.synced.values()), 10.0)
        await there.until(lambda: all(each.open for each in at.values()), 10.0)
        assert there.equal, object_counts(state)
        yield there


def _node(pod: Json) -> str | None:
    node: str | None = pod["spec"].get("nodeName")
    return node
