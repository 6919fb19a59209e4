"""Claims, volumes and what is about them in one line each, as the API would show them."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

from affinityctl.scheduler.volumes.ledger import KINDS, ledger_of
from affinityctl.scheduler.volumes.pod_volumes import read_pod_volumes
from affinityctl.scheduler.volumes.resources import VOLUME_RESOURCES
from extender.core.cluster.state import ClusterState
from extender.core.wire.objects import PodReader
from tests.builders import ZONE, Json, Pod, pod, requirement

DRIVER = "csi.example.com"
READER = PodReader(requirements=True, read_volumes=read_pod_volumes)


def using(*claims: str, name: str = "new") -> Pod:
    """Build a pod with claims as volumes."""
    volumes = [{"name": each, "persistentVolumeClaim": {"claimName": each}} for each in claims]
    return with_volumes(*volumes, name=name)


def with_volumes(*volumes: Json, name: str = "new") -> Pod:
    """Build a pod with volumes."""
    made = pod(name)
    made["spec"]["volumes"] = [{"name": f"v{n}", **each} for n, each in enumerate(volumes)]
    return made


def claim(name: str, storage_class: str = "wait", size: str = "1Gi", **spec: Any) -> Json:
    """Build a claim that is bound to nothing."""
    asks = {"storageClassName": storage_class, "resources": {"requests": {"storage": size}}}
    metadata = {"name": name, "namespace": "default", "uid": f"uid-{name}"}
    return {"kind": "PersistentVolumeClaim", "metadata": metadata, "spec": asks | spec}


def bound(name: str, volume: str, **spec: Any) -> Json:
    """Build a claim that is bound to a volume."""
    made = claim(name, volumeName=volume, **spec)
    annotations = {"pv.kubernetes.io/bind-completed": "yes"}
    return {**made, "metadata": made["metadata"] | {"annotations": annotations}}


def volume(
    name: str, *places: Json, size: str = "5Gi", labels: dict[str, str] | None = None, **spec: Any
) -> Json:
    """Build a volume of class wait that nobody has, on nodes in some places."""
    made: dict[str, Any] = {"storageClassName": "wait", "capacity": {"storage": size}}
    if places:
        terms = [{"matchExpressions": [each]} for each in places]
        made["nodeAffinity"] = {"required": {"nodeSelectorTerms": terms}}
    return {
        "kind": "PersistentVolume",
        "metadata": {"name": name, "labels": labels or {}},
        "spec": made | spec,
        "status": {"phase": "Available"},
    }


def storage_class(name: str, provisioner: str = DRIVER, **more: Any) -> Json:
    """Build a class whose volumes wait for the first consumer."""
    waits = {"volumeBindingMode": "WaitForFirstConsumer"} | more
    return {
        "kind": "StorageClass",
        "metadata": {"name": name},
        "provisioner": provisioner,
        **waits,
    }


def limited(name: str, count: int | None) -> Json:
    """Build a CSINode that has the driver."""
    driver: dict[str, Any] = {"name": DRIVER, "nodeID": name}
    if count is not None:
        driver["allocatable"] = {"count": count}
    return {"kind": "CSINode", "metadata": {"name": name}, "spec": {"drivers": [driver]}}


WAIT = storage_class("wait")
BY_HAND = storage_class("wait", "kubernetes.io/no-provisioner")
AT_ONCE = storage_class("now", volumeBindingMode="Immediate")
IN_X, IN_Y = requirement(ZONE, "In", "x"), requirement(ZONE, "In", "y")


def put(state: ClusterState, objects: Iterable[Json], kinds: Iterable[str] = KINDS) -> None:
    """Put all that there is of volumes into a state, of which these kinds are then known."""
    readers = {each.kind: each.storing(state, READER) for each in VOLUME_RESOURCES}
    for each in objects:
        readers[each["kind"]](json.dumps(each).encode())
    ledger_of(state).known.update(kinds)
