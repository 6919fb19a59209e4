"""Mode `assist`: a pod whose volume never comes is let onto a node again and again, and not bound.

Rules in annotations of all other pods have to hold meanwhile.
"""

from __future__ import annotations

import asyncio
import json
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

from tests.beside import AFFINITY_ANNOTATION
from tests.e2e.extending import ASSIST
from tests.e2e.judging import judging
from tests.e2e.objects import HOSTNAME, JSON, namespace, node, pod, term
from tests.e2e.sandbox import pods_path

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from tests.e2e.sandbox import Sandbox

CLASSES = "/apis/storage.k8s.io/v1/storageclasses"
CLAIMS = "/api/v1/namespaces/tenant/persistentvolumeclaims"
NEVER: JSON = {
    "apiVersion": "storage.k8s.io/v1",
    "kind": "StorageClass",
    "metadata": {"name": "never"},
    "provisioner": "example.com/never",
    "volumeBindingMode": "WaitForFirstConsumer",
}
ALLOTTED = {
    "n0": {"for": "couples", "first": "yes"},
    "n1": {"for": "couples"},
    "own": {"for": "tenant"},
}
STUCK_PODS, STUCK_EVERY_S = 4, 3.0
FIRST: JSON = {"preferredDuringSchedulingIgnoredDuringExecution": [
    {"weight": 100, "preference": {"matchExpressions": [{"key": "first", "operator": "Exists"}]}}
]}  # fmt: skip


def away(selected: dict[str, str]) -> dict[str, str]:
    """Return the annotation of a pod that shares its node with none of those."""
    required = [term(HOSTNAME, selected, namespaceSelector={})]
    rules = {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": required}}
    return {AFFINITY_ANNOTATION: json.dumps(rules)}


def couple(number: int) -> list[JSON]:
    """Return two pods that exclude each other and would both rather be on one node."""
    labels = {"couple": str(number), "side": "any"}
    made = [pod(f"couple-{number}-{side}", labels=labels) for side in "ab"]
    for each in made:
        each["metadata"]["annotations"] = away({"couple": str(number)})
        each["spec"] |= {"nodeSelector": {"for": "couples"}, "affinity": {"nodeAffinity": FIRST}}
    return made


def stuck(number: int) -> tuple[JSON, JSON]:
    """Return a claim that nothing provisions, and a pod for it that excludes all couples."""
    claim: JSON = {
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "metadata": {"name": f"never-{number}", "namespace": "tenant"},
        "spec": {
            "accessModes": ["ReadWriteOnce"],
            "storageClassName": "never",
            "resources": {"requests": {"storage": "1Gi"}},
        },
    }
    made = pod(f"stuck-{number}", "tenant")
    made["metadata"]["annotations"] = away({"side": "any"})
    volume = {"name": "data", "persistentVolumeClaim": {"claimName": f"never-{number}"}}
    made["spec"] |= {"nodeSelector": {"for": "tenant"}, "volumes": [volume]}
    return claim, made


@asynccontextmanager
async def storage(sandbox: Sandbox) -> AsyncIterator[None]:
    """Have a class of volumes that nothing provisions."""
    await sandbox.api.create(CLASSES, NEVER)
    try:
        yield
    finally:
        await sandbox.api.delete(CLAIMS)
        await sandbox.api.delete(f"{CLASSES}/never")


async def test_rules_in_annotations_hold_beside_pods_that_are_never_bound(sandbox: Sandbox) -> None:
    nodes = {name: node(name, pods=1_000) for name in ALLOTTED}
    for name, labels in ALLOTTED.items():
        nodes[name]["metadata"]["labels"] |= labels
    await sandbox.add(namespace("tenant"), *nodes.values())
    couples, clock = 0, asyncio.get_running_loop().time
    async with storage(sandbox), judging(sandbox, ASSIST):
        for number in range(STUCK_PODS):
            claim, stuck_pod = stuck(number)
            await sandbox.api.create(CLAIMS, claim)
            await sandbox.api.create(pods_path(stuck_pod), stuck_pod)
            until = clock() + STUCK_EVERY_S
            while clock() < until:
                await sandbox.settle_at_once(*couple(couples))
                couples += 1
        places = sandbox.places()
        assert [each for each in sandbox.waiting() if "couple" in each] == []
        assert len(sandbox.waiting()) == STUCK_PODS, "they were to wait for their volumes"
    names = [f"default/couple-{number}-" for number in range(couples)]
    assert [each for each in names if places[f"{each}a"] == places[f"{each}b"]] == []
