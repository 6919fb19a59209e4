"""Workloads from files: the pods that their templates would make and that are not there yet."""

from __future__ import annotations

import dataclasses
from collections import Counter
from collections.abc import Collection, Iterator, Mapping
from typing import Annotated, Final

import msgspec

from extender.errors import ObjectError
from extender.model.keys import Key
from extender.model.labels import TEMPLATE_HASH
from extender.model.objects import Pod
from extender.model.workload import Identity, controller_by_name, revision_labels
from extender.wire.decoding import Json, decode
from extender.wire.manifests import NULL
from extender.wire.objects import TERMINAL_PHASES, PodReader

WORKLOADS: Final = frozenset(
    (
        "Deployment",
        "ReplicaSet",
        "StatefulSet",
        "DaemonSet",
        "ReplicationController",
        "Job",
        "CronJob",
    )
)
"""Kinds that have a template for pods."""

MOST_PODS: Final = 200_000
"""Pods made of templates, all together: more than the largest clusters have, little to hold."""

NEW_REVISION: Final = "new"
"""What the pods of a template have as their hash where none of them is there: no pod has it."""

_LONGEST_CHAIN: Final = 4
"""Controllers above a pod: ReplicaSet and Deployment, Job and CronJob, and some to spare."""

_Number = Annotated[int, msgspec.Meta(ge=0, lt=1 << 31)]


class _Owner(msgspec.Struct):
    kind: str
    name: str
    controller: bool | None = None


class _WorkloadMetadata(msgspec.Struct):
    name: str = ""
    generateName: str | None = None  # noqa: N815 - the API's spelling
    namespace: str | None = None
    labels: dict[str, str] | None = None
    ownerReferences: list[_Owner] | None = None  # noqa: N815 - the API's spelling

    @property
    def space(self) -> str:
        return self.namespace or "default"

    @property
    def controller(self) -> Identity | None:
        """Return what made this object, and would make another in its place."""
        for owner in self.ownerReferences or ():
            if owner.controller:
                return Identity(self.space, owner.kind, owner.name)
        return None


class _TemplateMetadata(msgspec.Struct):
    labels: msgspec.Raw = NULL
    annotations: msgspec.Raw = NULL


class _Template(msgspec.Struct):
    given: _TemplateMetadata | None = msgspec.field(default=None, name="metadata")
    spec: msgspec.Raw = NULL

    @property
    def metadata(self) -> _TemplateMetadata:
        """Return the metadata; a key without anything below it is null in YAML."""
        return self.given or _TemplateMetadata()


class _JobTemplate(msgspec.Struct):
    spec: _WorkloadSpec | None = None


class _WorkloadSpec(msgspec.Struct):
    template: _Template | None = None
    replicas: _Number | None = None
    parallelism: _Number | None = None
    completions: _Number | None = None
    suspend: bool | None = None
    jobTemplate: _JobTemplate | None = None  # noqa: N815 - the API's spelling
    volumeClaimTemplates: list[msgspec.Raw] | None = None  # noqa: N815 - the API's spelling


class _WorkloadStatus(msgspec.Struct):
    desiredNumberScheduled: _Number | None = None  # noqa: N815 - the API's spelling
    succeeded: _Number | None = None
    completionTime: str | None = None  # noqa: N815 - the API's spelling


class _WorkloadManifest(msgspec.Struct):
    metadata: _WorkloadMetadata
    spec: _WorkloadSpec | None = None
    status: _WorkloadStatus | None = None


class _PodPhase(msgspec.Struct):
    phase: str | None = None


class _OwnedPod(msgspec.Struct):
    metadata: _WorkloadMetadata
    status: _PodPhase | None = None


_MANIFEST = msgspec.json.Decoder(_WorkloadManifest)
_OWNED_POD = msgspec.json.Decoder(_OwnedPod)
_FIELDS = msgspec.json.Decoder(dict[str, msgspec.Raw] | None)
_RAWS = msgspec.json.Decoder(list[msgspec.Raw] | None)
_CLAIMED: Final = msgspec.Raw(b'{"persistentVolumeClaim":{}}')
_LABELS = msgspec.json.Decoder(dict[str, str] | None)


