"""What the scheduler knows of volumes: the claims of pods, and what a cluster has to meet them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, TypeAlias

from extender.core.model.keys import Key, key_of
from extender.core.model.labels import Labels, Selector
from extender.core.model.node_resources import PodVolumes
from extender.core.model.node_selection import NodeRule
from extender.core.model.objects import Pod
from extender.core.model.wording import some

READ_WRITE_ONCE_POD: Final = "ReadWriteOncePod"
NO_PROVISIONER: Final = "kubernetes.io/no-provisioner"
"""The provisioner of a class whose volumes are made by hand."""

MIGRATED: Final[Mapping[str, str]] = {
    "kubernetes.io/aws-ebs": "ebs.csi.aws.com",
    "kubernetes.io/azure-disk": "disk.csi.azure.com",
    "kubernetes.io/cinder": "cinder.csi.openstack.org",
    "kubernetes.io/gce-pd": "pd.csi.storage.gke.io",
    "kubernetes.io/portworx-volume": "pxd.portworx.com",
}
"""In-tree plugins with the CSI drivers that have taken over their volumes."""
NOT_COUNTED: Final = frozenset(("kubernetes.io/azure-file", "kubernetes.io/vsphere-volume"))
"""In-tree plugins whose volumes NodeVolumeLimits does not count, though there is a driver."""


@dataclass(frozen=True, slots=True)
class ClaimSpec:
    storage_class: str | None = None
    """None where it does not say; once the claim is made, that is none, unless there is a default.
    """
    request: int = 0
    """In bytes."""
    access_modes: frozenset[str] = frozenset()
    selector: Selector | None = None
    block: bool = False
    """It wants a block device and no file system."""
    attributes_class: str = ""


@dataclass(frozen=True, slots=True)
class ClaimUse:
    """A claim that a pod has as a volume."""

    name: str
    """Of the claim; with a template, the part of it that is not the pod's name."""
    template: ClaimSpec | None = None
    """Of a claim for each pod, which a controller makes."""
    ephemeral: bool = False
    """Made for the pod alone, and gone with it; of a StatefulSet's, the next pod has it again."""

    def key_for(self, pod: Key) -> Key:
        if self.template is None:
            return key_of(pod.partition("/")[0], self.name)
        if self.ephemeral:
            return Key(f"{pod}-{self.name}")
        namespace, _, name = pod.partition("/")
        return key_of(namespace, f"{self.name}-{name}")


@dataclass(frozen=True, slots=True)
class Disk:
    """A volume that a pod's spec names without a claim, of an in-tree plugin."""

    kind: str
    """The field of the volume: gcePersistentDisk."""
    identity: tuple[str, ...]
    read_only: bool = False
    monitors: frozenset[str] = frozenset()
    """RBD: one in common makes it the same disk."""
    shared: bool = True
    """Several pods of a node may have it if all only read; of some kinds no two may."""
    alone: bool = True
    """Pods that have it keep others away at all."""
    driver: str | None = None
    """The CSI driver that attaches it."""

    @property
    def attached_as(self) -> Attachable | None:
        """Return what counts on a node that has it, None for nothing."""
        return None if self.driver is None else (self.driver, "/".join(self.identity))

    def conflicts(self, other: Disk) -> bool:
        """Return whether two pods of one node may not have these (isVolumeConflict)."""
        return (
            self.alone
            and self.kind == other.kind
            and self.identity == other.identity
            and not (self.shared and self.read_only and other.read_only)
            and (not self.monitors or bool(self.monitors & other.monitors))
        )


@dataclass(frozen=True, slots=True)
class ClaimsAndDisks(PodVolumes):
    """The volumes of a pod for which nodes may be refused, in the order of its spec."""

    claims: tuple[ClaimUse, ...] = ()
    disks: tuple[Disk, ...] = ()


def volumes_in(pod: Pod) -> ClaimsAndDisks | None:
    """Return the volumes of a pod for which nodes may be refused; None for none."""
    found = pod.spec.requirements.volumes
    return found if isinstance(found, ClaimsAndDisks) else None


def claims_in(pod: Pod) -> Sequence[ClaimUse]:
    volumes = volumes_in(pod)
    return () if volumes is None else volumes.claims


@dataclass(frozen=True, slots=True)
class PersistentVolumeClaim:
    key: Key
    uid: str
    spec: ClaimSpec = ClaimSpec()
    volume: str = ""
    """The PersistentVolume that it is or is to be bound to."""
    bound: bool = False
    lost: bool = False
    deleting: bool = False
    selected_node: str | None = None
    """Its volume is being provisioned for that node."""
    owner: str | None = None
    """The uid of its controller."""

    @property
    def name(self) -> str:
        return self.key.partition("/")[2]

    @property
    def storage_class(self) -> str:
        """Return the name of its class, "" for none."""
        return self.spec.storage_class or ""


