"""Several replicas of the extender, as they are shipped, and what befalls one of them.

In `assist` they are pods behind a Service, which one scheduler calls; in `replace` each is beside a
scheduler of its own, one of which leads.
"""

from __future__ import annotations

import asyncio
import json
import os
import re
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from dataclasses import dataclass, replace
from datetime import datetime
from itertools import count, pairwise
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING

import aiohttp
import yaml

from tests.beside import AFFINITY_ANNOTATION
from tests.e2e.api import for_each, key_of
from tests.e2e.checker import bound_order
from tests.e2e.extending import ASSIST, REPLACE, SHADOW, Extender
from tests.e2e.faults.proxy import Hop, hop
from tests.e2e.kubelet import working
from tests.e2e.moving import EVERYWHERE, SSD, Moves, forget, on_ssd, replica_set
from tests.e2e.objects import HOSTNAME, JSON, ZONE, node, pod, term
from tests.e2e.revisions import THIS, Revision
from tests.e2e.sandbox import pods_path
from tests.e2e.scheduling import Scheduler, configured, shipped

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator

    from tests.e2e.sandbox import Sandbox

PATIENCE_S = 180.0
"""Far beyond what a takeover and all back-offs after it take."""
GRACE_S = 5.0
"""Of a broken rule: long enough for the holder of the Lease to be gone when it is over."""
ENDPOINTS_S = 1.0
"""From the end of a replica until no new connection is led to it."""
WAVE_S = 0.4
BACKLOG = 40
"""Pending pods, with which no more come."""

_SUCCESSOR_S = 10
"""For which the successor of a moved pod has to be ready before the next pod of its controller."""
_VERDICT = re.compile(r"0/\d+ nodes are available: |\S+ since the filter call: node\(s\) didn't ")
"""What the scheduler says of a pod that a rule keeps from all nodes, or from one at its bind."""
_SERVICE = Path(__file__).resolve().parents[2] / "manifests" / "overlays" / "service"
_SCHEDULERS_LEASE = "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases/kube-scheduler"
_NODES = 4
_MOVED = "moved"
MOVED = 2
"""Pods that have to move, of one controller."""


def _shipped_probe() -> JSON:
    (deployment,) = yaml.safe_load_all((_SERVICE / "deployment.yaml").read_text())
    probe: JSON = deployment["spec"]["template"]["spec"]["containers"][0]["readinessProbe"]
    return probe


def _settings(mode: str) -> JSON:
    """Return fields of the extender's configuration: rules in annotations count, pods are moved."""
    delay = yaml.safe_load((_SERVICE / "config.yaml").read_text())["serving"]
    serving = {"shutdownDelaySeconds": delay.get("shutdownDelaySeconds", 0)}
    if mode == SHADOW:
        return {"serving": serving}
    return {
        "plugins": ["InterPodAffinity", "NodeAffinity"],
        "annotations": {"namespaceSelector": {}},
        "scaleDown": {"enabled": True, "settleSeconds": 1},
        "requiredDuringExecution": {
            "enabled": True,
            "dryRun": False,
            "gracePeriodSeconds": GRACE_S,
            "maxAffected": "100%",
            "plainRules": EVERYWHERE,
        },
        **({"serving": serving} if mode == ASSIST else {}),
    }


@dataclass(slots=True)
class Replica:
    """An extender with what is in its pod, and its way to the API server."""

    extender: Extender
    scheduler: Scheduler | None
    api: Hop
    running: AsyncExitStack
    in_service: bool = False

    @property
    def port(self) -> int:
        return int(self.extender.url.rpartition(":")[2])

    def signal(self, number: int) -> None:
        """Send a signal to all of the pod."""
        for pid in self._pids():
            os.kill(pid, number)

    def _pids(self) -> Iterator[int]:
        yield self.extender.pid
        if self.scheduler is not None:
            yield self.scheduler.process.pid

    async def follow_readiness(self) -> None:
        """Be an endpoint of the Service while the kubelet's probes succeed."""
        probe, failures = _shipped_probe(), 0
        limit = aiohttp.ClientTimeout(probe["timeoutSeconds"])
        async with aiohttp.ClientSession(timeout=limit) as session:
            while True:
                failures = 0 if await self._answers(session) else failures + 1
                if failures == 0 or failures >= probe["failureThreshold"]:
                    self.in_service = failures == 0
                await asyncio.sleep(probe["periodSeconds"])

    async def _answers(self, session: aiohttp.ClientSession) -> bool:
        try:
            async with session.get(f"{self.extender.ops_url}/readyz") as answer:
                return answer.ok
        except (aiohttp.ClientError, TimeoutError):
            return False


