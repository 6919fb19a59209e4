"""Workloads: what a manifest says of the pods that it makes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Final

import msgspec

from extender.core.errors import ObjectError
from extender.core.model.objects import Pod, Said
from extender.core.model.workload import DAEMON_SET, Identity
from extender.core.wire.decoding import Json, decode
from extender.core.wire.manifests import NULL
from extender.core.wire.objects import PodReader
from extender.core.wire.placement import OwnerReference, controller_said

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

_JOBS: Final = frozenset(("Job", "CronJob"))


def _tolerated(condition: str, effect: str) -> dict[str, str]:
    return {"key": f"node.kubernetes.io/{condition}", "operator": "Exists", "effect": effect}


_NO_EXECUTE: Final = ("not-ready", "unreachable")
_NO_SCHEDULE: Final = ("disk-pressure", "memory-pressure", "pid-pressure", "unschedulable")
_OF_DAEMONS: Final = (
    *(_tolerated(each, "NoExecute") for each in _NO_EXECUTE),
    *(_tolerated(each, "NoSchedule") for each in _NO_SCHEDULE),
)
"""The tolerations that the DaemonSet controller adds to its pods."""
_NO_NETWORK: Final = _tolerated("network-unavailable", "NoSchedule")
"""The same for those in the network of their node."""

NEW_REVISION: Final = "new"
"""What the pods of a template have as their hash where none of them is there: no pod has it."""

_Number = Annotated[int, msgspec.Meta(ge=0, lt=1 << 31)]


class OwnedMetadata(msgspec.Struct):
    name: str = ""
    generateName: str | None = None
    namespace: str | None = None
    labels: dict[str, str] | None = None
    ownerReferences: list[OwnerReference] | None = None
    resourceVersion: str | None = None

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
    spec: WorkloadSpec | None = None


class _Ordinals(msgspec.Struct):
    start: _Number = 0


class _Retention(msgspec.Struct):
    whenScaled: str | None = None


class WorkloadSpec(msgspec.Struct):
    """How many pods there are to be, of which template, and how they are replaced."""

    template: _Template | None = None
    replicas: _Number | None = None
    parallelism: _Number | None = None
    completions: _Number | None = None
    suspend: bool | None = None
    backoffLimit: _Number | None = None
    backoffLimitPerIndex: _Number | None = None
    podFailurePolicy: msgspec.Raw = NULL
    paused: bool | None = None
    strategy: msgspec.Raw = NULL
    updateStrategy: msgspec.Raw = NULL
    jobTemplate: _JobTemplate | None = None
    volumeClaimTemplates: list[msgspec.Raw] | None = None
    podManagementPolicy: str | None = None
    ordinals: _Ordinals | None = None
    persistentVolumeClaimRetentionPolicy: _Retention | None = None


class WorkloadStatus(msgspec.Struct):
    desiredNumberScheduled: _Number | None = None
    succeeded: _Number | None = None
    failed: _Number | None = None
    completionTime: str | None = None
    updateRevision: str | None = None
    conditions: msgspec.Raw = NULL


class WorkloadManifest(msgspec.Struct):
    """Any of the kinds; what one lacks stays unset."""

    metadata: OwnedMetadata
    spec: WorkloadSpec | None = None
    status: WorkloadStatus | None = None


_MANIFEST = msgspec.json.Decoder(WorkloadManifest)
_FIELDS = msgspec.json.Decoder(dict[str, msgspec.Raw] | None)
_RAWS = msgspec.json.Decoder(list[msgspec.Raw] | None)
_LABELS = msgspec.json.Decoder(dict[str, str] | None)
_TEXT = msgspec.json.Decoder(str | None)
_FLAG = msgspec.json.Decoder(bool | None)


@dataclass(frozen=True, slots=True)
class Workload:
    identity: Identity
    metadata: OwnedMetadata
    spec: WorkloadSpec
    status: WorkloadStatus

    @property
    def run(self) -> WorkloadSpec | None:
        """Return what a CronJob starts."""
        return None if self.spec.jobTemplate is None else self.spec.jobTemplate.spec

    @property
    def is_suspended(self) -> bool:
        """Return whether a Job makes no pods, or a CronJob starts none that does."""
        return bool(self.spec.suspend or (self.run is not None and self.run.suspend))

    @property
    def start(self) -> int:
        """Return the ordinal of the first pod of a StatefulSet."""
        return 0 if self.spec.ordinals is None else self.spec.ordinals.start

    @property
    def keeps_claims(self) -> bool:
        """Return whether a StatefulSet that is scaled down leaves the claims of its pods."""
        retention = self.spec.persistentVolumeClaimRetentionPolicy
        return retention is None or retention.whenScaled != "Delete"

    @property
    def said(self) -> Said | None:
        """Return why its controller could not make the pods that are not there, if it says so."""
        return controller_said(bytes(self.status.conditions))

    @property
    def template_labels(self) -> Mapping[str, str]:
        return decode(_LABELS, self._template.metadata.labels, "metadata.labels") or {}

    @property
    def template_node(self) -> str | None:
        """Return the node that the template names, so that no scheduler is asked."""
        spec = decode(_FIELDS, self._template.spec, "spec") or {}
        return decode(_TEXT, spec.get("nodeName", NULL), "spec.nodeName") or None

    @property
    def has_run(self) -> bool:
        """Return whether it is a Job or CronJob of a cluster: its pods are those that there are."""
        return self.metadata.resourceVersion is not None and self.identity.kind in _JOBS

    def __str__(self) -> str:
        namespace, kind, name = self.identity
        return f"{kind} {namespace}/{name}"

    def make_pod(self, pods: PodReader, labels: Mapping[str, str] | None = None) -> Pod:
        """Read the pod that the template would make; it is called namespace/kind/name.

        It has the given labels besides its own, as controllers add some. ObjectError names the
        field that is broken.
        """
        try:
            return pods.read(msgspec.json.encode(self._pod(labels)))
        except ObjectError as error:
            raise ObjectError(f"{self}: template.{error.path}", error.message) from error

    def _pod(self, labels: Mapping[str, str] | None) -> Mapping[str, object]:
        template = self._template
        own: object = template.metadata.labels
        if labels:
            own = {**self.template_labels, **labels}
        _, kind, name = self.identity
        metadata = {
            "name": f"{kind.lower()}/{name}",
            "namespace": self.identity.namespace,
            "labels": own,
            "annotations": template.metadata.annotations,
            "ownerReferences": [{"kind": kind, "name": name, "controller": True}],
        }
        return {"metadata": metadata, "spec": self._pod_spec(template)}

    @property
    def _template(self) -> _Template:
        spec = self.spec if self.spec.jobTemplate is None else self.run
        return (spec and spec.template) or _Template()

    def _pod_spec(self, template: _Template) -> object:
        if self.identity.kind == DAEMON_SET:
            spec = decode(_FIELDS, template.spec, "spec") or {}
            own = decode(_RAWS, spec.get("tolerations", NULL), "spec.tolerations") or []
            on_host = decode(_FLAG, spec.get("hostNetwork", NULL), "spec.hostNetwork")
            added = (*_OF_DAEMONS, _NO_NETWORK) if on_host else _OF_DAEMONS
            return spec | {"tolerations": [*own, *added]}
        if self.spec.volumeClaimTemplates:
            # Its controller adds a volume for each of them.
            spec = decode(_FIELDS, template.spec, "spec") or {}
            volumes = decode(_RAWS, spec.get("volumes", NULL), "spec.volumes") or []
            claimed = [
                {"persistentVolumeClaim": {"template": each}}
                for each in self.spec.volumeClaimTemplates
            ]
            return spec | {"volumes": [*volumes, *claimed]}
        return {} if bytes(template.spec) == bytes(NULL) else template.spec


def read_workload(kind: str, raw: Json) -> Workload:
    """Read a manifest; ObjectError names the field that is broken."""
    manifest = decode(_MANIFEST, raw)
    metadata = manifest.metadata
    name = metadata.name or metadata.generateName or ""
    spec, status = manifest.spec or WorkloadSpec(), manifest.status or WorkloadStatus()
    return Workload(Identity(metadata.space, kind, name), metadata, spec, status)
