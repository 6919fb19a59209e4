"""Why a node is refused, in the scheduler's own words."""

from __future__ import annotations

from enum import Enum, StrEnum
from functools import cached_property
from typing import Final

INTER_POD_AFFINITY = "InterPodAffinity"
LIMITS = "MaxMatchingPods"
NODE_AFFINITY = "NodeAffinity"
NAMED_NODES = "NamedNodes"
"""NodeAffinity's PreFilter, where it is asked for itself."""
NODE_NAME = "NodeName"
NODE_UNSCHEDULABLE = "NodeUnschedulable"
TAINT_TOLERATION = "TaintToleration"
NODE_PORTS = "NodePorts"
NODE_RESOURCES_FIT = "NodeResourcesFit"
VOLUME_RESTRICTIONS = "VolumeRestrictions"
NODE_VOLUME_LIMITS = "NodeVolumeLimits"
VOLUME_BINDING = "VolumeBinding"
VOLUME_ZONE = "VolumeZone"
POD_TOPOLOGY_SPREAD = "PodTopologySpread"
ANNOTATIONS = "Annotations"


class AnyReason(Enum):
    """A cause of refusal; the value is the text that users find in the pod's event.

    The core's are in `Reason`. A feature derives an enumeration of its own.
    """

    _value_: str

    @property
    def resolvable(self) -> bool:
        """Return whether taking pods away from the node could cure the refusal."""
        return False

    @property
    def may_pass(self) -> bool:
        """Return whether the refusal may end with pods that go, for whatever they are evicted."""
        return self.resolvable

    @cached_property
    def plugin(self) -> str:
        """Return the name of the plugin that refuses for it."""
        return INTER_POD_AFFINITY


class Reason(AnyReason):
    """The core's causes of refusal.

    Texts and codes are those of the in-tree plugins (pkg/scheduler/framework/plugins). Those in
    LEFT_TO_SCHEDULER are never given to a scheduler.
    """

    AFFINITY = "node(s) didn't match pod affinity rules"
    ANTI_AFFINITY = "node(s) didn't match pod anti-affinity rules"
    EXISTING_ANTI_AFFINITY = "node(s) didn't satisfy existing pods anti-affinity rules"
    LIMIT = "node(s) had as many matching pods as the pod's maxMatchingPods allows"
    EXISTING_LIMIT = "node(s) had as many matching pods as existing pods' maxMatchingPods allows"
    NODE_AFFINITY = "node(s) didn't match Pod's node affinity/selector"
    ENFORCED_NODE_AFFINITY = "node(s) didn't match scheduler-enforced node affinity"
    NOT_NAMED = "node(s) didn't satisfy plugin(s) [NodeAffinity]"
    """Every required term of the pod's node affinity names nodes, and none names this one."""
    NO_NAME = "pod affinity terms conflict"
    """Each of these terms names nodes twice, and no node in both."""
    ANNOTATION = "the pod's annotation cannot be read"
    """In a callback it is an error, which names the field."""
    UNKNOWN_NODE = "node(s) unknown to the extender"
    NODE_NAME = "node(s) didn't match the requested node name"
    UNSCHEDULABLE = "node(s) were unschedulable"
    TAINT = "node(s) had untolerated taint(s)"
    PORTS = "node(s) didn't have free ports for the requested pod ports"
    RESOURCES = "Insufficient resources"
    """In the event, each resource has its own: Insufficient cpu, Too many pods."""
    NO_CLAIM = "persistentvolumeclaim not found"
    """In the event it has the name of the claim, as the next ones have."""
    UNUSABLE_CLAIM = "persistentvolumeclaim cannot be used"
    UNBOUND_CLAIM = "pod has unbound immediate PersistentVolumeClaims"
    NO_VOLUME = "persistentvolume not found"
    DISK = "node(s) had no available disk"
    CLAIM_IN_USE = (
        "node(s) unavailable due to PersistentVolumeClaim with ReadWriteOncePod access mode "
        "already in-use by another pod"
    )
    NO_DRIVER = "CSI driver is not installed on the node"
    VOLUME_COUNT = "node(s) exceed max volume count"
    VOLUME_ELSEWHERE = "node(s) didn't match PersistentVolume's node affinity"
    NO_VOLUME_TO_BIND = "node(s) didn't find available persistent volumes to bind"
    STORAGE = "node(s) did not have enough free storage"
    VOLUME_GONE = "node(s) unavailable due to one or more pvc(s) bound to non-existent pv(s)"
    VOLUME_ZONE = "node(s) had no available volume zone"
    SPREAD = "node(s) didn't match pod topology spread constraints"
    SPREAD_LABEL = "node(s) didn't match pod topology spread constraints (missing required label)"

    @property
    def resolvable(self) -> bool:
        """Return whether taking pods away from the node could cure the refusal."""
        return self in _RESOLVABLE

    @cached_property
    def plugin(self) -> str:
        return _PLUGINS.get(self, INTER_POD_AFFINITY)


