"""Manifests as their controllers would carry them out: which pods they make, and how many."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import Final

import msgspec
from msgspec import structs

from affinityctl.commands.simulate.whatif.deletion_order import PHASES, Life
from affinityctl.commands.simulate.whatif.successors import KnownWorkload, as_made, named_to
from affinityctl.reading.strategies import PARALLEL
from affinityctl.reading.whole_pods import WholePodReader
from affinityctl.reading.workloads import MOST_PODS, wanted
from affinityctl.scheduler.volumes.pod_volumes import read_pod_volumes
from extender.core.errors import ObjectError
from extender.core.model.keys import Key, key_of
from extender.core.model.node_resources import Requirements
from extender.core.model.objects import Pod
from extender.core.model.workload import DAEMON_SET, JOB, STATEFUL_SET, Identity, revision_labels
from extender.core.wire.affinity import EVERY_GATE_ON, Gates
from extender.core.wire.decoding import Json, Moment, decode
from extender.core.wire.manifests import PodAnnotations, PodSpec
from extender.core.wire.objects import GenerateName, PodReader
from extender.core.wire.placement import DISRUPTION_TARGET, RequirementsReader
from extender.diagnosis.wire.workloads import Workload, WorkloadSpec, read_workload

POD: Final = "Pod"
ROLLING: Final = frozenset(("Deployment", STATEFUL_SET, DAEMON_SET))
"""Kinds that replace their pods when their template changes."""
SCALABLE: Final = frozenset(("Deployment", "ReplicaSet", "ReplicationController", STATEFUL_SET))
"""Kinds whose number of pods `kubectl scale` sets."""


@dataclass(frozen=True, slots=True)
class Applied:
    """A pod, or a workload with its template."""

    identity: Identity
    pod: Pod
    """What its template makes."""
    wanted: int
    start: int = 0
    """Of a StatefulSet: the ordinal of its first pod."""

    def make(self, number: int) -> Pod:
        """Make one of its pods, by its number from 0 on.

        A StatefulSet gives names; those of other kinds are drawn at random in a cluster, so here
        they are what tells best.
        """
        namespace, kind, name = self.identity
        if kind == STATEFUL_SET:
            key = key_of(namespace, f"{name}-{self.start + number}")
        elif kind == POD and not number:
            key = self.pod.key
        else:
            key = key_of(namespace, f"{name}-new-{number + (kind != POD)}")
        return structs.replace(self.pod, key=key, uid=f"{key}, new")


def known_of(workload: Workload) -> KnownWorkload:
    spec, kind = workload.spec, workload.identity.kind
    counted = kind not in {DAEMON_SET, JOB, "CronJob"}
    return KnownWorkload(
        workload.template_labels.keys(),
        wanted(workload, 0) if counted else None,
        workload.start,
        in_order=spec.podManagementPolicy != PARALLEL,
        keeps_claims=workload.keeps_claims,
        node=workload.template_node,
        tries_again=not _ends_with_a_pod(workload.run or spec, workload.status.failed or 0),
    )


class _Pattern(msgspec.Struct):
    type: str = ""
    status: str = "True"


class _Rule(msgspec.Struct, rename="camel"):
    action: str = ""
    on_pod_conditions: list[_Pattern] | None = None

    @property
    def is_about_disruptions(self) -> bool:
        """Return whether it matches what evictions and lost nodes do to a pod."""
        patterns = self.on_pod_conditions or ()
        return any(each == _Pattern(DISRUPTION_TARGET) for each in patterns)


class _Policy(msgspec.Struct):
    rules: list[_Rule] | None = None


_POLICY = msgspec.json.Decoder(_Policy | None)
_BACKOFF_LIMIT: Final = 6
"""By default, how many pods of a Job may fail before it does."""


def _ends_with_a_pod(job: WorkloadSpec, failed: int) -> bool:
    """Return whether a Job, or an index of it, fails with the next pod that is evicted or lost.

    The first rule of its policy that matches decides (matchPodFailurePolicy); of rules about exit
    codes it is not known whether they do.
    """
    policy = decode(_POLICY, job.podFailurePolicy, "spec.podFailurePolicy") or _Policy()
    found = (each.action for each in policy.rules or () if each.is_about_disruptions)
    action = next(found, "Count")
    if action != "Count":
        return action != "Ignore"
    if job.backoffLimitPerIndex is not None and job.backoffLimit is None:
        return job.backoffLimitPerIndex == 0
    limit = _BACKOFF_LIMIT if job.backoffLimit is None else job.backoffLimit
    return job.backoffLimitPerIndex == 0 or failed >= limit


class _Condition(msgspec.Struct, rename="camel"):
    type: str = ""
    status: str = ""
    last_transition_time: Moment | None = None


class _Container(msgspec.Struct, rename="camel"):
    name: str = ""
    restart_policy: str | None = None
    restart_count: int = 0

    @property
    def is_sidecar(self) -> bool:
        return self.restart_policy == "Always"


class _Spec(msgspec.Struct, rename="camel"):
    volumes: list[dict[str, msgspec.Raw]] | None = None
    init_containers: list[_Container] | None = None


class _Status(msgspec.Struct, rename="camel"):
    phase: str | None = None
    conditions: list[_Condition] | None = None
    container_statuses: list[_Container] | None = None
    init_container_statuses: list[_Container] | None = None

    @property
    def ready(self) -> _Condition | None:
        return next((each for each in self.conditions or () if each.type == "Ready"), None)


class _Metadata(msgspec.Struct, rename="camel"):
    creation_timestamp: Moment | None = None


class _Further(msgspec.Struct):
    """What only a simulation reads of a pod."""

    metadata: _Metadata | None = None
    spec: _Spec | None = None
    status: _Status | None = None

    @property
    def life(self) -> Life:
        """Return what a pod with a node has come to."""
        status = self.status or _Status()
        spec, ready = self.spec or _Spec(), status.ready
        sidecars = {each.name for each in spec.init_containers or () if each.is_sidecar}
        started = (each for each in status.init_container_statuses or () if each.name in sidecars)
        return Life(
            PHASES.get(status.phase or _RUNNING, 0),
            _seconds(None if ready is None else ready.last_transition_time),
            (_most_restarts(status.container_statuses or ()), _most_restarts(started)),
            _seconds(None if self.metadata is None else self.metadata.creation_timestamp),
        )


_FURTHER = msgspec.json.Decoder(_Further)
_RUNNING: Final = "Running"
_PENDING: Final = "Pending"
_EMPTY_DIR: Final = "emptyDir"


class _AsOfTheDefault(RequirementsReader):
    """Reads pods of some other schedulers as if they asked for the default one."""

    def __init__(self, schedulers: Collection[str]) -> None:
        super().__init__(read_pod_volumes)
        self._schedulers = schedulers

    def read(self, spec: PodSpec, annotations: PodAnnotations | None) -> Requirements:
        if spec.schedulerName in self._schedulers:
            spec = msgspec.structs.replace(spec, schedulerName=None)
        return super().read(spec, annotations)


class SimulationReader(WholePodReader):
    """Reads pods with all that a simulation looks at."""

    def __init__(
        self, gates: Gates = EVERY_GATE_ON, schedulers: Collection[str] = (), *, lives: bool = True
    ) -> None:
        """`schedulers` are other ones that go by the same rules.

        Without `lives`, pods are deleted by chance.
        """
        super().__init__(gates)
        self._reads_lives = lives
        self._requirements = _AsOfTheDefault(schedulers)
        self.scratch: set[Key] = set()
        """The pods with an emptyDir."""
        self.lives: dict[str, Life] = {}
        """What pods with a node and an owner have come to, by uid."""

    def read(self, raw: Json, generate: GenerateName | None = None) -> Pod:
        pod = super().read(raw, generate)
        further = decode(_FURTHER, raw)
        spec, status = further.spec or _Spec(), further.status or _Status()
        if any(_EMPTY_DIR in each for each in spec.volumes or ()):
            self.scratch.add(pod.key)
        if pod.node is None:
            return pod
        if self._reads_lives and pod.spec.owner is not None:
            self.lives[pod.uid] = further.life
        starting, condition = status.phase == _PENDING, status.ready
        # Each pod that a kubelet runs has the condition; manifests, and older dumps, have none.
        ready = not starting if condition is None else condition.status == "True"
        return pod.with_status(ready=ready, starting=starting)


def _seconds(moment: datetime | None) -> float:
    return 0.0 if moment is None else moment.timestamp()


def _most_restarts(containers: Iterable[_Container]) -> int:
    return max((each.restart_count for each in containers), default=0)


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
    if pod.node is not None:
        pod = named_to(pod, pod.node)
    pods_wanted = max(0, wanted(workload, nodes))
    if pods_wanted > MOST_PODS:
        raise ObjectError(str(workload), f"its {pods_wanted} pods are more than {MOST_PODS}")
    return Applied(workload.identity, pod, pods_wanted, workload.start)


def as_applied(identity: Identity, pod: Pod, wanted: int, start: int = 0) -> Applied:
    """Return a workload that makes pods like this one."""
    return Applied(identity, as_made(pod), wanted, start)
