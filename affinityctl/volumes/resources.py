"""The API's resources that have to do with volumes, as they get into a state."""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Set as AbstractSet
from typing import Final

from affinityctl.volumes.ledger import VolumeLedger, ledger_of
from affinityctl.volumes.manifests import (
    read_attachment,
    read_capacity,
    read_claim,
    read_csi_driver,
    read_csi_node,
    read_storage_class,
    read_volume,
)
from affinityctl.volumes.objects import VolumeObject
from extender.resources import WatchedResource
from extender.wire.decoding import Json


def _of_volumes(
    name: str,
    kind: str,
    read: Callable[[Json], VolumeObject],
    keys: Callable[[VolumeLedger], AbstractSet[str]],
    group: str = "storage.k8s.io",
) -> WatchedResource[VolumeObject]:
    """Return a resource that is listed once and never watched, so that nothing of it goes."""
    return WatchedResource(
        name,
        kind,
        group=group,
        reader=lambda _: read,
        keys=lambda state: keys(ledger_of(state)),
        upsert=lambda state, each: ledger_of(state).put(each),
        remove=lambda *_: None,
        needed=lambda _: False,
    )


CLAIMS: Final = _of_volumes(
    "persistentvolumeclaims", "PersistentVolumeClaim", read_claim, lambda v: v.claims.keys(), ""
)
VOLUME_RESOURCES: Final = (
    CLAIMS,
    _of_volumes(
        "persistentvolumes", "PersistentVolume", read_volume, lambda v: v.volumes.keys(), ""
    ),
    _of_volumes("storageclasses", "StorageClass", read_storage_class, lambda v: v.classes.keys()),
    _of_volumes("csinodes", "CSINode", read_csi_node, lambda v: v.csi_nodes.keys()),
    _of_volumes("csidrivers", "CSIDriver", read_csi_driver, lambda v: v.csi_drivers.keys()),
    _of_volumes(
        "csistoragecapacities", "CSIStorageCapacity", read_capacity, lambda v: v.capacities.keys()
    ),
    _of_volumes(
        "volumeattachments", "VolumeAttachment", read_attachment, lambda v: v.attachments.keys()
    ),
)
"""What only people's commands look at, who read what the volumes of pods are."""
