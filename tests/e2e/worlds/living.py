"""A drawn cluster on a real control plane: it is created, comes to rest, and is changed."""

from __future__ import annotations

import asyncio
import re
from collections import Counter
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from http import HTTPStatus
from itertools import count
from time import monotonic, time
from typing import TYPE_CHECKING, Self

from tests.e2e.api import Api, ApiError, Mirror, key_of
from tests.e2e.applying import collection
from tests.e2e.classes import ensure_priority_class
from tests.e2e.controlplane.credentials import ADMIN
from tests.e2e.kubelet import run_pods
from tests.e2e.scheduling import Scheduler
from tests.e2e.worlds.asking import answered, owner_of
from tests.e2e.worlds.drawing import CLASSES, CORDONED, NAMESPACES, World

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Iterable
    from pathlib import Path

    from tests.e2e.controlplane.cluster import ControlPlane
    from tests.e2e.objects import JSON

QUIET_S = 0.8
"""Without any event, and with nothing that a controller or the scheduler still owes."""
BRIEF_S = 0.4
"""The same between two evictions of a drain."""
SETTLE_S = 60.0
POLL_S = 0.05
RESTARTS = 3
CLEARED_S = 30.0
AGE_S = 3600
MOMENT = "%Y-%m-%dT%H:%M:%SZ"
_APPS = "/apis/apps/v1"
_MIRRORED = {
    "Pod": "/api/v1/pods",
    "Deployment": f"{_APPS}/deployments",
    "ReplicaSet": f"{_APPS}/replicasets",
    "StatefulSet": f"{_APPS}/statefulsets",
    "PodDisruptionBudget": "/apis/policy/v1/poddisruptionbudgets",
}
ATTEMPTS = re.compile(r"^scheduler_schedule_attempts_total\{.*\} (.+)$", re.MULTILINE)
BUDGET = re.compile(r"The disruption budget (\S+) ")
PREEMPTED, EVICTED = "PreemptionByScheduler", "EvictionByEvictionAPI"


class RestlessError(AssertionError):
    """A cluster does not come to rest."""


@dataclass(slots=True)
class Evictions:
    """What became of the pods on nodes that were drained."""

    gone: list[JSON] = field(default_factory=list)
    kept: dict[str, list[str]] = field(default_factory=dict)
    """By key, the budget that the API server names; none where there are two."""