class Workloads:
    """Collects workloads and who owns the pods; tells which pods are still to come.

    Objects come in any order. A workload whose controller is here as well (the ReplicaSet of a
    Deployment) counts as part of it; so does one that is missing between a pod and its workload,
    where names tell: dumps often have Deployments and pods and no ReplicaSets.
    """

    def __init__(self) -> None:
        self._manifests: dict[Identity, _WorkloadManifest] = {}
        self.raw: dict[Identity, Json] = {}
        """The manifests as they came."""
        self._owned: Counter[tuple[Identity, str]] = Counter()
        """Live pods by their controller and the hash of their template."""

    def add(self, kind: str, raw: Json) -> None:
        """Take a workload; ObjectError names the field that is broken."""
        manifest = decode(_MANIFEST, raw)
        metadata = manifest.metadata
        name = metadata.name or metadata.generateName
        if not name:
            raise ObjectError("metadata.name", "a workload needs a name")
        # Those with the same generateName are different ones.
        name = name if metadata.name else f"{name}{len(self._manifests)}"
        identity = Identity(metadata.space, kind, name)
        self._manifests[identity] = manifest
        self.raw[identity] = raw

    def add_pod(self, raw: Json) -> None:
        """Take a pod, which stands for one replica of its controller."""
        pod = decode(_OWNED_POD, raw)
        ended = pod.status is not None and pod.status.phase in TERMINAL_PHASES
        controller = pod.metadata.controller
        if controller is not None and not ended:
            self._owned[controller, (pod.metadata.labels or {}).get(TEMPLATE_HASH, "")] += 1

    def missing_pods(self, pods: PodReader, nodes: int) -> Iterator[Pod]:
        """Yield the pods that templates would make beside those that there are.

        They are called namespace/kind/name[index]. A DaemonSet has one for each of the nodes
        where nothing says how many it wants. ObjectError names the workload that is broken.
        """
        there: Counter[Identity] = Counter()
        revisions: dict[Identity, set[str]] = {}
        for (controller, template_hash), number in self._owned.items():
            top = self._top(controller, template_hash)
            there[top] += number
            revisions.setdefault(top, set()).add(template_hash)
        made = 0
        for identity, manifest in self._manifests.items():
            if self._top(identity, "") != identity:
                continue
            wanted = _wanted(identity.kind, manifest, nodes) - there[identity]
            made += max(0, wanted)
            where = f"{identity.kind} {identity.namespace}/{identity.name}"
            if made > MOST_PODS:
                raise ObjectError(where, f"its pods and those before are more than {MOST_PODS}")
            if wanted > 0:
                labels = _revision_labels(identity.kind, revisions.get(identity, set()))
                first = _read_template(identity, manifest, pods, where, labels)
                yield from _numbered(first, wanted)

    def _top(self, identity: Identity, template_hash: str) -> Identity:
        """Return the workload that counts for one; itself when it has no controller here."""
        for _ in range(_LONGEST_CHAIN):
            above = self._above(identity, template_hash)
            if above not in self._manifests:
                break
            identity = above
        return identity

    def _above(self, identity: Identity, template_hash: str) -> Identity | None:
        manifest = self._manifests.get(identity)
        if manifest is not None:
            return manifest.metadata.controller
        return controller_by_name(identity, template_hash)


def _wanted(kind: str, manifest: _WorkloadManifest, nodes: int) -> int:
    """Return how many pods a workload would have; of a CronJob, those of one run."""
    spec, status = manifest.spec or _WorkloadSpec(), manifest.status or _WorkloadStatus()
    match kind:
        case "DaemonSet":
            wanted = status.desiredNumberScheduled
            return max(1, nodes) if wanted is None else wanted
        case "Job":
            return 0 if status.completionTime else _of_run(spec, status.succeeded or 0)
        case "CronJob":
            job = spec.jobTemplate.spec if spec.jobTemplate else None
            return 0 if spec.suspend or job is None else _of_run(job, 0)
        case _:
            return 1 if spec.replicas is None else spec.replicas