_RESOLVABLE = frozenset(
    (
        Reason.ANTI_AFFINITY,
        Reason.EXISTING_ANTI_AFFINITY,
        Reason.LIMIT,
        Reason.EXISTING_LIMIT,
        Reason.SPREAD,
        Reason.DISK,
        Reason.CLAIM_IN_USE,
        Reason.NO_DRIVER,
        Reason.VOLUME_COUNT,
    )
)
_PLUGINS = {
    Reason.LIMIT: LIMITS,
    Reason.EXISTING_LIMIT: LIMITS,
    Reason.NODE_AFFINITY: NODE_AFFINITY,
    Reason.ENFORCED_NODE_AFFINITY: NODE_AFFINITY,
    Reason.NOT_NAMED: NODE_AFFINITY,
    Reason.NO_NAME: NODE_AFFINITY,
    Reason.ANNOTATION: ANNOTATIONS,
    Reason.NODE_NAME: NODE_NAME,
    Reason.UNSCHEDULABLE: NODE_UNSCHEDULABLE,
    Reason.TAINT: TAINT_TOLERATION,
    Reason.PORTS: NODE_PORTS,
    Reason.RESOURCES: NODE_RESOURCES_FIT,
    Reason.NO_CLAIM: VOLUME_RESTRICTIONS,
    Reason.UNUSABLE_CLAIM: VOLUME_BINDING,
    Reason.UNBOUND_CLAIM: VOLUME_BINDING,
    Reason.NO_VOLUME: VOLUME_ZONE,
    Reason.DISK: VOLUME_RESTRICTIONS,
    Reason.CLAIM_IN_USE: VOLUME_RESTRICTIONS,
    Reason.NO_DRIVER: NODE_VOLUME_LIMITS,
    Reason.VOLUME_COUNT: NODE_VOLUME_LIMITS,
    Reason.VOLUME_ELSEWHERE: VOLUME_BINDING,
    Reason.NO_VOLUME_TO_BIND: VOLUME_BINDING,
    Reason.STORAGE: VOLUME_BINDING,
    Reason.VOLUME_GONE: VOLUME_BINDING,
    Reason.VOLUME_ZONE: VOLUME_ZONE,
    Reason.SPREAD: POD_TOPOLOGY_SPREAD,
    Reason.SPREAD_LABEL: POD_TOPOLOGY_SPREAD,
}
OF_VOLUMES: Final = frozenset(
    each
    for each, plugin in _PLUGINS.items()
    if plugin in {VOLUME_RESTRICTIONS, NODE_VOLUME_LIMITS, VOLUME_BINDING, VOLUME_ZONE}
)
"""What is between a pod's volumes and a node."""

LEFT_TO_SCHEDULER: Final = frozenset(
    (
        *(Reason.NODE_NAME, Reason.UNSCHEDULABLE, Reason.TAINT, Reason.PORTS, Reason.RESOURCES),
        *(Reason.SPREAD, Reason.SPREAD_LABEL, Reason.ANNOTATION),
        *(Reason.NOT_NAMED, Reason.NO_NAME),
        *OF_VOLUMES,
    )
)
"""What a scheduler is not told of nodes: its own plugins see to it, or it gets an error."""


class Verdict(StrEnum):
    """What all filters together say of a pod, or of a pod on one node."""

    FITS = "fits"
    REFUSED = "refused"
    UNKNOWN = "unknown"
    """What is looked at refuses it nowhere, and what is not looked at may."""
