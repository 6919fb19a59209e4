"""Workloads of files: the pods that their templates would make and that are not there yet."""

from __future__ import annotations

import dataclasses
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping
from itertools import count, islice
from typing import Any, ClassVar, Final

import msgspec

from affinityctl.reading.priorities import priority_classes
from affinityctl.reading.whole_pods import WholePodReader
from affinityctl.scheduler.default_spread.selectors import Selectors, is_selector_alone
from affinityctl.scheduler.volumes.ledger import CLAIM, VOLUME, ledger_of
from affinityctl.scheduler.volumes.manifests import read_claim, read_volume
from affinityctl.scheduler.volumes.resources import VOLUME_RESOURCES
from extender.core.cluster.state import ClusterState
from extender.core.errors import ObjectError
from extender.core.model.keys import Key, key_of
from extender.core.model.labels import TEMPLATE_HASH
from extender.core.model.objects import Namespace, Pod
from extender.core.model.workload import (
    STATEFUL_SET,
    Identity,
    controller_by_name,
    revision_labels,
)
from extender.core.offline import ClusterFileError, ClusterFiles
from extender.core.resources import NAMESPACES, NODES, PODS, WatchedResource
from extender.core.wire.decoding import Json, decode
from extender.core.wire.objects import TERMINAL_PHASES, PodReader, read_namespace
from extender.diagnosis.wire.workloads import (
    NEW_REVISION,
    WORKLOADS,
    OwnedMetadata,
    Workload,
    WorkloadSpec,
    read_workload,
)

MOST_PODS: Final = 200_000
"""Pods made of templates, all together: more than the largest clusters have, little to hold."""

SHORT_NAMES: Final[Mapping[str, str]] = {
    **dict.fromkeys(("deployment", "deployments", "deploy"), "Deployment"),
    **dict.fromkeys(("statefulset", "statefulsets", "sts"), "StatefulSet"),
    **dict.fromkeys(("daemonset", "daemonsets", "ds"), "DaemonSet"),
    **dict.fromkeys(("replicaset", "replicasets", "rs"), "ReplicaSet"),
    **dict.fromkeys(
        ("replicationcontroller", "replicationcontrollers", "rc"), "ReplicationController"
    ),
    **dict.fromkeys(("job", "jobs"), "Job"),
    **dict.fromkeys(("cronjob", "cronjobs", "cj"), "CronJob"),
}
"""Kinds as kubectl takes them."""

_LONGEST_CHAIN: Final = 4
"""Controllers above a pod: ReplicaSet and Deployment, Job and CronJob, and some to spare."""


class _PodPhase(msgspec.Struct):
    phase: str | None = None


class OwnedPod(msgspec.Struct):
    metadata: OwnedMetadata
    status: _PodPhase | None = None


_OWNED_POD = msgspec.json.Decoder(OwnedPod)


class Workloads:
    """Collects workloads and who owns the pods; tells which pods are still to come.

    Objects come in any order. A workload whose controller is here as well (the ReplicaSet of a
    Deployment) counts as part of it; so does one that is missing between a pod and its workload,
    where names tell: dumps often have Deployments and pods and no ReplicaSets.
    """

    def __init__(self) -> None:
        self.found: dict[Identity, Workload] = {}
        self._owned: Counter[tuple[Identity, str]] = Counter()
        """Live pods by their controller and the hash of their template."""
        self._ordinals: dict[Identity, set[str]] = {}
        """What the names of live pods end in, by their controller."""

    def add(self, kind: str, raw: Json) -> None:
        """Take a workload; ObjectError names the field that is broken."""
        workload = read_workload(kind, raw)
        if is_selector_alone(kind, workload.spec.template):
            return
        identity = workload.identity
        if not identity.name:
            raise ObjectError("metadata.name", "a workload needs a name")
        if not workload.metadata.name:
            # Those with the same generateName are different ones.
            identity = identity._replace(name=f"{identity.name}{len(self.found)}")
            workload = dataclasses.replace(workload, identity=identity)
        self.found[identity] = workload

    def add_pod(self, raw: Json) -> None:
        """Take a pod, which stands for one replica of its controller."""
        pod = decode(_OWNED_POD, raw)
        ended = pod.status is not None and pod.status.phase in TERMINAL_PHASES
        controller = pod.metadata.controller
        if controller is not None and not ended:
            self._owned[controller, (pod.metadata.labels or {}).get(TEMPLATE_HASH, "")] += 1
            if controller.kind == STATEFUL_SET:
                number = pod.metadata.name.rpartition("-")[2]
                self._ordinals.setdefault(controller, set()).add(number)

    def missing_pods(self, pods: PodReader, nodes: int) -> Iterator[Pod]:
        """Yield the pods that templates would make beside those that there are.

        They are called namespace/kind/name[index], those of a StatefulSet as it will call them. A
        DaemonSet has one for each of the nodes where nothing says how many it wants. ObjectError
        names the workload that is broken.
        """
        there: Counter[Identity] = Counter()
        revisions: dict[Identity, set[str]] = {}
        for (controller, template_hash), number in self._owned.items():
            top = self._top(controller, template_hash)
            there[top] += number
            revisions.setdefault(top, set()).add(template_hash)
        made = 0
        for identity, workload in self.found.items():
            if self._top(identity, "") != identity or workload.has_run:
                continue
            missing = wanted(workload, nodes) - there[identity]
            made += max(0, missing)
            if made > MOST_PODS:
                raise ObjectError(
                    str(workload), f"its pods and those before are more than {MOST_PODS}"
                )
            if missing > 0:
                labels = _revision_labels(identity.kind, revisions.get(identity, set()))
                numbers = self._free_numbers(workload)
                first = workload.make_pod(pods, labels).with_status(said=workload.said)
                yield from _numbered(identity, first, islice(numbers, missing))

    def _free_numbers(self, workload: Workload) -> Iterator[int]:
        taken = self._ordinals.get(workload.identity, ())
        return (number for number in count(workload.start) if str(number) not in taken)

    def _top(self, identity: Identity, template_hash: str) -> Identity:
        """Return the workload that counts for one; itself when it has no controller here."""
        for _ in range(_LONGEST_CHAIN):
            above = self._above(identity, template_hash)
            if above not in self.found:
                break
            identity = above
        return identity

    def _above(self, identity: Identity, template_hash: str) -> Identity | None:
        workload = self.found.get(identity)
        if workload is not None:
            return workload.metadata.controller
        return controller_by_name(identity, template_hash)


