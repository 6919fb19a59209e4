"""The volumes of pods for which nodes may be refused, and what claims ask for."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Final

import msgspec

from affinityctl.scheduler.volumes.objects import (
    MIGRATED,
    ClaimsAndDisks,
    ClaimSpec,
    ClaimUse,
    Disk,
)
from extender.core.wire.affinity import read_selector
from extender.core.wire.decoding import decode
from extender.core.wire.manifests import LabelSelector
from extender.core.wire.placement import Fields
from extender.core.wire.quantities import read_amounts

STORAGE: Final = "storage"
BLOCK: Final = "Block"
BETA_CLASS: Final = "volume.beta.kubernetes.io/storage-class"
"""The annotation that named a claim's class before the field did, and goes before it."""

DISKS: Final[Mapping[str, str]] = {
    "awsElasticBlockStore": "kubernetes.io/aws-ebs",
    "azureDisk": "kubernetes.io/azure-disk",
    "cinder": "kubernetes.io/cinder",
    "gcePersistentDisk": "kubernetes.io/gce-pd",
    "portworxVolume": "kubernetes.io/portworx-volume",
}
"""Sources of volumes whose in-tree plugins CSI drivers have taken over."""


class _Resources(msgspec.Struct):
    requests: dict[str, str | int | float] | None = None


class ClaimSpecManifest(msgspec.Struct, rename="camel"):
    """v1.PersistentVolumeClaimSpec."""

    storage_class_name: str | None = None
    resources: _Resources | None = None
    access_modes: list[str] | None = None
    selector: LabelSelector | None = None
    volume_mode: str | None = None
    volume_attributes_class_name: str | None = None
    volume_name: str | None = None


class _Named(msgspec.Struct):
    name: str = ""


class ClaimTemplate(msgspec.Struct):
    metadata: _Named | None = None
    spec: ClaimSpecManifest | None = None


class _Source(msgspec.Struct, rename="camel"):
    """A volume's persistentVolumeClaim; a StatefulSet's has the template of it instead."""

    claim_name: str = ""
    template: ClaimTemplate | None = None


class _Ephemeral(msgspec.Struct, rename="camel"):
    volume_claim_template: ClaimTemplate | None = None


class DiskManifest(msgspec.Struct, rename="camel"):
    """The fields of all in-tree sources that tell disks apart."""

    pd_name: str = msgspec.field(default="", name="pdName")
    volume_id: str = msgspec.field(default="", name="volumeID")
    disk_name: str = ""
    disk_uri: str = msgspec.field(default="", name="diskURI")
    iqn: str = ""
    pool: str = "rbd"
    image: str = ""
    monitors: list[str] | None = None
    read_only: bool | None = None

    @property
    def names(self) -> tuple[str, ...]:
        if self.image:
            return (self.pool, self.image)
        return (self.pd_name or self.volume_id or self.disk_uri or self.disk_name or self.iqn,)


_SOURCE = msgspec.json.Decoder(_Source)
_EPHEMERAL = msgspec.json.Decoder(_Ephemeral)
_DISK = msgspec.json.Decoder(DiskManifest)
_TEXT = msgspec.json.Decoder(str)
_CONFLICTING: Final = frozenset(("gcePersistentDisk", "awsElasticBlockStore", "iscsi", "rbd"))
_NEVER_SHARED: Final = "awsElasticBlockStore"
SOURCES: Final[Mapping[str, type[msgspec.Struct]]] = {
    "persistentVolumeClaim": _Source,
    "ephemeral": _Ephemeral,
    **dict.fromkeys((*DISKS, *sorted(_CONFLICTING)), DiskManifest),
}
"""What of each source of a pod's volume is read; of any other, that it is there."""
_NOTHING: Final = b"null"


def read_pod_volumes(volumes: Iterable[Fields]) -> ClaimsAndDisks:
    """Read the volumes of a pod; ObjectError names the field that is broken."""
    claims: list[ClaimUse] = []
    disks: list[Disk] = []
    for index, each in enumerate(volumes):
        path = f"spec.volumes[{index}]"
        claims += _claims(each, path)
        disks += _disks(each, path)
    return ClaimsAndDisks(tuple(claims), tuple(disks))


def _claims(volume: Fields, path: str) -> Iterator[ClaimUse]:
    raw = volume.get("persistentVolumeClaim", _NOTHING)
    if bytes(raw) != _NOTHING:
        source = decode(_SOURCE, raw, f"{path}.persistentVolumeClaim")
        if source.template is None:
            yield ClaimUse(source.claim_name)
        else:
            name = (source.template.metadata or _Named()).name
            yield ClaimUse(name, _of_template(source.template, path))
    raw = volume.get("ephemeral", _NOTHING)
    if bytes(raw) != _NOTHING:
        found = decode(_EPHEMERAL, raw, f"{path}.ephemeral").volume_claim_template
        name = decode(_TEXT, volume.get("name", b'""'), f"{path}.name")
        yield ClaimUse(name, _of_template(found or ClaimTemplate(), path), ephemeral=True)


def _of_template(template: ClaimTemplate, path: str) -> ClaimSpec:
    return read_claim_spec(template.spec or ClaimSpecManifest(), path)


def _disks(volume: Fields, path: str) -> Iterator[Disk]:
    for kind in volume.keys() & (DISKS.keys() | _CONFLICTING):
        if bytes(volume[kind]) != _NOTHING:
            found = decode(_DISK, volume[kind], f"{path}.{kind}")
            yield Disk(
                kind,
                found.names,
                read_only=bool(found.read_only),
                monitors=frozenset(found.monitors or ()) if kind == "rbd" else frozenset(),
                shared=kind != _NEVER_SHARED,
                alone=kind in _CONFLICTING,
                driver=MIGRATED.get(DISKS.get(kind, "")),
            )


def read_claim_spec(spec: ClaimSpecManifest, path: str) -> ClaimSpec:
    """Read what a claim asks for; ObjectError names the field that is broken."""
    selector = spec.selector
    resources = spec.resources or _Resources()
    return ClaimSpec(
        spec.storage_class_name,
        read_amounts(resources.requests, f"{path}.resources.requests").get(STORAGE, 0),
        frozenset(spec.access_modes or ()),
        None if selector is None else read_selector(selector, f"{path}.selector"),
        block=spec.volume_mode == BLOCK,
        attributes_class=spec.volume_attributes_class_name or "",
    )


def read_disk_source(kind: str, raw: msgspec.Raw) -> str:
    """Return what tells the disk of a PersistentVolume from others of its kind."""
    return "/".join(decode(_DISK, raw, f"spec.{kind}").names)
