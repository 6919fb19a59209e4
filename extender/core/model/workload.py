"""Workloads: what makes pods, and would replace one that goes."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, NamedTuple

from msgspec import Struct

from extender.core.model.labels import NO_LABELS, TEMPLATE_HASH, Labels

STATEFUL_SET: Final = "StatefulSet"
DAEMON_SET: Final = "DaemonSet"
JOB: Final = "Job"
STATIC: Final = "Node"
"""The kind that owns a static pod's mirror: the kubelet of that node."""

REPLACING: Final = frozenset(
    ("ReplicaSet", "ReplicationController", STATEFUL_SET, "CloneSet", "StrimziPodSet")
)
"""The kinds whose controllers make another pod, of the same template, for each that is evicted.
Deployments and the rollouts of others own ReplicaSets. A kind that is not here may do something
else, such as end the workflow that the pod was a step of."""

_RUN_OF_CRON_JOB = re.compile(r"(?P<name>.+)-\d+", re.DOTALL)

REVISION_LABELS: Final[Mapping[str, tuple[str, ...]]] = {
    "Deployment": (TEMPLATE_HASH,),
    STATEFUL_SET: ("controller-revision-hash",),
    DAEMON_SET: ("controller-revision-hash", "pod-template-generation"),
}
"""Labels by which controllers tell the pods of one version of a template from another's."""


def revision_labels(kind: str, revision: str) -> dict[str, str]:
    return dict.fromkeys(REVISION_LABELS.get(kind, ()), revision)


class Identity(NamedTuple):
    namespace: str
    kind: str
    name: str

    def __str__(self) -> str:
        return f"{self.kind.lower()} {self.namespace}/{self.name}"


REVISIONS: Final = " revisions"
"""A mark of a pod or a namespace with `affinity-extender.io/revisions: Own`.

A mark is found among labels, under a key that no label can have. That of a namespace is there
wherever annotations count, and empty if it has no such annotation.
"""
OWN: Final = "Own"
OF_SPECS: Final = " specs"
"""A mark of a namespace: what its pods say of revisions counts for the rules of specs as well."""
WORKLOAD: Final = " workload"
"""A mark of a pod: its namespace, and the kind and name of its workload, as names tell."""
REVISION: Final = " revision"
"""A mark of a pod: the value of the label that tells the revision of its workload's template."""
MARKS: Final = frozenset((REVISIONS, WORKLOAD, REVISION, OF_SPECS))

ROLLOUT_HASH: Final = "rollouts-pod-template-hash"
"""The label of Argo Rollouts."""
_REVISION_KEYS: Final = (TEMPLATE_HASH, ROLLOUT_HASH, "controller-revision-hash")
"""Others than Kubernetes use the third, for example Kruise."""


def marks_of(namespace: str, kind: str, name: str, labels: Labels, *, own: bool) -> Labels:
    """Return the marks of a pod that a controller has made.

    None where no label tells its revision: nothing is said of such a pod.
    """
    revision = next((labels[key] for key in _REVISION_KEYS if labels.get(key)), None)
    if revision is None:
        return NO_LABELS
    if kind == "ReplicaSet" and name.endswith(f"-{revision}"):
        kind, name = "Deployment", name.removesuffix(f"-{revision}")
    workload = f"{namespace}/{kind}/{name}"
    marks = {WORKLOAD: workload, REVISION: revision}
    return {**marks, REVISIONS: OWN} if own else marks


class OtherRevisions(Struct, frozen=True, gc=False):
    """Pods of one workload with another revision than one of its pods, to which a rule belongs."""

    workload: str
    revision: str
    own: bool
    """The owner of the rule has the annotation. Otherwise the other pod or the namespace need it:
    both pods of a pair are told apart alike, whichever of them came first."""
    of_spec: bool
    """The rule is in a spec, so that it only matters where that is ours to enforce."""

    @classmethod
    def than(cls, labels: Labels, *, of_spec: bool) -> OtherRevisions | None:
        """Return those that differ from a pod with these labels and marks, None without marks."""
        workload = labels.get(WORKLOAD)
        if workload is None:
            return None
        return cls(workload, labels[REVISION], REVISIONS in labels, of_spec)

    def has(self, namespace_labels: Labels, labels: Labels) -> bool:
        """Return whether a pod is one of them, and is not to count."""
        if labels.get(WORKLOAD) != self.workload or labels[REVISION] == self.revision:
            return False
        if self.of_spec and OF_SPECS not in namespace_labels:
            return False
        where = namespace_labels.get(REVISIONS)
        return where == OWN or (where is not None and (self.own or REVISIONS in labels))


def controller_by_name(identity: Identity, template_hash: str) -> Identity | None:
    """Return the workload that a controller's name tells of, where the controller is missing.

    `template_hash` is the label of a pod of a ReplicaSet.
    """
    namespace, kind, name = identity
    if kind == "ReplicaSet" and template_hash and name.endswith(f"-{template_hash}"):
        return Identity(namespace, "Deployment", name.removesuffix(f"-{template_hash}"))
    if kind == JOB and (run := _RUN_OF_CRON_JOB.fullmatch(name)):
        return Identity(namespace, "CronJob", run["name"])
    return None


@dataclass(frozen=True, slots=True)
class Owner:
    """The controller that made a pod, and would make another in its place."""

    kind: str
    name: str
    uid: str
    api_version: str = ""
    """As its pods have it; none of those that are made of a template."""
