"""Workloads: what makes pods, would replace one that goes, and changes them all in an update."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, NamedTuple

from extender.model.labels import TEMPLATE_HASH

STATEFUL_SET: Final = "StatefulSet"
DAEMON_SET: Final = "DaemonSet"
STATIC: Final = "Node"
"""The kind that owns a static pod's mirror: the kubelet of that node."""

_RUN_OF_CRON_JOB = re.compile(r"(?P<name>.+)-\d+", re.DOTALL)

REVISION_LABELS: Final[Mapping[str, tuple[str, ...]]] = {
    "Deployment": (TEMPLATE_HASH,),
    STATEFUL_SET: ("controller-revision-hash",),
    DAEMON_SET: ("controller-revision-hash", "pod-template-generation"),
}
"""Labels by which controllers tell the pods of one version of a template from another's."""


def revision_labels(kind: str, revision: str) -> dict[str, str]:
    """Return the labels that tell the pods of one revision from those of another."""
    return dict.fromkeys(REVISION_LABELS.get(kind, ()), revision)


class Identity(NamedTuple):
    """One workload."""

    namespace: str
    kind: str
    name: str

    def __str__(self) -> str:
        return f"{self.kind.lower()} {self.namespace}/{self.name}"


def controller_by_name(identity: Identity, template_hash: str) -> Identity | None:
    """Return the workload that a controller's name tells of, where the controller is missing.

    `template_hash` is the label of a pod of a ReplicaSet.
    """
    namespace, kind, name = identity
    if kind == "ReplicaSet" and template_hash and name.endswith(f"-{template_hash}"):
        return Identity(namespace, "Deployment", name.removesuffix(f"-{template_hash}"))
    if kind == "Job" and (run := _RUN_OF_CRON_JOB.fullmatch(name)):
        return Identity(namespace, "CronJob", run["name"])
    return None


@dataclass(frozen=True, slots=True)
class Rollout:
    """How many pods a workload has, and how it replaces them."""

    replicas: int | None = None
    """None for one on each node, or for what is a single pod."""
    surge: int = 0
    unavailable: int = 1
    """Old pods that may be gone before new ones are ready."""
    rolling: bool = False
    partition: int = 0
    """Of a StatefulSet: pods of lower ordinals keep their version."""


ONE_POD: Final = Rollout(replicas=1)


@dataclass(frozen=True, slots=True)
class Owner:
    """The controller that made a pod, and would make another in its place."""

    kind: str
    name: str
    uid: str