class Replicas:
    """A cluster whose pods are placed, and moved, with the help of several replicas."""

    def __init__(
        self, sandbox: Sandbox, mode: str, revision: Revision, stack: AsyncExitStack
    ) -> None:
        self.sandbox = sandbox
        self.mode = mode
        self.revision = revision
        """Of the next replica."""
        self.all: list[Replica] = []
        self._stack = stack
        self._turns = count()
        self._created: list[str] = []
        self._enough = asyncio.Event()
        self._creating: asyncio.Task[None]

    @property
    def moves(self) -> Moves:
        return Moves(self.sandbox, [each.extender for each in self.all], self._stack)

    def endpoint(self) -> int:
        """Return where the next connection to the Service is led; 0, where none is taken."""
        ports = [each.port for each in self.all if each.in_service]
        return ports[next(self._turns) % len(ports)] if ports else 0

    # What befalls replicas.

    async def add(self) -> Replica:
        """Start one more, and return once it is ready."""
        here = self.sandbox.control_plane
        running = await self._stack.enter_async_context(AsyncExitStack())
        server = int(here.server.rpartition(":")[2])
        api, port = await running.enter_async_context(hop(lambda: server, Random()))
        there = replace(here, server=f"https://127.0.0.1:{port}")
        folder = self.sandbox.folder("replica")
        extender = await running.enter_async_context(
            Extender.running(
                there, self.mode, folder, fields=_settings(self.mode), revision=self.revision
            )
        )
        scheduler = None
        if self.mode == REPLACE:
            config = shipped(REPLACE, extender.url)
            scheduler = await running.enter_async_context(
                configured(there, config, folder, elected=True)
            )
            await running.enter_async_context(working(_started_again(scheduler)))
        made = Replica(extender, scheduler, api, running, in_service=True)
        self.all.append(made)
        if self.mode != REPLACE:
            await running.enter_async_context(working(made.follow_readiness()))
        return made

    async def renew(self) -> None:
        """Replace all, one after the other, each when its successor is ready."""
        for old in [*self.all]:
            await self.add()
            await self.end(old)

    async def end(self, replica: Replica) -> None:
        """End a replica as Kubernetes does: its endpoint goes meanwhile, not before."""
        self.all.remove(replica)
        async with asyncio.TaskGroup() as both:
            both.create_task(self._forget_endpoint(replica))
            both.create_task(replica.running.aclose())

    async def _forget_endpoint(self, replica: Replica) -> None:
        await asyncio.sleep(ENDPOINTS_S)
        replica.in_service = False

    async def leader(self) -> Replica:
        """Return the one whose extender holds the Lease of evictions."""
        leading = await self.moves.leader()
        return next(each for each in self.all if each.extender is leading)

    # What pods come, and what becomes of them.

    @asynccontextmanager
    async def creating(self) -> AsyncIterator[None]:
        """Have pods come, until there are enough or the block ends."""
        self._creating = asyncio.create_task(self._create())
        try:
            yield
        finally:
            self._creating.cancel()
            await asyncio.gather(self._creating, return_exceptions=True)

    async def _create(self) -> None:
        """Create pods that exclude each other, again and again, until there are `_enough`."""
        for number in count():
            if len(self.sandbox.waiting()) < BACKLOG:
                made = wave(number)
                self._created += map(key_of, made)
                await for_each(made, lambda each: self.sandbox.api.create(pods_path(each), each))
            with suppress(TimeoutError):
                async with asyncio.timeout(WAVE_S):
                    await self._enough.wait()
                return

    async def until_placed(self) -> None:
        """Let no more pods come, and return once all are placed."""
        self._enough.set()
        await self._creating
        await self.sandbox.pods.until(
            lambda: {*self._created} <= self.sandbox.places().keys(),
            PATIENCE_S,
            "pods to be placed",
        )

    async def break_rule(self) -> None:
        """Have the pods of a workload break their rule, and another node take them."""
        await self.moves.label("n1", **SSD)
        await self.moves.label("n0", disk=None)

    async def until_moved(self) -> None:
        """Return once these pods run where their rule holds."""
        await self.sandbox.pods.until(
            lambda: [*self.moves.running(_MOVED).values()] == ["n1"] * MOVED,
            PATIENCE_S,
            "the moves",
        )

    # The judgement, by what the API server shows.

    def waits(self) -> list[float]:
        """Return for how long each pod that was bound had waited, in whole seconds."""
        found: dict[str, float] = {}
        for each in self.sandbox.pods.history:
            for condition in each["status"].get("conditions") or ():
                if (condition["type"], condition["status"]) == ("PodScheduled", "True"):
                    created, bound = map(
                        datetime.fromisoformat,
                        (each["metadata"]["creationTimestamp"], condition["lastTransitionTime"]),
                    )
                    found[each["metadata"]["uid"]] = (bound - created).total_seconds()
        return [*found.values()]

    async def faults(self) -> list[str]:
        """Say which pods are together that must not be, or elsewhere than was said."""
        sandbox = self.sandbox
        order = [key for key in bound_order(sandbox.pods.history) if key in sandbox.pods.objects]
        broken = (await sandbox.checker()).broken_rules(order if self.mode == REPLACE else None)
        return [*broken, *await self._lost_binds(), *self._hasty_moves()]

    def _hasty_moves(self) -> Iterator[str]:
        """Say which pods were evicted twice, without cause or too soon after another."""
        evictions = sorted(self.moves.evictions().values())
        if len(evictions) != (0 if self.mode == SHADOW else MOVED):
            yield f"{len(evictions)} pods were evicted"
        for before, after in pairwise(evictions):
            # The API server's times are cut to seconds.
            if (apart := (after - before).total_seconds()) < _SUCCESSOR_S - 1:
                yield f"{apart} s between two evictions"

    async def _lost_binds(self) -> list[str]:
        """Say which pods are not where the scheduler said that they were bound."""
        places = self.sandbox.places()
        said = [
            re.findall(r"assigned (\S+) to (\S+)", each["note"])[0]
            for each in await self.events("Scheduled")
        ]
        assert said, "the scheduler has said nothing"
        return [
            f"{key} was said to be on {node}, and is on {places.get(key)}"
            for key, node in said
            if key in self.sandbox.pods.objects and places.get(key) != node
        ]

    async def refusals(self) -> list[str]:
        """Return what the scheduler said of pods that it could not place, but not by a rule."""
        notes = [each["note"] for each in await self.events("FailedScheduling")]
        return [each for each in notes if not _VERDICT.match(each)]

    async def events(self, reason: str) -> list[JSON]:
        """Return the Events with this reason."""
        listing = await self.sandbox.api.get("/apis/events.k8s.io/v1/events")
        return [each for each in listing["items"] if each.get("reason") == reason]