def _of_run(job: _WorkloadSpec, succeeded: int) -> int:
    if job.suspend:
        return 0
    parallel = 1 if job.parallelism is None else job.parallelism
    return parallel if job.completions is None else min(parallel, job.completions - succeeded)


def _revision_labels(kind: str, there: Collection[str]) -> dict[str, str]:
    """Return what tells the pods that are missing from those of other revisions, by their labels.

    They are of the revision of those that are there; where these are of several, or their labels do
    not tell, nobody knows of which.
    """
    if not there:
        return revision_labels(kind, NEW_REVISION)
    (first, *more) = there
    return {TEMPLATE_HASH: first} if kind == "Deployment" and first and not more else {}


def _numbered(first: Pod, number: int) -> Iterator[Pod]:
    for index in range(number):
        key = Key(f"{first.key}[{index}]")
        yield dataclasses.replace(first, key=key, uid=key)


def read_template(
    kind: str, raw: Json, pods: PodReader, labels: Mapping[str, str] | None = None
) -> Pod:
    """Read the pod that a workload's template would make; it is called namespace/kind/name.

    It has the given labels besides its own, as controllers add some.
    """
    manifest = decode(_MANIFEST, raw)
    identity = _identity(kind, manifest)
    where = f"{kind} {identity.namespace}/{identity.name}"
    return _read_template(identity, manifest, pods, where, labels)


def read_identity(kind: str, raw: Json) -> Identity:
    """Read which workload a manifest is of."""
    return _identity(kind, decode(_MANIFEST, raw))


def read_wanted(kind: str, raw: Json, nodes: int) -> int:
    """Read how many pods a workload would have; a DaemonSet one on each of the nodes."""
    return max(0, _wanted(kind, decode(_MANIFEST, raw), nodes))


def _identity(kind: str, manifest: _WorkloadManifest) -> Identity:
    metadata = manifest.metadata
    return Identity(metadata.space, kind, metadata.name or metadata.generateName or "")


def _template(manifest: _WorkloadManifest) -> _Template:
    spec = manifest.spec or _WorkloadSpec()
    if spec.jobTemplate is not None:
        spec = spec.jobTemplate.spec or _WorkloadSpec()
    return spec.template or _Template()


def _read_template(
    identity: Identity,
    manifest: _WorkloadManifest,
    pods: PodReader,
    where: str,
    more_labels: Mapping[str, str] | None = None,
) -> Pod:
    template = _template(manifest)
    name = f"{identity.kind.lower()}/{identity.name}"
    labels: object = template.metadata.labels
    if more_labels:
        try:
            labels = (decode(_LABELS, template.metadata.labels) or {}) | dict(more_labels)
        except ObjectError as error:
            path = f"{where}: template.metadata.labels{error.path}"
            raise ObjectError(path, error.message) from error
    metadata = {
        "name": name,
        "namespace": identity.namespace,
        "labels": labels,
        "annotations": template.metadata.annotations,
        "ownerReferences": [{"kind": identity.kind, "name": identity.name, "controller": True}],
    }
    empty = bytes(template.spec) == bytes(NULL)
    pod = {"metadata": metadata, "spec": {} if empty else template.spec}
    try:
        if manifest.spec is not None and manifest.spec.volumeClaimTemplates:
            # Its controller adds a volume for each of them.
            spec = decode(_FIELDS, template.spec, "spec") or {}
            volumes = decode(_RAWS, spec.get("volumes", NULL), "spec.volumes") or []
            pod["spec"] = spec | {"volumes": [*volumes, _CLAIMED]}
        return pods.read(msgspec.json.encode(pod))
    except ObjectError as error:
        raise ObjectError(f"{where}: template.{error.path}", error.message) from error