def wanted(workload: Workload, nodes: int) -> int:
    """Return how many pods a workload would have; of a CronJob, those of one run.

    A DaemonSet has one on each of the nodes, and a Job fewer than none where too many succeeded.
    """
    spec, status = workload.spec, workload.status
    match workload.identity.kind:
        case "DaemonSet":
            number = status.desiredNumberScheduled
            return max(1, nodes) if number is None else number
        case "Job":
            return 0 if status.completionTime else _of_run(spec, status.succeeded or 0)
        case "CronJob":
            run = workload.run
            return 0 if spec.suspend or run is None else _of_run(run, 0)
        case _:
            return 1 if spec.replicas is None else spec.replicas


def _of_run(job: WorkloadSpec, succeeded: int) -> int:
    if job.suspend:
        return 0
    parallel = 1 if job.parallelism is None else job.parallelism
    if job.completions is None:
        # With a first success it starts no more, and waits for those that there are.
        return 0 if succeeded else parallel
    return min(parallel, job.completions - succeeded)


def _revision_labels(kind: str, there: Collection[str]) -> dict[str, str]:
    """Return what tells the pods that are missing from those of other revisions, by their labels.

    They are of the revision of those that are there; where these are of several, or their labels do
    not tell, nobody knows of which.
    """
    if not there:
        return revision_labels(kind, NEW_REVISION)
    (first, *more) = there
    return {TEMPLATE_HASH: first} if kind == "Deployment" and first and not more else {}


def _numbered(of: Identity, first: Pod, numbers: Iterable[int]) -> Iterator[Pod]:
    """Yield pods; their uids end with a number in brackets, as no other does."""
    for index in numbers:
        uid = key = Key(f"{first.key}[{index}]")
        if of.kind == STATEFUL_SET:
            key = key_of(of.namespace, f"{of.name}-{index}")
        yield msgspec.structs.replace(first, key=key, uid=uid)


class WorkloadFiles(ClusterFiles):
    """Reads files into one state, where workloads count with the pods that they would make."""

    needs: ClassVar = (*ClusterFiles.needs, *WORKLOADS)
    wanted: ClassVar = "node, pod or workload"

    def __init__(
        self,
        state: ClusterState,
        pods: PodReader,
        selectors: Selectors | None = None,
        further: Iterable[WatchedResource[Any]] = (),
    ) -> None:
        volumes = VOLUME_RESOURCES if pods.read_volumes else ()
        self._priorities = pods.priorities if isinstance(pods, WholePodReader) else None
        classes = () if self._priorities is None else (priority_classes(self._priorities),)
        super().__init__(state, pods, (*volumes, *classes, *further))
        self.workloads = Workloads()
        self.selectors = selectors or Selectors()

    def _admit(self) -> None:
        """Give the pods that came before their PriorityClass a priority."""
        if self._priorities is None:
            return
        for pod in list(self.state.pods.values()):
            admitted = self._priorities.admitted(pod)
            if admitted is not pod:
                self.state.upsert_pod(admitted)

    def put(self, kind: str, raw: msgspec.Raw) -> bool:
        selects = self.selectors.take(kind, raw)
        if kind in WORKLOADS:
            self.workloads.add(kind, raw)
            return True
        known = super().put(kind, raw) or selects
        if isinstance(self.pods, WholePodReader):
            known |= self.pods.runtimes.take(kind, raw) or self.pods.limits.take(kind, raw)
        if kind == "Pod":
            self.workloads.add_pod(raw)
        return known

    def apply(self, kind: str, raw: msgspec.Raw) -> bool:
        """Put an object of a manifest into the state, as an API server would have it afterwards.

        Return whether that was done. Pods and workloads are placed in other ways; of these, it is
        noted which pods they select. Nodes do not come by manifests.
        """
        if kind in {PODS.kind, NODES.kind, *WORKLOADS}:
            self.selectors.take(kind, raw)
            return False
        if kind == NAMESPACES.kind:
            # Labels that others have given it stay.
            name, labels = (new := read_namespace(raw)).name, new.labels
            self.state.upsert_namespace(
                Namespace(name, {**self.state.namespace_labels(name), **labels})
            )
        elif kind == CLAIM:
            ledger_of(self.state).apply_claim(read_claim(raw))
        elif kind == VOLUME:
            ledger_of(self.state).apply_volume(read_volume(raw))
        else:
            return self.put(kind, raw)
        return True

    def finish(self) -> None:
        """Add the pods of workloads, once all files are there; ClusterFileError without pods."""
        super().finish()
        self.selectors.known |= self.found.keys()
        if self.pods.read_volumes:
            ledger_of(self.state).files_read(self.found)
        self._admit()
        try:
            for pod in self.workloads.missing_pods(self.pods, len(self.state.nodes)):
                self.state.upsert_pod(pod)
        except ObjectError as error:
            raise ClusterFileError(str(error)) from error
