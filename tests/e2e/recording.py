"""The real stage of `tests/simulation/recordings`: a control plane with a proxy in the middle."""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager, suppress
from http import HTTPStatus
from typing import TYPE_CHECKING, Self

import aiohttp
from aiohttp import web

from tests.e2e.classes import ensure_priority_class
from tests.e2e.controlplane.process import free_port
from tests.e2e.extending import REPLACE, Extender
from tests.e2e.scheduling import Scheduler, configured, shipped
from tests.simulation.recordings.between import Between, LostError
from tests.simulation.recordings.log import Log
from tests.simulation.recordings.scripts import Scenario, play
from tests.simulation.recordings.stored import Recording, differences

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from tests.e2e.objects import JSON
    from tests.e2e.sandbox import Sandbox

_PODS = "/api/v1/namespaces/default/pods"


class RealStage:
    """A scheduler and the extender of a sandbox, and all that passes between them."""

    def __init__(self, sandbox: Sandbox) -> None:
        self.log = Log()
        self.between = Between(self.log)
        self._sandbox = sandbox
        self._scheduler: Scheduler | None = None

    @classmethod
    @asynccontextmanager
    async def opened(cls, sandbox: Sandbox, there: tuple[JSON, ...]) -> AsyncIterator[Self]:
        """Create what is there at the start, then run everything for a while."""
        stage = cls(sandbox)
        for thing in there:
            await sandbox.add(await stage._admissible(thing))
        folder = sandbox.folder(REPLACE)
        async with (
            stage._watching(),
            Extender.running(sandbox.control_plane, REPLACE, folder) as extender,
            stage._proxy(extender.url) as url,
            configured(sandbox.control_plane, shipped(REPLACE, url), folder) as scheduler,
        ):
            stage._scheduler = scheduler
            yield stage

    # What a script does

    async def create(self, thing: JSON) -> None:
        if thing["kind"] == "PodGroup":
            path = f"/apis/{thing['apiVersion']}/namespaces/default/podgroups"
            await self._sandbox.api.create(path, thing)
        else:
            await self._sandbox.add(await self._admissible(thing))

    async def delete(self, pod: str) -> None:
        await self._sandbox.api.request("DELETE", f"{_PODS}/{pod}")

    async def remove(self, pod: str) -> None:
        await self._sandbox.api.delete(f"{_PODS}/{pod}")

    async def relabel(self, namespace: str, labels: dict[str, str]) -> None:
        change = {"metadata": {"labels": labels}}
        await self._sandbox.api.patch(f"/api/v1/namespaces/{namespace}", change)

    async def bind(self, pod: str, node: str) -> None:
        binding = {
            "apiVersion": "v1",
            "kind": "Binding",
            "metadata": {"name": pod, "namespace": "default"},
            "target": {"apiVersion": "v1", "kind": "Node", "name": node},
        }
        await self._sandbox.api.create(f"{_PODS}/{pod}/binding", binding)

    async def restart_scheduler(self) -> None:
        assert self._scheduler is not None
        process = self._scheduler.process
        await asyncio.to_thread(process.kill)
        process.start()
        await asyncio.to_thread(process.wait_ready)

    async def _admissible(self, thing: JSON) -> JSON:
        """Return a thing with its priority as a class, which the API server wants it to be."""
        value = thing.get("spec", {}).get("priority")
        if value is None:
            return thing
        spec = {name: each for name, each in thing["spec"].items() if name != "priority"}
        if not value:
            return thing | {"spec": spec}
        name = f"recorded-{value}"
        await ensure_priority_class(self._sandbox.api, name, value)
        return thing | {"spec": spec | {"priorityClassName": name}}

    # What is written down

    @asynccontextmanager
    async def _watching(self) -> AsyncIterator[None]:
        listing = await self._sandbox.api.get("/api/v1/pods")
        pods = {each["metadata"]["uid"]: each for each in listing["items"]}
        for each in sorted(pods.values(), key=lambda pod: str(pod["metadata"]["name"])):
            self.log.take(None, each, 0)
        version = listing["metadata"]["resourceVersion"]
        self.log.reach(int(version))
        following = asyncio.create_task(self._follow(pods, version), name="watch of pods")
        try:
            yield
        finally:
            following.cancel()
            with suppress(asyncio.CancelledError):
                await following

    async def _follow(self, pods: dict[str, JSON], version: str) -> None:
        async for event in self._sandbox.api.watch("/api/v1/pods", version):
            thing, kind = event["object"], event["type"]
            at = int(thing["metadata"]["resourceVersion"])
            if kind == "BOOKMARK":
                self.log.reach(at)
                continue
            uid = thing["metadata"]["uid"]
            old = pods.pop(uid, None)
            if kind == "DELETED":
                self.log.take(old, None, at)
            else:
                pods[uid] = thing
                self.log.take(old, thing, at)

    @asynccontextmanager
    async def _proxy(self, target: str) -> AsyncIterator[str]:
        async with aiohttp.ClientSession() as session:

            async def answer(request: web.Request) -> web.Response:
                verb = request.match_info["verb"]

                async def forward(body: bytes) -> bytes:
                    async with session.post(f"{target}/{verb}", data=body) as answered:
                        assert answered.status == HTTPStatus.OK, await answered.text()
                        return await answered.read()

                try:
                    body = await self.between.call(verb, await request.read(), forward)
                except LostError:
                    assert request.transport is not None
                    request.transport.abort()
                    body = b""
                return web.Response(body=body, content_type="application/json")

            app = web.Application(client_max_size=2**24)
            app.router.add_post("/{verb}", answer)
            runner = web.AppRunner(app, keepalive_timeout=120.0, shutdown_timeout=0.1)
            await runner.setup()
            port = free_port()
            await web.TCPSite(runner, "127.0.0.1", port).start()
            try:
                yield f"http://127.0.0.1:{port}"
            finally:
                await runner.cleanup()


async def differing(
    sandbox: Sandbox, scenario: Scenario, kubernetes: str, *, record: bool
) -> list[str]:
    """Play a scenario; return what differs from its recording, or with `record` write it anew."""
    async with RealStage.opened(sandbox, scenario.there) as stage:
        await play(scenario, stage)
        found = Recording.of(scenario.name, kubernetes, stage.log)
    if record:
        found.save()
    return differences(Recording.load(scenario.name), found, idle=False)