class Living:
    """One control plane with a scheduler, for one world after the other."""

    def __init__(
        self, api: Api, scheduler: Scheduler, mirrors: dict[str, Mirror], plane: ControlPlane
    ) -> None:
        self.api = api
        self.plane = plane
        self.scheduler = scheduler
        self.mirrors = mirrors
        self.pods = mirrors["Pod"]
        self._staying: set[str] = set()
        """Pods that do not go away though they are being deleted, by uid."""
        self._holding: Callable[[JSON], bool] | None = None

    @classmethod
    @asynccontextmanager
    async def opened(cls, plane: ControlPlane, scheduler: Scheduler) -> AsyncIterator[Self]:
        async with AsyncExitStack() as stack:
            ca = plane.credentials.ca
            api = await stack.enter_async_context(Api.connected(plane.server, ADMIN.token, ca))
            for name in NAMESPACES:
                namespace = {"kind": "Namespace", "metadata": {"name": name}}
                with suppress(ApiError):
                    await api.create("/api/v1/namespaces", namespace)
            for name, (value, more) in CLASSES.items():
                await ensure_priority_class(api, name, value, **more)
            mirrors = {
                kind: await stack.enter_async_context(api.mirror(path))
                for kind, path in _MIRRORED.items()
            }
            yield cls(api, scheduler, mirrors, plane)

    @asynccontextmanager
    async def world(self, world: World) -> AsyncIterator[None]:
        """Create a world and let it come to rest; afterwards nothing of it is left."""
        starts = count(int(time()) - AGE_S)

        def running() -> JSON:
            """Return a status: that of two pods one is older is no matter of chance."""
            since = f"{datetime.fromtimestamp(next(starts), UTC):{MOMENT}}"
            return {"phase": "Running", "startTime": since, "conditions": _conditions("True")}

        kubelet = run_pods(self.api, self.pods, stays=self._stays, running=running)
        work = asyncio.create_task(kubelet, name="kubelet")
        try:
            await self._create(world)
            yield
        finally:
            self._staying.clear()
            self._holding = None
            await self._clear()
            work.cancel()
            with suppress(asyncio.CancelledError):
                await work
            for each in self.mirrors.values():
                each.history.clear()

    async def _create(self, world: World) -> None:
        for each in world.nodes:
            await self.api.create("/api/v1/nodes", each)
        for each in (*world.budgets, *world.workloads):
            await self.api.create(collection(each), each)
        await self.settle()
        running = [self.pods.objects[key] for key in sorted(self._running())]
        for number in world.unready if running else ():
            await self._fail(running[number % len(running)])
        for number in world.lingering if running else ():
            pod = running[number % len(running)]
            self._staying.add(pod["metadata"]["uid"])
            await self.api.request("DELETE", pod_path(pod))
        if world.held is not None:
            self._holding = lambda pod: pod["metadata"]["name"].startswith(str(world.held))
        for each in world.late:
            await self.api.create(collection(each), each)
        if world.unready or world.lingering or world.late:
            await self.settle()
        self._staying |= {
            each["metadata"]["uid"] for each in self.pods.objects.values() if is_going(each)
        }
        self._holding = None
        await self.retried()
        if world.change.get("busiest"):
            on = Counter(each["spec"].get("nodeName") for each in self.pods.objects.values())
            del on[None]
            there = sorted(on, key=lambda name: (-on[name], str(name)))
            world.change["nodes"] = there[: len(world.change["nodes"])] or world.change["nodes"]

    def _running(self) -> Iterable[str]:
        return (key for key, pod in self.pods.objects.items() if pod["spec"].get("nodeName"))

    async def _fail(self, pod: JSON) -> None:
        status = {"conditions": _conditions("False")}
        await self.api.patch(f"{pod_path(pod)}/status", {"status": status})

    async def _clear(self) -> None:
        begun = monotonic()
        while any(each.objects for each in self.mirrors.values()):
            for namespace in NAMESPACES:
                for kind in (
                    "Deployment",
                    "StatefulSet",
                    "ReplicaSet",
                    "PodDisruptionBudget",
                    "Pod",
                ):
                    thing = {"kind": kind, "metadata": {"namespace": namespace}}
                    await self.api.delete(collection(thing))
            await asyncio.sleep(POLL_S)
            if monotonic() - begun > CLEARED_S:
                raise RestlessError("what was created does not go away")
        await self.api.delete("/api/v1/nodes")

    def _stays(self, pod: JSON) -> bool:
        held = self._holding is not None and self._holding(pod)
        return held or pod["metadata"]["uid"] in self._staying

    # Rest.

    async def settle(self, quiet: float = QUIET_S) -> None:
        """Return once nothing has happened for a while and nothing is owed any more."""
        begun = since = monotonic()
        before = self._shape()
        while True:
            await asyncio.sleep(POLL_S)  # that nothing happens, no event tells
            now = monotonic()
            if (shape := self._shape()) != before:
                before, since = shape, now
            elif now - since >= quiet and not self._owed():
                return
            if now - begun > SETTLE_S:
                raise RestlessError(f"no rest after {SETTLE_S} s: {self._owed()}")

    def _shape(self) -> object:
        return [(len(each.history), len(each.objects)) for each in self.mirrors.values()]

    def _owed(self) -> list[str]:
        """Say what is still to be done by a controller, the scheduler or the kubelet."""
        owed = []
        for kind, mirror in self.mirrors.items():
            for key, each in mirror.objects.items():
                if kind == "Pod":
                    owed += [f"{key}: {what}" for what in self._owed_to(each)]
                    continue
                seen = each.get("status", {}).get("observedGeneration")
                if seen != each["metadata"]["generation"]:
                    owed.append(f"{kind} {key}: its controller")
        counts = self._replicas()
        for key, each in self.mirrors["ReplicaSet"].objects.items():
            if counts.get(each["metadata"]["uid"], 0) != each["spec"]["replicas"]:
                owed.append(f"ReplicaSet {key}: pods")
        return owed

    def _owed_to(self, pod: JSON) -> Iterable[str]:
        if is_going(pod):
            if not self._stays(pod):
                yield "to go away"
        elif not pod["spec"].get("nodeName"):
            if said(pod) is None:
                yield "to be looked at"
        elif pod["status"]["phase"] != "Running":
            yield "to run"

    def _replicas(self) -> dict[str, int]:
        counts: dict[str, int] = {}
        for pod in self.pods.objects.values():
            for each in pod["metadata"].get("ownerReferences", ()):
                counts[each["uid"]] = counts.get(each["uid"], 0) + (not is_going(pod))
        return counts

    async def retried(self) -> None:
        """Have the scheduler look at all pods that wait once more, as after minutes of its own.

        Its word of each is about the cluster of now then.
        """
        for _ in range(RESTARTS):
            waiting = self.waiting()
            if not waiting:
                return
            self.scheduler.process.stop()
            self.scheduler.process.start()
            await asyncio.to_thread(self.scheduler.process.wait_ready)
            while await self._attempts() < len(waiting):  # noqa: ASYNC110 - no event tells
                await asyncio.sleep(POLL_S)
            await self.settle()
            if self.waiting() == waiting:
                return

    async def _attempts(self) -> float:
        """Return how many pods the scheduler has looked at since it was started."""
        found = ATTEMPTS.findall(await self.scheduler.metrics())
        return sum(map(float, found))

    def waiting(self) -> dict[str, str]:
        """Return the uids of pods without a node, by key."""
        return {
            key: pod["metadata"]["uid"]
            for key, pod in self.pods.objects.items()
            if not pod["spec"].get("nodeName") and not is_going(pod)
        }

    # Changes.

    async def change(self, change: JSON) -> Evictions:
        """Carry a change out, and let the cluster come to rest."""
        evictions = Evictions()
        match change["kind"]:
            case "drain":
                evictions = await self._drain(change["nodes"])
            case "lose":
                await self._lose(change["nodes"])
            case "place":
                for each in change["objects"]:
                    await self.api.create(collection(each), each)
            case "scale":
                path = f"{collection(change['of'])}/{change['of']['metadata']['name']}"
                await self.api.patch(path, {"spec": {"replicas": change["replicas"]}})
            case "restart":
                path = f"{collection(change['of'])}/{change['of']['metadata']['name']}"
                at = {"kubectl.kubernetes.io/restartedAt": _now()}
                template = {"metadata": {"annotations": at}}
                await self.api.patch(path, {"spec": {"template": template}})
            case "roll":
                path = f"{collection(change['of'])}/{change['of']['metadata']['name']}"
                await self.api.request("PUT", path, change["of"])
        if "of" in change:
            await self._let_go(change["of"])
        await self.settle()
        await self.retried()
        return evictions

    async def _let_go(self, of: JSON) -> None:
        """End the deletions that a workload waits for: in a simulation they take no time."""
        recreated = of["spec"].get("strategy", {}).get("type") == "Recreate"
        if of["kind"] != "StatefulSet" and not recreated:
            return
        owner = f"{of['kind']} {key_of(of)}"
        for pod in list(self.pods.objects.values()):
            if is_going(pod) and owner_of(pod) == owner:
                self._staying.discard(pod["metadata"]["uid"])
                await self.api.delete(pod_path(pod))

    async def _lose(self, nodes: list[str]) -> None:
        for name in nodes:
            await self.api.delete(f"/api/v1/nodes/{name}")
        # As if at one moment, after which a StatefulSet makes the lowest ordinal first.
        for pod in sorted(self._on(nodes), key=key_of):
            await self.api.delete(pod_path(pod))

    def _on(self, nodes: list[str]) -> list[JSON]:
        """Return the pods of nodes, node by node, as `kubectl drain` goes through them."""
        pods = sorted(self.pods.objects.items())
        return [pod for each in nodes for _, pod in pods if pod["spec"].get("nodeName") == each]

    async def _drain(self, nodes: list[str]) -> Evictions:
        """Cordon nodes and evict their pods, again and again as `kubectl drain` does.

        One eviction comes to its end before the next is asked for: of several at once, chance
        decides which a budget lets through.
        """
        for name in nodes:
            spec = (await self.api.get(f"/api/v1/nodes/{name}"))["spec"]
            taints = [each for each in spec.get("taints", ()) if each["key"] != CORDONED["key"]]
            cordoned = {"unschedulable": True, "taints": [*taints, CORDONED]}
            await self.api.patch(f"/api/v1/nodes/{name}", {"spec": cordoned})
        found = Evictions()
        left = self._on(nodes)
        asked = 0
        while left and len(left) != asked:
            asked, found.kept = len(left), {}
            for pod in list(left):
                refusal = await self._evict(pod)
                if refusal is None:
                    left.remove(pod)
                    found.gone.append(pod)
                    await self.settle(BRIEF_S)
                else:
                    found.kept[key_of(pod)] = refusal
        return found

    async def _evict(self, pod: JSON) -> list[str] | None:
        """Ask for an eviction; return which budget refuses it, none of two, None if it is done."""
        name, namespace = pod["metadata"]["name"], pod["metadata"]["namespace"]
        body = {
            "apiVersion": "policy/v1",
            "kind": "Eviction",
            "metadata": {"name": name, "namespace": namespace},
            "deleteOptions": {"preconditions": {"uid": pod["metadata"]["uid"]}},
        }
        self._staying.discard(pod["metadata"]["uid"])
        try:
            await self.api.create(f"{pod_path(pod)}/eviction", body)
        except ApiError as error:
            if error.status in {HTTPStatus.NOT_FOUND, HTTPStatus.CONFLICT}:
                return None  # it went meanwhile
            if error.status not in {HTTPStatus.TOO_MANY_REQUESTS, HTTPStatus.INTERNAL_SERVER_ERROR}:
                raise
            return BUDGET.findall(str(error))
        if is_going(pod):
            await self.api.delete(pod_path(pod))
        return None

    async def dump(self, file: Path) -> None:
        """Have `affinity-extender dump` write what there is."""
        kubeconfig = str(self.plane.kubeconfig(ADMIN))
        await asyncio.to_thread(answered, "dump", "-o", str(file), "--kubeconfig", kubeconfig)


def _now() -> str:
    return f"{datetime.now(UTC):{MOMENT}}"


def _conditions(status: str) -> list[JSON]:
    return [
        {"type": kind, "status": status, "lastTransitionTime": _now()}
        for kind in ("Ready", "ContainersReady")
    ]


def pod_path(pod: JSON) -> str:
    return f"{collection({'kind': 'Pod', 'metadata': pod['metadata']})}/{pod['metadata']['name']}"


def is_going(thing: JSON) -> bool:
    return "deletionTimestamp" in thing["metadata"]


def condition(pod: JSON, kind: str) -> JSON | None:
    found = (pod.get("status") or {}).get("conditions") or ()
    return next((each for each in found if each["type"] == kind), None)


def said(pod: JSON) -> str | None:
    """Return why the scheduler has not placed a pod."""
    found = condition(pod, "PodScheduled")
    return None if found is None or found["status"] == "True" else str(found["message"])


def disrupted_by(pod: JSON) -> str | None:
    found = condition(pod, "DisruptionTarget")
    return None if found is None else str(found["reason"])
