"""Clusters in which pods are moved: workloads, extenders that evict, and what they have done."""

from __future__ import annotations

import asyncio
import json
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import replace
from datetime import datetime
from typing import TYPE_CHECKING, Any

from tests.e2e.extending import ASSIST, Extender
from tests.e2e.objects import HOSTNAME, JSON, pod_spec
from tests.e2e.preempting import budget
from tests.e2e.scheduling import STOCK

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable

    from tests.e2e.sandbox import Sandbox

GRACE_S = 2.0
SLACK_S = 10.0
"""What a move may take beyond its grace period."""
QUIET_S = 8.0
"""Long enough for somebody to be evicted who is not to be."""
LEASE = "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases/affinity-extender"
EVERYWHERE = {"matchExpressions": [{"key": "kubernetes.io/metadata.name", "operator": "Exists"}]}
SSD = {"disk": "ssd"}


def on_ssd() -> JSON:
    """Return a node affinity for nodes with such a disk."""
    expression = {"key": "disk", "operator": "In", "values": ["ssd"]}
    required = {"nodeSelectorTerms": [{"matchExpressions": [expression]}]}
    return {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": required}}


def replica_set(name: str, affinity: JSON, replicas: int = 1, **spec: Any) -> JSON:
    """Return a ReplicaSet whose pods have an affinity."""
    labels = {"app": name}
    template = pod_spec() | {"affinity": affinity} | spec
    return {
        "apiVersion": "apps/v1",
        "kind": "ReplicaSet",
        "metadata": {"name": name, "namespace": "default"},
        "spec": {
            "replicas": replicas,
            "selector": {"matchLabels": labels},
            "template": {"metadata": {"labels": labels}, "spec": template},
        },
    }


class Moves:
    """A cluster with a scheduler, kubelets, and extenders that evict."""

    def __init__(
        self, sandbox: Sandbox, extenders: list[Extender], stack: AsyncExitStack | None = None
    ) -> None:
        """What is created is gone when the `stack` unwinds."""
        self.sandbox = sandbox
        self.extenders = extenders
        self._stack = stack

    async def create(self, workload: JSON, *, allows_its_last: bool = True) -> None:
        """Create a ReplicaSet and return once its pods run.

        One with a single pod has a budget that allows an eviction; without, that pod stays.
        """
        labels, single = (
            workload["spec"]["selector"]["matchLabels"],
            workload["spec"]["replicas"] == 1,
        )
        if allows_its_last and single and self._stack is not None:
            made = budget(self.sandbox.api, labels, 1, workload["metadata"]["name"])
            await self._stack.enter_async_context(made)
        await self.sandbox.api.create("/apis/apps/v1/namespaces/default/replicasets", workload)
        name, wanted = workload["metadata"]["name"], workload["spec"]["replicas"]
        await self.until(lambda: len(self.running(name)) == wanted, 20, f"{name} to run")

    def running(self, app: str) -> dict[str, str]:
        """Return where the pods of a workload run that are not on their way out."""
        return {
            each["metadata"]["uid"]: each["spec"]["nodeName"]
            for each in self.sandbox.pods.objects.values()
            if (each["metadata"].get("labels") or {}).get("app") == app
            and not each["metadata"].get("deletionTimestamp")
            and each["status"]["phase"] == "Running"
        }

    def evicted(self) -> list[str]:
        """Return the uids of the pods that the Eviction API has ended, as their conditions say."""
        return [*self.evictions()]

    def evictions(self) -> dict[str, datetime]:
        """Return when each of them was evicted, to the second, by the API server's clock."""
        found: dict[str, datetime] = {}
        for each in self.sandbox.pods.history:
            for condition in each["status"].get("conditions") or ():
                if condition.get("reason") == "EvictionByEvictionAPI":
                    at = datetime.fromisoformat(condition["lastTransitionTime"])
                    found[each["metadata"]["uid"]] = at
        return found

    async def label(self, node: str, **labels: str | None) -> None:
        await self.sandbox.api.patch(f"/api/v1/nodes/{node}", {"metadata": {"labels": labels}})

    async def until(self, condition: Callable[[], bool], seconds: float, what: str) -> None:
        """Wait for pods."""
        await self.sandbox.pods.until(condition, seconds, what)

    async def said(self, reason: str, words: str = "", within: float = SLACK_S) -> str:
        """Return the note of an Event, once there is one with this reason and these words."""
        async with asyncio.timeout(within + GRACE_S):
            while True:
                for note in await self.notes(reason):
                    if words in note:
                        return note
                await asyncio.sleep(0.2)

    async def notes(self, reason: str) -> list[str]:
        """Return the notes of all Events with this reason."""
        listing = await self.sandbox.api.get("/apis/events.k8s.io/v1/events")
        return [each["note"] for each in listing["items"] if each.get("reason") == reason]

    async def leader(self) -> Extender:
        """Return the extender that has the Lease."""
        async with asyncio.timeout(SLACK_S):
            while True:
                for each in self.extenders:
                    if await each.total("affinity_extender_evictions_leader"):
                        return each
                await asyncio.sleep(0.1)

    async def violations(self) -> Any:
        """Return what the first extender tells of broken rules."""
        return await self.extenders[0].page("/violations")


@asynccontextmanager
async def moving(
    sandbox: Sandbox,
    replicas: int = 1,
    *,
    scheduled: bool = True,
    server: str | None = None,
    **settings: Any,
) -> AsyncIterator[Moves]:
    """Run the scheduler without the extender, and extenders beside it that evict.

    Those talk to the API server, or to another `server` in front of it.
    """
    control_plane = sandbox.control_plane
    control_plane = replace(control_plane, server=server or control_plane.server)
    folder = sandbox.folder("moving")
    config = folder / "eviction.yaml"
    document = {
        "apiVersion": "affinity-extender.io/v1",
        "kind": "AffinityExtenderConfiguration",
        "plugins": ["InterPodAffinity", "NodeAffinity"],
        "annotations": {"namespaceSelector": {}},
        "requiredDuringExecution": {
            "enabled": True,
            "dryRun": False,
            "gracePeriodSeconds": GRACE_S,
            "maxAffected": "100%",
            "plainRules": EVERYWHERE,
            **settings,
        },
    }
    config.write_text(json.dumps(document))
    await forget(sandbox)
    async with AsyncExitStack() as stack:
        if scheduled:
            await stack.enter_async_context(sandbox.scheduled_by(STOCK))
        extenders = [
            await stack.enter_async_context(
                Extender.running(
                    control_plane,
                    ASSIST,
                    sandbox.folder(f"extender-{number}"),
                    *("--config", str(config)),
                )
            )
            for number in range(replicas)
        ]
        await stack.enter_async_context(sandbox.kubelet())
        moves = Moves(sandbox, extenders, stack)
        await moves.leader()
        yield moves


async def forget(sandbox: Sandbox) -> None:
    """Remove the Lease and the Events of an earlier test."""
    await sandbox.api.delete(LEASE)
    listing = await sandbox.api.get("/apis/events.k8s.io/v1/events")
    for namespace in {each["metadata"]["namespace"] for each in listing["items"]}:
        await sandbox.api.delete(f"/apis/events.k8s.io/v1/namespaces/{namespace}/events")


def together(selector: dict[str, str], key: str = HOSTNAME) -> JSON:
    """Return the affinity of a pod that wants others near it."""
    wanted = {"topologyKey": key, "labelSelector": {"matchLabels": selector}}
    return {"podAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [wanted]}}
