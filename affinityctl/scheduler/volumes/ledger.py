"""The volumes of the cluster, and which pods use them."""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Final

from affinityctl.scheduler.volumes.objects import (
    Attachable,
    ClaimRef,
    ClaimSpec,
    ClaimUse,
    CSIDriver,
    CSINode,
    CSIStorageCapacity,
    Disk,
    PersistentVolume,
    PersistentVolumeClaim,
    StorageClass,
    VolumeAttachment,
    VolumeObject,
    claims_in,
    volumes_in,
)
from extender.core.cluster.ledgers.ledger import Ledger
from extender.core.cluster.state import ClusterState
from extender.core.model.keys import Key, name_of
from extender.core.model.labels import Labels, Operator, Requirement, Selector
from extender.core.model.node_selection import NodeRule, NodeTerm
from extender.core.model.objects import Pod
from extender.core.model.signed import shift

CLAIM: Final = "PersistentVolumeClaim"
VOLUME: Final = "PersistentVolume"
KINDS: Final[Mapping[str, str]] = {
    CLAIM: "persistentvolumeclaims",
    VOLUME: "persistentvolumes",
    "StorageClass": "storageclasses",
    "CSINode": "csinodes",
    "CSIDriver": "csidrivers",
    "CSIStorageCapacity": "csistoragecapacities",
    "VolumeAttachment": "volumeattachments",
}
"""What is to be known, each kind with the name of the resource."""
_MAKING: Final = frozenset(("StorageClass", "CSIDriver", "CSIStorageCapacity"))
_ATTACHING: Final = frozenset(("CSINode", "CSIDriver", "VolumeAttachment"))
UNSAID: Final = frozenset(("CSIDriver", "CSIStorageCapacity", "VolumeAttachment"))
"""Kinds of which a cluster may well have none: where files have none, there is none."""

_NO_DISKS: Final[Mapping[Disk, int]] = {}
_NO_CLAIMS: Final[Mapping[Key, int]] = {}


