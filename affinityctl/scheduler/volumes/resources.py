"""The API's resources that have to do with volumes, as they get into a state."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from affinityctl.scheduler.listed_once import listed_once
from affinityctl.scheduler.volumes.ledger import CLAIM, KINDS, VOLUME, ledger_of
from affinityctl.scheduler.volumes.manifests import (
    read_attachment,
    read_capacity,
    read_claim,
    read_csi_driver,
    read_csi_node,
    read_storage_class,
    read_volume,
)
from affinityctl.scheduler.volumes.objects import VolumeObject
from extender.core.resources import WatchedResource
from extender.core.wire.decoding import Json


def _listed(kind: str, read: Callable[[Json], VolumeObject]) -> WatchedResource[VolumeObject]:
    return listed_once(
        KINDS[kind],
        kind,
        read,
        lambda state, each: ledger_of(state).put(each),
        group="" if kind in {CLAIM, VOLUME} else "storage.k8s.io",
    )


VOLUME_RESOURCES: Final = (
    _listed(CLAIM, read_claim),
    _listed(VOLUME, read_volume),
    _listed("StorageClass", read_storage_class),
    _listed("CSINode", read_csi_node),
    _listed("CSIDriver", read_csi_driver),
    _listed("CSIStorageCapacity", read_capacity),
    _listed("VolumeAttachment", read_attachment),
)
