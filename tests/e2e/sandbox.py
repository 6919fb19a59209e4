"""What a scenario works with: a clean cluster, a scheduler for it, and pods that settle."""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager
from dataclasses import replace
from http import HTTPStatus
from typing import TYPE_CHECKING, Self

from tests.e2e.access import grant_shipped_role
from tests.e2e.api import Api, ApiError, Mirror, key_of
from tests.e2e.checker import Checker, bound_order
from tests.e2e.controlplane.credentials import ADMIN
from tests.e2e.extending import EXTENDER, REPLACE, Extender
from tests.e2e.kubelet import run_pods, working
from tests.e2e.objects import JSON
from tests.e2e.scheduling import Scheduler, scheduling

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable
    from pathlib import Path

    from tests.e2e.controlplane.cluster import ControlPlane

SETTLE_S = 20.0
"""Far beyond what a placement takes; only a failure gets there."""

_REPEATS = 6
"""A coin falls right once in 64 times."""


class Sandbox:
    """One cluster for one test."""

    def __init__(self, control_plane: ControlPlane, api: Api, pods: Mirror, folder: Path) -> None:
        self.control_plane = control_plane
        self.api = api
        self.pods = pods
        self.nodes: list[str] = []
        self.extender: Extender | None = None
        self._folder = folder
        self._runs = 0
        self._binds_in_order = False

    @classmethod
    @asynccontextmanager
    async def opened(cls, control_plane: ControlPlane, folder: Path) -> AsyncIterator[Self]:
        """Open a sandbox on an empty cluster, and leave it empty."""
        ca = control_plane.credentials.ca
        async with (
            Api.connected(control_plane.server, ADMIN.token, ca) as api,
            api.mirror("/api/v1/pods") as pods,
        ):
            await grant_shipped_role(api, EXTENDER)
            sandbox = cls(control_plane, api, pods, folder)
            try:
                yield sandbox
            finally:
                await sandbox.clear()
            control_plane.check_alive()

    # Before the scheduler runs: what is there already.

    async def add(self, *things: JSON) -> None:
        for thing in things:
            match thing["kind"]:
                case "Node":
                    await self.api.create("/api/v1/nodes", thing)
                    self.nodes.append(thing["metadata"]["name"])
                case "Namespace":
                    await self._namespace(thing)
                case _:
                    await self.api.create(pods_path(thing), thing)

    async def _namespace(self, thing: JSON) -> None:
        """Create a namespace, or give an earlier test's the labels that this one needs."""
        try:
            await self.api.create("/api/v1/namespaces", thing)
        except ApiError as error:
            if error.status != HTTPStatus.CONFLICT:
                raise
            await self.api.request("PUT", f"/api/v1/namespaces/{key_of(thing)}", thing)

    @asynccontextmanager
    async def scheduled_by(
        self,
        mode: str,
        extender_mode: str = "",
        *,
        quotas: bool = False,
        qps: int = 0,
        gates: tuple[str, ...] = (),
    ) -> AsyncIterator[Scheduler]:
        """Run a scheduler, and the extender beside it if the mode has one; see `scheduling`.

        `gates` are the scheduler's, beside those of the control plane.
        """
        features = self.control_plane.features
        control_plane = replace(
            self.control_plane, features=replace(features, gates=(*features.gates, *gates))
        )
        async with scheduling(
            control_plane, mode, self.folder(mode), extender_mode, quotas=quotas, qps=qps
        ) as running:
            self.extender = running.extender
            self._binds_in_order = mode == REPLACE
            try:
                yield running.scheduler
            finally:
                self.extender = None

    def folder(self, name: str) -> Path:
        """Make a folder for the files of one run."""
        self._runs += 1
        folder = self._folder / f"{self._runs}-{name}"
        folder.mkdir()
        return folder

    @asynccontextmanager
    async def kubelet(self) -> AsyncIterator[None]:
        """Make placed pods run and deleted ones go away, as the kubelets of real nodes would."""
        async with working(run_pods(self.api, self.pods, self._known)):
            yield

    # While it runs: pods come one after the other.

    async def settle(self, *pods: JSON) -> dict[str, str | None]:
        """Create pods, each once the one before has its place or its refusal; returns the nodes.

        The extender learns from its watch where a pod went. Until it binds pods itself, two pods
        in flight can slip past each other between the answer and the watch event, so the next
        pod comes when this one is bound and counted.
        """
        placed = {}
        for each in pods:
            await self.api.create(pods_path(each), each)
            placed[each["metadata"]["name"]] = await self.decided(key_of(each))
        return placed

    async def settle_at_once(self, *pods: JSON) -> dict[str, str | None]:
        """Create pods together, and return the nodes once all are decided."""
        await asyncio.gather(*(self.api.create(pods_path(each), each) for each in pods))
        return {each["metadata"]["name"]: await self.decided(key_of(each)) for each in pods}

    async def settle_repeatedly(self, *pods: JSON) -> list[dict[str, str | None]]:
        """Let the same pods settle and go several times, so that no luck looks like a rule."""
        outcomes = []
        for _ in range(_REPEATS):
            outcomes.append(await self.settle(*pods))
            await self.remove(*map(key_of, pods))
        return outcomes

    async def decided(self, key: str) -> str | None:
        """Return the node of a pod, or None once the scheduler has found it unschedulable."""
        await self.pods.until(lambda: self._outcome(key) is not None, SETTLE_S, f"{key} to settle")
        pod = self.pods.objects[key]
        if not self._outcome(key):
            return None
        await self.seen(pod)
        return str(pod["spec"]["nodeName"])

    async def bound(self, key: str) -> str:
        """Return the node of a pod that has been refused before, once it has one."""

        def node() -> str:
            seen = self.pods.objects.get(key)
            return "" if seen is None else str(seen["spec"].get("nodeName", ""))

        await self.pods.until(lambda: bool(node()), SETTLE_S, f"{key} to be bound after all")
        return node()

    async def seen(self, pod: JSON) -> None:
        """Return once the extender, if there is one, counts this placed pod."""
        if self.extender:
            await self.extender.await_seen(pod, self.nodes)

    async def remove(self, *keys: str) -> None:
        """Delete pods and return once nobody counts them any more."""
        for key in keys:
            gone = self.pods.objects[key]
            await self.api.delete(pod_path(gone))
            await self.pods.until(lambda key=key: key not in self.pods.objects, SETTLE_S, key)  # type: ignore[misc]
            if self.extender and gone["spec"].get("nodeName"):
                await self.extender.await_seen(gone, self.nodes, counted=False)

    async def _known(self, pod: JSON) -> None:
        """Return once whoever enforces required rules counts this pod.

        The scheduler counts what it has placed itself. And the replicas of a Deployment are
        alike: once there is one on each node, no score tells in assist which of them is counted.
        """
        if self.extender and self.extender.mode == REPLACE:
            await self.seen(pod)

    def _outcome(self, key: str) -> bool | None:
        """Say whether a pod is placed (True), refused (False) or not decided on yet."""
        pod = self.pods.objects.get(key)
        if pod and pod["spec"].get("nodeName"):
            return True
        return False if pod and refusal(pod) else None

    # Afterwards: what came out.

    async def checker(self) -> Checker:
        """Return a checker for the cluster as it is now."""
        return (await self._checker_factory())()

    async def _checker_factory(self) -> Callable[[], Checker]:
        listings = [await self.api.get(f"/api/v1/{kind}") for kind in ("nodes", "namespaces")]
        nodes, namespaces = (listing["items"] for listing in listings)
        return lambda: Checker(self.pods.objects.values(), nodes, namespaces)

    async def until_nobody_waits_needlessly(self) -> None:
        """Return once no waiting pod fits anywhere; later pods can have cured a refusal."""
        checker = await self._checker_factory()
        await self.pods.until(lambda: not checker().needless_waits(), SETTLE_S, "pods to fit")

    async def assert_lawful(self) -> None:
        """Assert that every placed pod obeys every required rule.

        The extender binds a pod after those that it must be near. The scheduler lets both binds run
        side by side, so what it has bound is judged for any order.
        """
        order = [key for key in bound_order(self.pods.history) if key in self.pods.objects]
        broken = (await self.checker()).broken_rules(order if self._binds_in_order else None)
        assert broken == [], broken

    def places(self) -> dict[str, str]:
        """Return the node of each pod that has one."""
        pods = self.pods.objects.items()
        return {key: pod["spec"]["nodeName"] for key, pod in pods if pod["spec"].get("nodeName")}

    def waiting(self) -> list[str]:
        """Return the names of the pods without a node."""
        pods = self.pods.objects.values()
        return sorted(p["metadata"]["name"] for p in pods if not p["spec"].get("nodeName"))

    async def clear(self) -> None:
        """Remove what the test made, and return once the pods are gone.

        Namespaces stay: an empty one changes nothing, and deleting one takes seconds.
        """
        namespaces = await self.api.get("/api/v1/namespaces")
        for name in (each["metadata"]["name"] for each in namespaces["items"]):
            for kind in ("deployments", "replicasets"):
                await self.api.delete(f"/apis/apps/v1/namespaces/{name}/{kind}")
            await self.api.delete(f"/api/v1/namespaces/{name}/pods")
            await self.api.delete(f"/api/v1/namespaces/{name}/resourcequotas")
        await self.api.delete("/api/v1/nodes")
        await self.pods.until(lambda: not self.pods.objects, SETTLE_S, "all pods to be gone")
        self.pods.history.clear()
        self.nodes.clear()


def pods_path(pod: JSON) -> str:
    """Return the collection that a pod belongs to."""
    return f"/api/v1/namespaces/{pod['metadata']['namespace']}/pods"


def pod_path(pod: JSON) -> str:
    """Return where a pod itself is."""
    return f"{pods_path(pod)}/{pod['metadata']['name']}"


def refusal(pod: JSON) -> str | None:
    """Return why the scheduler says that the pod cannot be placed, if it does."""
    for condition in (pod.get("status") or {}).get("conditions") or []:
        if condition["type"] == "PodScheduled" and condition["status"] == "False":
            reason, message = condition["reason"], condition["message"]
            assert reason == "Unschedulable", f"the scheduler failed: {reason}: {message}"
            return str(message)
    return None