class VolumeLedger(Ledger):
    """What there is of volumes, and who uses it; what is not known at all is not in `known`."""

    def __init__(self) -> None:
        self.known: set[str] = set()
        """The kinds whose objects were all looked up."""
        self.claims: dict[str, PersistentVolumeClaim] = {}
        self.volumes: dict[str, PersistentVolume] = {}
        self.classes: dict[str, StorageClass] = {}
        self.csi_nodes: dict[str, CSINode] = {}
        self.csi_drivers: dict[str, CSIDriver] = {}
        self.capacities: dict[str, CSIStorageCapacity] = {}
        self.attachments: dict[str, VolumeAttachment] = {}
        self._of_class: dict[str, dict[str, PersistentVolume]] = {}
        self._attached: dict[str, dict[str, VolumeAttachment]] = {}
        self._claims_on: dict[str, dict[Key, int]] = {}
        self._disks_on: dict[str, dict[Disk, int]] = {}
        self._users: dict[Key, dict[str, int]] = {}
        """By claim that placed pods name: how many of them each node has."""

    @property
    def knows_claims(self) -> bool:
        return CLAIM in self.known

    @property
    def knows_volumes(self) -> bool:
        return VOLUME in self.known

    @property
    def knows_classes(self) -> bool:
        """Return whether all is known that says where volumes can be made."""
        return self.known >= _MAKING

    @property
    def knows_limits(self) -> bool:
        """Return whether all is known of what nodes can have attached."""
        return self.knows_claims and self.knows_volumes and self.known >= _ATTACHING

    @property
    def missing(self) -> list[str]:
        """Return the kinds that are not known, as kubectl names them."""
        return [name for kind, name in KINDS.items() if kind not in self.known]

    def of_class(self, name: str) -> list[PersistentVolume]:
        return [*self._of_class.get(name, {}).values()]

    def attached_to(self, node: str) -> Iterator[VolumeAttachment]:
        yield from self._attached.get(node, {}).values()

    def attached_count(self, node: str) -> int:
        return len(self._attached.get(node, ()))

    def claims_on(self, node: str) -> Mapping[Key, int]:
        return self._claims_on.get(node, _NO_CLAIMS)

    def disks_on(self, node: str) -> Mapping[Disk, int]:
        """Return the disks that the pods of a node name without a claim."""
        return self._disks_on.get(node, _NO_DISKS)

    def nodes_using(self, claim: Key) -> Iterable[str]:
        """Return the nodes of the pods that name a claim; some may be gone."""
        return self._users.get(claim, ())

    def volume_of(self, claim: PersistentVolumeClaim) -> PersistentVolume | None:
        """Return the volume that a claim names, None where there is none."""
        return self.volumes.get(claim.volume) if claim.volume else None

    def attachable(self, claim: PersistentVolumeClaim, node: CSINode | None) -> Attachable | None:
        """Return what counts against a limit of a node (getCSIDriverInfo); None for nothing."""
        volume = self.volume_of(claim)
        if volume is not None:
            return None if volume.plugin is not None and node is None else volume.attached_as
        found = self.classes.get(claim.storage_class)
        if found is None:
            return None
        driver = found.driver_on(node)
        # Of one that is not made yet, the claim tells it from others.
        return (driver, f"\0{claim.key}") if driver else None

    def made(self, use: ClaimUse, key: Key, pod: Pod) -> PersistentVolumeClaim:
        spec = self._with_class(use.template or ClaimSpec())
        return PersistentVolumeClaim(
            key, f"{key}, new", spec, owner=pod.uid if use.ephemeral else None
        )

    def files_read(self, kinds: Container[str]) -> None:
        """Note that files were read as a whole which had objects of these kinds."""
        self.known.update(kind for kind in KINDS if kind in UNSAID or kind in kinds)
        if self.knows_claims and not any(claim.volume for claim in self.claims.values()):
            # Otherwise these would be there.
            self.known.add(VOLUME)

    def objects(self) -> Iterator[VolumeObject]:
        """Yield all that was put in of claims, volumes, classes and drivers."""
        for every in (self.claims, self.volumes, self.classes, self.csi_drivers):
            yield from every.values()

    def put(self, each: VolumeObject) -> None:
        match each:
            case PersistentVolumeClaim():
                self.claims[each.key] = each
            case PersistentVolume():
                self._put_volume(each)
            case StorageClass():
                self.classes[each.key] = each
            case CSINode():
                self.csi_nodes[each.key] = each
            case CSIDriver():
                self.csi_drivers[each.key] = each
            case CSIStorageCapacity():
                self.capacities[each.key] = each
            case VolumeAttachment():
                self.attachments[each.key] = each
                self._attached.setdefault(each.node, {})[each.key] = each

    def apply_claim(self, claim: PersistentVolumeClaim) -> None:
        """Put the claim of a manifest in; one that is there keeps its spec and its volume."""
        if claim.key not in self.claims:
            self.put(replace(claim, spec=self._with_class(claim.spec)))

    def apply_volume(self, volume: PersistentVolume) -> None:
        """Put the volume of a manifest in; one that is there keeps its spec and its claim."""
        if volume.key not in self.volumes:
            self.put(volume)

    def _with_class(self, spec: ClaimSpec) -> ClaimSpec:
        if spec.storage_class is not None:
            return spec
        default = next((each.key for each in self.classes.values() if each.is_default), "")
        return replace(spec, storage_class=default)

    def _put_volume(self, volume: PersistentVolume) -> None:
        old = self.volumes.get(volume.key)
        if old is not None:
            del self._of_class[old.storage_class][old.key]
        self.volumes[volume.key] = volume
        self._of_class.setdefault(volume.storage_class, {})[volume.key] = volume

    def placed(self, pod: Pod, node: str, sign: int) -> None:
        volumes = volumes_in(pod)
        if volumes is None:
            return
        claims = self._claims_on.setdefault(node, {})
        for use in volumes.claims:
            key = use.key_for(pod.key)
            shift(claims, key, sign)
            if not use.ephemeral:
                shift(self._users.setdefault(key, {}), node, sign)
        disks = self._disks_on.setdefault(node, {})
        for disk in volumes.disks:
            shift(disks, disk, sign)

    shifted = placed

    # In a simulation, what controllers and provisioners do

    def remembering(self) -> Callable[[], None]:
        """Return what takes back all that is made and bound from now on; O(claims + volumes)."""
        claims, volumes = dict(self.claims), dict(self.volumes)
        of_class = {name: dict(each) for name, each in self._of_class.items()}

        def take_back() -> None:
            self.claims, self.volumes, self._of_class = claims, volumes, of_class

        return take_back

    def add_node(self, name: str, labels: Labels, like: str, known: Labels) -> None:
        """Give a new node the drivers of one that it is like, and as much storage of its own."""
        if (drivers := self.csi_nodes.get(like)) is not None:
            self.put(replace(drivers, key=name))
        own = [
            Requirement(key, Operator.IN, frozenset((value,)))
            for key, value in labels.items()
            if known.get(key) != value
        ]
        for each in [*self.capacities.values()]:
            if each.nodes and each.nodes.matches(known) and not each.nodes.matches(labels):
                key = Key(f"{each.key}@{name}")
                self.put(replace(each, key=key, nodes=Selector.of(own)))

    def with_templates(self, pod: Pod) -> Pod:
        """Return a StatefulSet's pod with templates for its claims: each ordinal has claims alone.

        They are called as its claims are, by the name of the template and that of the pod.
        """
        volumes = volumes_in(pod)
        if volumes is None:
            return pod
        claims = tuple(self._as_template(use, pod.key) for use in volumes.claims)
        requirements = replace(pod.spec.requirements, volumes=replace(volumes, claims=claims))
        return pod.with_spec(requirements=requirements)

    def _as_template(self, use: ClaimUse, pod: Key) -> ClaimUse:
        name = use.name.removesuffix(f"-{name_of(pod)}")
        if use.template is not None or name == use.name:
            return use
        known = self.claims.get(use.key_for(pod))
        return ClaimUse(name, ClaimSpec() if known is None else known.spec)

    def make_claims(self, pod: Pod) -> None:
        """Make the claims that a controller makes for a pod; an ephemeral one begins anew."""
        for use in claims_in(pod):
            key = use.key_for(pod.key)
            if use.template is not None and (use.ephemeral or key not in self.claims):
                self.put(self.made(use, key, pod))

    def forget_claims(self, pod: Pod) -> None:
        """Delete the claims that a StatefulSet has made for a pod."""
        for use in claims_in(self.with_templates(pod)):
            if use.template is not None and not use.ephemeral:
                self.claims.pop(use.key_for(pod.key), None)

    def bind(
        self,
        claim: PersistentVolumeClaim,
        volume: PersistentVolume | None,
        node: str,
        labels: Labels,
    ) -> None:
        """Bind a claim of a pod that gets a node, to a volume that is made for it without one."""
        volume = self._provisioned(claim, node, labels) if volume is None else volume
        self.put(replace(volume, claim=ClaimRef(claim.key, claim.uid), available=False))
        self.put(replace(claim, volume=volume.key, bound=True))

    def _provisioned(
        self, claim: PersistentVolumeClaim, node: str, labels: Labels
    ) -> PersistentVolume:
        """Make a volume for a claim, which only nodes in the place of that one can have.

        The place is what the driver says of it; without a driver, what the class allows.
        """
        name, found = claim.storage_class, self.classes[claim.storage_class]
        csi_node = self.csi_nodes.get(node)
        keys = () if csi_node is None else csi_node.topology_keys.get(found.provisioner, ())
        keys = keys or tuple(dict.fromkeys(key for term in found.allowed for key, _ in term))
        conditions = [
            Requirement(key, Operator.IN, frozenset((labels[key],)))
            for key in keys
            if key in labels
        ]
        place = NodeRule.required([NodeTerm(tuple(conditions))]) if conditions else None
        return PersistentVolume(
            f"pvc-{name_of(claim.key)}, new",
            storage_class=name,
            capacity=claim.spec.request,
            access_modes=claim.spec.access_modes,
            nodes=place,
            block=claim.spec.block,
            attributes_class=claim.spec.attributes_class,
            driver=found.driver_on(csi_node) or "",
            handle=claim.key,
        )


def ledger_of(state: ClusterState) -> VolumeLedger:
    """Return the volumes of a state, which keeps them from the first time that it is asked."""
    for each in state.ledgers:
        if isinstance(each, VolumeLedger):
            return each
    made = VolumeLedger()
    state.book_with(made)
    return made