async def _started_again(scheduler: Scheduler) -> None:
    """Start a scheduler whenever it has ended, as a kubelet does: one that leads no more ends."""
    while True:
        await scheduler.process.ended()
        scheduler.process.start()


def wave(number: int) -> list[JSON]:
    """Return pods that come together, of apps that no other wave has; all have a place."""
    app, other = f"a{number}", f"b{number}"
    mine, theirs = {"app": app}, {"app": other}
    match number % 3:
        case 0:  # one for each node
            alone = [term(HOSTNAME, mine)]
            made = [pod(f"{app}-{n}", labels=mine, apart=alone) for n in range(_NODES)]
            for each in made:
                each["metadata"]["annotations"] = {AFFINITY_ANNOTATION: _said_again(alone)}
            return made
        case 1:  # a zone for either
            return [
                pod(f"{app}-0", labels=mine, apart=[term(ZONE, theirs)]),
                pod(f"{other}-0", labels=theirs),
            ]
        case _:  # together in a zone, on nodes of their own
            near, apart = [term(ZONE, mine)], [term(HOSTNAME, mine)]
            return [
                pod(f"{app}-0", labels=mine),
                pod(f"{other}-0", labels=theirs, near=near, apart=apart),
            ]


def _spread() -> JSON:
    """Return a wish that the pods which move have among themselves."""
    apart = {"weight": 1, "podAffinityTerm": term(HOSTNAME, {"app": _MOVED})}
    return {"podAntiAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": [apart]}}


def _said_again(apart: list[JSON]) -> str:
    """Return a rule of a spec as one in an annotation."""
    term = {"requiredDuringSchedulingIgnoredDuringExecution": apart}
    return json.dumps({"podAntiAffinity": term})


@asynccontextmanager
async def replicated(
    sandbox: Sandbox, mode: str, number: int, revision: Revision = THIS
) -> AsyncIterator[Replicas]:
    """Run replicas in a mode, with pods that come all the time and a workload that may move."""
    await forget(sandbox)
    await sandbox.api.delete(_SCHEDULERS_LEASE)
    nodes = [node(f"n{each}", f"z{each % 2}", pods=10_000) for each in range(_NODES)]
    nodes[0]["metadata"]["labels"] |= SSD
    await sandbox.add(*nodes)
    async with AsyncExitStack() as stack:
        replicas = Replicas(sandbox, mode, revision, stack)
        for _ in range(number):
            await replicas.add()
        if mode != REPLACE:
            _, port = await stack.enter_async_context(hop(replicas.endpoint, Random()))
            config = shipped(mode, f"http://127.0.0.1:{port}", quotas=True)
            # As for rules in annotations: a pod is not placed without the extender.
            del config["extenders"][0]["ignorable"]
            folder = sandbox.folder("scheduler")
            await stack.enter_async_context(configured(sandbox.control_plane, config, folder))
        await stack.enter_async_context(sandbox.kubelet())
        await replicas.moves.create(replica_set(_MOVED, on_ssd() | _spread(), MOVED))
        async with replicas.creating():
            await asyncio.sleep(3 * WAVE_S)
            yield replicas