@dataclass(frozen=True, slots=True)
class ClaimRef:
    key: Key
    uid: str = ""

    def is_to(self, claim: PersistentVolumeClaim) -> bool:
        """Return whether it is that claim (IsVolumeBoundToClaim)."""
        return self.key == claim.key and self.uid in {"", claim.uid}


@dataclass(frozen=True, slots=True)
class PersistentVolume:
    key: str
    storage_class: str = ""
    capacity: int = 0
    access_modes: frozenset[str] = frozenset()
    labels: Labels = field(default_factory=dict)
    nodes: NodeRule | None = None
    """Which nodes can have it; None for all."""
    block: bool = False
    attributes_class: str = ""
    claim: ClaimRef | None = None
    available: bool = False
    deleting: bool = False
    driver: str = ""
    """The CSI driver that attaches it; "" for none."""
    handle: str = ""
    plugin: str | None = None
    """The in-tree plugin, where a CSI driver has taken over its volumes."""

    @property
    def attached_as(self) -> Attachable | None:
        """Return what counts on a node that has it, None for nothing."""
        return (self.driver, self.handle) if self.driver and self.handle else None


def misfit(volume: PersistentVolume, claim: PersistentVolumeClaim) -> str | None:
    """Say why a volume of a claim's class is not the claim's; None of one that could be."""
    spec, name = claim.spec, volume.key
    if volume.claim is not None and not volume.claim.is_to(claim):
        before = " that there was before" * (volume.claim.key == claim.key)
        return f"{name} is for claim {volume.claim.key}{before}"
    if volume.deleting:
        return f"{name} is being deleted"
    if volume.capacity < spec.request:
        return f"{name} is smaller than it asks for"
    if lacking := spec.access_modes - volume.access_modes:
        return f"{name} does not have {some(sorted(lacking), len(lacking))}"
    if spec.selector is not None and not spec.selector.matches(volume.labels):
        return f"{name} does not have the labels that it selects"
    return None


Attachable: TypeAlias = tuple[str, str]
"""A CSI driver, and what tells one of its volumes from others."""

TopologyTerm: TypeAlias = tuple[tuple[str, frozenset[str]], ...]
"""Labels that a node has to have, each with one of some values."""


@dataclass(frozen=True, slots=True)
class StorageClass:
    key: str
    provisioner: str = ""
    waits: bool = False
    """Its volumes are bound and made once a pod that uses them has a node."""
    allowed: tuple[TopologyTerm, ...] = ()
    """Where volumes can be made; nothing for everywhere."""
    is_default: bool = False

    @property
    def provisions(self) -> bool:
        """Return whether volumes are made when they are needed."""
        return self.provisioner not in {"", NO_PROVISIONER}

    def driver_on(self, node: CSINode | None) -> str | None:
        """Return the CSI driver that attaches its volumes to a node, None where none counts."""
        if self.provisioner in NOT_COUNTED:
            return None
        migrated = MIGRATED.get(self.provisioner)
        if migrated is None:
            return self.provisioner or None
        return None if node is None else migrated

    def allows(self, labels: Labels) -> bool:
        """Return whether a volume can be made for a node (MatchTopologySelectorTerms)."""
        return not self.allowed or any(
            term and all(labels.get(key) in values for key, values in term) for term in self.allowed
        )


@dataclass(frozen=True, slots=True)
class CSINode:
    """A CSINode: the drivers of a node, by name."""

    key: str
    topology_keys: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """Of each driver: the labels that say where its volumes are."""
    limits: Mapping[str, int] = field(default_factory=dict)
    """How many volumes can be attached, of those drivers that have a limit."""


@dataclass(frozen=True, slots=True)
class CSIDriver:
    key: str
    tracks_capacity: bool = False
    """There are CSIStorageCapacities that say where there is room."""
    needed_on_node: bool = False
    """Pods keep away from nodes that do not have it (preventPodSchedulingIfMissing)."""
    attaches: bool = True
    """A volume is attached to a node before pods there can have it."""


@dataclass(frozen=True, slots=True)
class CSIStorageCapacity:
    key: Key
    storage_class: str
    limit: int | None
    """The largest volume that can be made, in bytes; None for nothing."""
    nodes: Selector | None
    """Where; None for nowhere."""


@dataclass(frozen=True, slots=True)
class VolumeAttachment:
    """A VolumeAttachment: a volume that is attached, whichever pod uses it."""

    key: str
    node: str
    driver: str
    volume: str | None
    """The PersistentVolume; None for one that is inline."""


VolumeObject: TypeAlias = (
    PersistentVolumeClaim
    | PersistentVolume
    | StorageClass
    | CSINode
    | CSIDriver
    | CSIStorageCapacity
    | VolumeAttachment
)
