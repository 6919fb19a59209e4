"""The simulated stage: the program between a simulated API server and a simulated scheduler."""

from __future__ import annotations

import asyncio
from random import Random
from typing import Final

from extender.core.config import Config
from extender.core.config.document import decode
from simulation.apiserver.server import ApiServer
from simulation.apiserver.store import Change, Store
from simulation.apiserver.verbs import bind, delete
from simulation.caller import Caller
from simulation.configuration import KINDS
from simulation.loop import SimulatedLoop, spawn
from simulation.network import Link
from simulation.program import Process
from simulation.scheduler.choosing import Settings
from simulation.scheduler.extender import Extender
from simulation.scheduler.process import Scheduler
from simulation.trace import Trace
from simulation.transport import Session
from tests.simulation.recordings.between import Between, LostError
from tests.simulation.recordings.log import JSON, Log
from tests.simulation.recordings.things import GROUPS

SCHEDULER: Final = "default-scheduler"
COLLECTIONS: Final = {
    "Node": "nodes",
    "Namespace": "namespaces",
    "Pod": "pods",
    "PodGroup": "podgroups",
}


class SimulatedStage:
    """A world without faults, and all that passes between its scheduler and the extender."""

    def __init__(self, seed: int) -> None:
        loop = asyncio.get_running_loop()
        assert isinstance(loop, SimulatedLoop)
        self.log = Log()
        self.between = Between(self.log)
        self._loop = loop
        self._seed = seed
        self._trace = Trace(loop.time)
        self._store = Store()
        self._server = ApiServer(self._store, self._chance("server"), self._trace)
        self._process = Process(_config(), self._trace, self._chance("process"))
        self._scheduler: Scheduler | None = None

    async def open(self, there: tuple[JSON, ...]) -> None:
        """Create what is there at the start, then start everything."""
        self._store.create("namespaces", {"metadata": {"name": "default"}, "status": {}}, "users")
        for thing in there:
            await self.create(thing)
        for _, pod in sorted(self._store.all("pods").items(), key=lambda item: item[0]):
            self.log.take(None, pod, 0)
        self.log.reach(self._store.version)
        self._store.observers.append(self._take)
        session = Session(
            Link(self._chance("extender")),
            self._server,
            "extender",
            self._chance("session"),
            lambda *_: None,
        )
        alive = self._process.start(session)
        while not alive.ready:  # noqa: ASYNC110 (simulated time costs nothing)
            await asyncio.sleep(0.01)
        self._start_scheduler()

    # What a script does

    async def create(self, thing: JSON) -> None:
        kind = thing["kind"]
        spec = dict(thing.get("spec") or {})
        if kind == "Pod":
            spec = {"schedulerName": SCHEDULER, "priority": 0, **spec}
        status = {"phase": "Pending"} if kind == "Pod" else thing.get("status", {})
        self._store.create(COLLECTIONS[kind], {**thing, "spec": spec, "status": status}, "users")

    async def delete(self, pod: str) -> None:
        delete(self._store, f"default/{pod}", "users")

    async def remove(self, pod: str) -> None:
        delete(self._store, f"default/{pod}", "kubelet", grace=0.0)

    async def relabel(self, namespace: str, labels: dict[str, str]) -> None:
        def change(found: JSON) -> JSON:
            return {**found, "metadata": {**found["metadata"], "labels": labels}}

        self._store.update("namespaces", namespace, change, "users")

    async def bind(self, pod: str, node: str) -> None:
        key = f"default/{pod}"
        bind(self._store, key, self._store.get("pods", key)["metadata"]["uid"], node, "users")

    async def restart_scheduler(self) -> None:
        assert self._scheduler is not None
        self._scheduler.stop()
        self._loop.kill(SCHEDULER)
        await asyncio.sleep(1.0)
        self._start_scheduler()

    # The parts

    def _chance(self, what: str) -> Random:
        return Random(f"{self._seed} {what}")

    def _start_scheduler(self) -> None:
        caller = Caller(SCHEDULER, self._server, Link(self._chance("scheduler")))
        link = Link(self._chance("callbacks"), fastest=0.0001, usual=0.0001)
        extender = Extender(_Middle(self._process, self.between), link)
        chance = self._chance(f"scheduler {self._loop.time()}")
        settings = Settings(SCHEDULER, group_profile=GROUPS)
        self._scheduler = Scheduler(settings, caller, extender, chance, self._trace)
        spawn(self._scheduler.run(), SCHEDULER)

    def _take(self, change: Change) -> None:
        if change.resource == "pods":
            self.log.take(change.old, change.new, change.version)
        else:
            self.log.reach(change.version)


class _Middle:
    """Where the scheduler believes the extender to be."""

    def __init__(self, process: Process, between: Between) -> None:
        self._process = process
        self._between = between

    def call(self, verb: str, body: bytes) -> asyncio.Future[bytes]:
        """Begin to pass on a call."""
        return spawn(self._pass_on(verb, body), "between")

    async def _pass_on(self, verb: str, body: bytes) -> bytes:
        async def forward(sent: bytes) -> bytes:
            return await self._process.call(verb, sent)

        try:
            return await self._between.call(verb, body, forward)
        except LostError:
            raise ConnectionResetError("connection reset by peer") from None


def _config() -> Config:
    profiles = [{"schedulerName": GROUPS, "mode": "bind"}]
    return decode({**KINDS, "mode": "replace", "profiles": profiles})
