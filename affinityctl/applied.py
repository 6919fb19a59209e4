"""Manifests as their controllers would carry them out: how many pods, of which template."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final

from affinityctl.workloads import wanted
from extender.errors import ObjectError
from extender.model.keys import Key, key_of
from extender.model.objects import Pod
from extender.model.workload import DAEMON_SET, STATEFUL_SET, Identity, revision_labels
from extender.wire.affinity import EVERY_GATE_ON, Gates
from extender.wire.decoding import Json
from extender.wire.objects import GenerateName, PodReader
from extender.wire.workloads import Workload, read_workload

POD: Final = "Pod"
ROLLING: Final = frozenset(("Deployment", STATEFUL_SET, DAEMON_SET))
"""Kinds that replace their pods when their template changes."""


@dataclass(frozen=True, slots=True)
class Applied:
    """A pod, or a workload with its template."""

    identity: Identity
    pod: Pod
    """What its template makes."""
    wanted: int

    def make(self, number: int) -> Pod:
        """Make one of its pods, by its number from 0 on.

        A StatefulSet gives names; those of other kinds are drawn at random in a cluster, so here
        they are what tells best.
        """
        namespace, kind, name = self.identity
        if kind == STATEFUL_SET:
            key = key_of(namespace, f"{name}-{number}")
        elif kind == POD and not number:
            key = self.pod.key
        else:
            key = key_of(namespace, f"{name}-new-{number + (kind != POD)}")
        return replace(self.pod, key=key, uid=f"{key}, new")


class NotingReader(PodReader):
    """Reads pods, and notes what those without an end ask beyond what is read."""

    def __init__(self, gates: Gates = EVERY_GATE_ON) -> None:
        super().__init__(gates, charges=True, node_affinity=True, owners=True, requirements=True)
        self.beyond: dict[str, list[Key]] = {}
        """The pods by the field that is not looked at."""

    def read(self, raw: Json, generate: GenerateName | None = None) -> Pod:
        """Read a v1.Pod; ObjectError names the field that is broken."""
        pod = super().read(raw, generate)
        if not pod.terminal:
            for field in pod.requirements.unmodelled:
                self.beyond.setdefault(field, []).append(pod.key)
            if pod.group is not None:
                self.beyond.setdefault("schedulingGroup", []).append(pod.key)
        return pod


def read_applied(kind: str, raw: Json, pods: PodReader, nodes: int, revision: str) -> Applied:
    """Read a manifest; ObjectError names the field that is broken."""
    if kind == POD:
        pod = pods.read(raw, lambda _, prefix: f"{prefix}new")
        if pod.node is not None:
            raise ObjectError("spec.nodeName", "the pod has a node already")
        namespace, _, name = pod.key.partition("/")
        return Applied(Identity(namespace, kind, name), pod, 1)
    return apply(read_workload(kind, raw), pods, nodes, revision)


def apply(workload: Workload, pods: PodReader, nodes: int, revision: str) -> Applied:
    """Return what a workload makes; ObjectError names the field of its template that is broken.

    `revision` tells the pods of this version of a template from those of others, in the labels
    that controllers have for that.
    """
    pod = workload.make_pod(pods, revision_labels(workload.identity.kind, revision))
    return Applied(workload.identity, pod, max(0, wanted(workload, nodes)))


def as_applied(identity: Identity, pod: Pod, wanted: int) -> Applied:
    """Return a workload that nothing is known of but one of its pods."""
    pod = replace(pod, node=None, deleting=False, preempted=False, victim_of=None, started=None)
    return Applied(identity, pod, wanted)
