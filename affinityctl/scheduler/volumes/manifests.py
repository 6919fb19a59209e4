"""Claims, volumes and what is about them, out of manifests.

What a manifest leaves out is as the API server would fill it in: a volume that no claim has is
available, a class binds at once.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Final

import msgspec

from affinityctl.scheduler.volumes.objects import (
    MIGRATED,
    ClaimRef,
    CSIDriver,
    CSINode,
    CSIStorageCapacity,
    PersistentVolume,
    PersistentVolumeClaim,
    StorageClass,
    VolumeAttachment,
)
from affinityctl.scheduler.volumes.pod_volumes import (
    BETA_CLASS,
    BLOCK,
    DISKS,
    STORAGE,
    ClaimSpecManifest,
    read_claim_spec,
    read_disk_source,
)
from extender.core.errors import ObjectError
from extender.core.model.keys import key_of
from extender.core.model.node_selection import NodeRule
from extender.core.wire.affinity import read_selector
from extender.core.wire.decoding import Int32, Json, decode
from extender.core.wire.manifests import NULL, LabelSelector, NamespacedMetadata
from extender.core.wire.node_terms import NodeSelectorManifest, read_required
from extender.core.wire.placement import OwnerReference
from extender.core.wire.quantities import read_amounts

BIND_COMPLETED: Final = "pv.kubernetes.io/bind-completed"
SELECTED_NODE: Final = "volume.kubernetes.io/selected-node"
DEFAULT_CLASS: Final = "storageclass.kubernetes.io/is-default-class"
WAITS: Final = "WaitForFirstConsumer"
LOST: Final = "Lost"
AVAILABLE: Final = "Available"


class _Metadata(NamespacedMetadata, rename="camel"):
    labels: dict[str, str] | None = None
    annotations: dict[str, str] | None = None
    owner_references: list[OwnerReference] | None = None
    deletion_timestamp: str | None = None


class _Phase(msgspec.Struct):
    phase: str | None = None


class _ClaimManifest(msgspec.Struct):
    metadata: _Metadata
    spec: ClaimSpecManifest | None = None
    status: _Phase | None = None


class _Reference(msgspec.Struct):
    name: str = ""
    namespace: str | None = None
    uid: str | None = None


class _NodeAffinity(msgspec.Struct):
    required: NodeSelectorManifest | None = None


class _CSISource(msgspec.Struct, rename="camel"):
    driver: str = ""
    volume_handle: str = ""


class _VolumeSpec(msgspec.Struct, rename="camel"):
    """v1.PersistentVolumeSpec."""

    storage_class_name: str | None = None
    capacity: dict[str, str | int | float] | None = None
    access_modes: list[str] | None = None
    nodes: _NodeAffinity | None = msgspec.field(default=None, name="nodeAffinity")
    volume_mode: str | None = None
    volume_attributes_class_name: str | None = None
    claim_ref: _Reference | None = None
    csi: _CSISource | None = None
    aws_elastic_block_store: msgspec.Raw = NULL
    azure_disk: msgspec.Raw = NULL
    cinder: msgspec.Raw = NULL
    gce_persistent_disk: msgspec.Raw = NULL
    portworx_volume: msgspec.Raw = NULL

    @property
    def disk(self) -> tuple[str, msgspec.Raw] | None:
        """Return the in-tree source that CSI drivers have taken over, by its field."""
        fields = {
            "awsElasticBlockStore": self.aws_elastic_block_store,
            "azureDisk": self.azure_disk,
            "cinder": self.cinder,
            "gcePersistentDisk": self.gce_persistent_disk,
            "portworxVolume": self.portworx_volume,
        }
        return next(((kind, raw) for kind, raw in fields.items() if raw is not NULL), None)


class _VolumeManifest(msgspec.Struct):
    metadata: _Metadata
    spec: _VolumeSpec | None = None
    status: _Phase | None = None


class _LabelExpression(msgspec.Struct):
    key: str
    values: list[str] | None = None


class _TopologyTerm(msgspec.Struct, rename="camel"):
    match_label_expressions: list[_LabelExpression] | None = None


class _ClassManifest(msgspec.Struct, rename="camel"):
    metadata: _Metadata
    provisioner: str = ""
    volume_binding_mode: str | None = None
    allowed_topologies: list[_TopologyTerm] | None = None


class _Count(msgspec.Struct):
    count: Int32 | None = None


class _NodeDriver(msgspec.Struct, rename="camel"):
    name: str
    topology_keys: list[str] | None = None
    allocatable: _Count | None = None


class _NodeDrivers(msgspec.Struct):
    drivers: list[_NodeDriver] | None = None


class _CSINodeManifest(msgspec.Struct):
    metadata: _Metadata
    spec: _NodeDrivers | None = None


class _DriverSpec(msgspec.Struct, rename="camel"):
    storage_capacity: bool | None = None
    prevent_pod_scheduling_if_missing: bool | None = None
    attach_required: bool | None = None


class _DriverManifest(msgspec.Struct):
    metadata: _Metadata
    spec: _DriverSpec | None = None


class _CapacityManifest(msgspec.Struct, rename="camel"):
    metadata: _Metadata
    storage_class_name: str = ""
    node_topology: LabelSelector | None = None
    capacity: str | int | float | None = None
    maximum_volume_size: str | int | float | None = None


class _AttachedSource(msgspec.Struct, rename="camel"):
    persistent_volume_name: str | None = None


class _AttachmentSpec(msgspec.Struct, rename="camel"):
    node_name: str = ""
    attacher: str = ""
    source: _AttachedSource | None = None


class _AttachmentManifest(msgspec.Struct):
    metadata: _Metadata
    spec: _AttachmentSpec | None = None


_CLAIM = msgspec.json.Decoder(_ClaimManifest)
_VOLUME = msgspec.json.Decoder(_VolumeManifest)
_CLASS = msgspec.json.Decoder(_ClassManifest)
_CSI_NODE = msgspec.json.Decoder(_CSINodeManifest)
_DRIVER = msgspec.json.Decoder(_DriverManifest)
_CAPACITY = msgspec.json.Decoder(_CapacityManifest)
_ATTACHMENT = msgspec.json.Decoder(_AttachmentManifest)

MANIFESTS: Final[Mapping[str, type[msgspec.Struct]]] = {
    "PersistentVolumeClaim": _ClaimManifest,
    "PersistentVolume": _VolumeManifest,
    "StorageClass": _ClassManifest,
    "CSINode": _CSINodeManifest,
    "CSIDriver": _DriverManifest,
    "CSIStorageCapacity": _CapacityManifest,
    "VolumeAttachment": _AttachmentManifest,
}
ANNOTATIONS: Final = (BETA_CLASS, BIND_COMPLETED, SELECTED_NODE, DEFAULT_CLASS)
"""Those that are read."""


def read_claim(raw: Json) -> PersistentVolumeClaim:
    """Read a v1.PersistentVolumeClaim; ObjectError names the field that is broken."""
    found = decode(_CLAIM, raw)
    metadata, spec = found.metadata, found.spec or ClaimSpecManifest()
    annotations = metadata.annotations or {}
    asks = read_claim_spec(spec, "spec")
    key = key_of(metadata.namespace or "default", metadata.name)
    return PersistentVolumeClaim(
        key,
        metadata.uid or key,
        replace(asks, storage_class=annotations.get(BETA_CLASS, asks.storage_class)),
        volume=spec.volume_name or "",
        bound=bool(spec.volume_name) and BIND_COMPLETED in annotations,
        lost=found.status is not None and found.status.phase == LOST,
        deleting=metadata.deletion_timestamp is not None,
        selected_node=annotations.get(SELECTED_NODE),
        owner=next((e.uid for e in metadata.owner_references or () if e.controller), None),
    )


def read_volume(raw: Json) -> PersistentVolume:
    """Read a v1.PersistentVolume; ObjectError names the field that is broken."""
    found = decode(_VOLUME, raw)
    metadata, spec = found.metadata, found.spec or _VolumeSpec()
    ref, affinity = spec.claim_ref, spec.nodes
    nodes = None
    if affinity is not None and affinity.required is not None:
        nodes = NodeRule.required(read_required(affinity.required, []))
    phase = found.status.phase if found.status is not None else None
    csi, disk = spec.csi or _CSISource(), spec.disk
    plugin = None if disk is None else DISKS[disk[0]]
    return PersistentVolume(
        metadata.name,
        (metadata.annotations or {}).get(BETA_CLASS, spec.storage_class_name or ""),
        read_amounts(spec.capacity, "spec.capacity").get(STORAGE, 0),
        frozenset(spec.access_modes or ()),
        metadata.labels or {},
        nodes,
        block=spec.volume_mode == BLOCK,
        attributes_class=spec.volume_attributes_class_name or "",
        claim=None
        if ref is None
        else ClaimRef(key_of(ref.namespace or "default", ref.name), ref.uid or ""),
        available=ref is None if phase is None else phase == AVAILABLE,
        deleting=metadata.deletion_timestamp is not None,
        driver=csi.driver if plugin is None else MIGRATED[plugin],
        handle=csi.volume_handle if disk is None else read_disk_source(*disk),
        plugin=plugin,
    )


def read_storage_class(raw: Json) -> StorageClass:
    """Read a storage.k8s.io/v1 StorageClass; ObjectError names the field that is broken."""
    found = decode(_CLASS, raw)
    return StorageClass(
        found.metadata.name,
        found.provisioner,
        waits=found.volume_binding_mode == WAITS,
        allowed=tuple(
            tuple((e.key, frozenset(e.values or ())) for e in term.match_label_expressions or ())
            for term in found.allowed_topologies or ()
        ),
        is_default=(found.metadata.annotations or {}).get(DEFAULT_CLASS) == "true",
    )


def read_csi_node(raw: Json) -> CSINode:
    """Read a storage.k8s.io/v1 CSINode; ObjectError names the field that is broken."""
    found = decode(_CSI_NODE, raw)
    drivers = (found.spec and found.spec.drivers) or ()
    return CSINode(
        found.metadata.name,
        {each.name: tuple(each.topology_keys or ()) for each in drivers},
        {
            each.name: each.allocatable.count
            for each in drivers
            if each.allocatable is not None and each.allocatable.count is not None
        },
    )


def read_csi_driver(raw: Json) -> CSIDriver:
    """Read a storage.k8s.io/v1 CSIDriver; ObjectError names the field that is broken."""
    found = decode(_DRIVER, raw)
    spec = found.spec or _DriverSpec()
    return CSIDriver(
        found.metadata.name,
        tracks_capacity=bool(spec.storage_capacity),
        needed_on_node=bool(spec.prevent_pod_scheduling_if_missing),
        attaches=spec.attach_required is not False,
    )


def read_capacity(raw: Json) -> CSIStorageCapacity:
    """Read a storage.k8s.io/v1 CSIStorageCapacity; ObjectError names the field that is broken."""
    found = decode(_CAPACITY, raw)
    metadata, topology = found.metadata, found.node_topology
    size = found.capacity if found.maximum_volume_size is None else found.maximum_volume_size
    limit = None if size is None else read_amounts({STORAGE: size}, "capacity")[STORAGE]
    return CSIStorageCapacity(
        key_of(metadata.namespace or "default", metadata.name),
        found.storage_class_name,
        limit,
        None if topology is None else read_selector(topology, "nodeTopology"),
    )


def read_attachment(raw: Json) -> VolumeAttachment:
    """Read a storage.k8s.io/v1 VolumeAttachment; ObjectError names the field that is broken."""
    found = decode(_ATTACHMENT, raw)
    if found.spec is None:
        raise ObjectError("spec", "an attachment says what is attached where")
    spec, source = found.spec, found.spec.source or _AttachedSource()
    return VolumeAttachment(
        found.metadata.name, spec.node_name, spec.attacher, source.persistent_volume_name
    )
