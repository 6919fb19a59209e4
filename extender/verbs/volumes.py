"""What volumes say of a node: the scheduler's four plugins about them, as filter plugins.

volumerestrictions, nodevolumelimits, volumebinding and volumezone in
pkg/scheduler/framework/plugins of Kubernetes 1.37. Volumes of in-tree plugins that CSI drivers have
taken over are counted; where these are is not looked at.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import ClassVar, Final, TypeAlias

from extender.cluster.counts.nodes import NodeList
from extender.cluster.state import ClusterState
from extender.model.keys import Key, name_of
from extender.model.labels import Operator, Requirement
from extender.model.objects import Pod
from extender.model.verdict import (
    NODE_VOLUME_LIMITS,
    VOLUME_BINDING,
    VOLUME_RESTRICTIONS,
    VOLUME_ZONE,
    Reason,
)
from extender.model.volumes import (
    READ_WRITE_ONCE_POD,
    Attachable,
    ClaimUse,
    CSINode,
    Disk,
    PersistentVolume,
    PersistentVolumeClaim,
)
from extender.model.wording import nodes_of, plural_of, short, some
from extender.verbs.filtering import holding
from extender.verbs.plugins import FilterPlugin, Unknown
from extender.verbs.rules import HOSTNAME, Rule
from extender.verbs.volume_claims import Binder, Bindings, PodClaims, claim_of, reaches

Allows: TypeAlias = Callable[[str], bool]

VOLUMES: Final = "volumes"
LOOKED_AT: Final = (VOLUMES,)
"""Fields of a pod that people's commands look at, and a server leaves to the scheduler."""

ZONE: Final = "topology.kubernetes.io/zone"
REGION: Final = "topology.kubernetes.io/region"
NEWER: Final[Mapping[str, str]] = {
    "failure-domain.beta.kubernetes.io/zone": ZONE,
    "failure-domain.beta.kubernetes.io/region": REGION,
    ZONE: ZONE,
    REGION: REGION,
}
"""The labels that say where a volume is, with those that nodes have today."""
BETWEEN_ZONES: Final = "__"


@dataclass(slots=True, eq=False)
class VolumeRule(Rule):
    """One thing that a node may lack for a pod's volumes."""

    reason: Reason
    allows: Allows
    what: str
    event: str = ""

    def __post_init__(self) -> None:
        self.event = self.event or self.reason.value

    def split(self, asked: NodeList) -> tuple[NodeList, Sequence[str]]:
        """Return the nodes that have it, and the names of those that lack it."""
        hit = [name for name in asked.names if not self.allows(name)]
        if not hit:
            return asked, hit
        refused = {*hit}
        return asked.only([name for name in asked.names if name not in refused]), hit


def _nowhere(node: str) -> bool:
    del node
    return False


def _uses(pod: Pod) -> Sequence[ClaimUse]:
    volumes = pod.requirements.volumes
    return () if volumes is None else volumes.claims


@dataclass(frozen=True, slots=True)
class VolumeClaims(FilterPlugin):
    """What the plugins say of a pod's claims before any node is looked at: their PreFilter."""

    name: ClassVar[str] = "VolumeClaims"

    def rules(self, state: ClusterState, pod: Pod) -> Iterator[VolumeRule]:
        """Yield the first thing that is wrong with the claims, for which every node is refused."""
        found = next(_wrong(state, pod), None)
        if found is not None:
            reason, event = found
            yield VolumeRule(reason, _nowhere, f"volume: {event}", event)

    def unknown(self, state: ClusterState, pod: Pod) -> Iterator[Unknown]:
        """Say what may decide about its volumes, and who would know it."""
        return (Unknown(VOLUMES, each) for each in not_looked_at(state, pod))


def _wrong(state: ClusterState, pod: Pod) -> Iterator[tuple[Reason, str]]:
    """Yield what is wrong with claims, in the order in which the scheduler finds it."""
    if not state.volumes.knows_claims:
        return
    claims = [(use, claim_of(state, pod, use)) for use in _uses(pod)]
    for use, claim in claims:
        if claim is None and not use.ephemeral:
            name = name_of(use.key_for(pod.key))
            yield Reason.NO_CLAIM, f'persistentvolumeclaim "{name}" not found'
    for use, claim in claims:
        yield from ((Reason.UNUSABLE_CLAIM, each) for each in _unusable(pod, use, claim))
    sorted_claims = PodClaims.of(state, pod)
    if sorted_claims.immediate and state.volumes.knows_classes:
        yield Reason.UNBOUND_CLAIM, Reason.UNBOUND_CLAIM.value
    if state.volumes.knows_volumes:
        for use, claim in claims:
            wanted = "" if claim is None or use.ephemeral else claim.volume
            if wanted and wanted not in state.volumes.volumes:
                yield Reason.NO_VOLUME, f'persistentvolume "{wanted}" not found'


def _may_go_somewhere(state: ClusterState, pod: Pod) -> bool:
    """Return whether a pod has volumes, with no claim for which every node is refused."""
    return pod.requirements.volumes is not None and next(_wrong(state, pod), None) is None


def _unusable(pod: Pod, use: ClaimUse, claim: PersistentVolumeClaim | None) -> Iterator[str]:
    """Say why a claim cannot be used (podHasPVCs of volume_binding.go)."""
    if claim is None:
        wanted = name_of(use.key_for(pod.key))
        what = f'persistentvolumeclaim "{wanted}"'
        yield f"waiting for ephemeral volume controller to create the {what}"
        return
    name = claim.name
    if claim.lost:
        yield (
            f'persistentvolumeclaim "{name}" bound to non-existent '
            f'persistentvolume "{claim.volume}"'
        )
    if claim.deleting:
        yield f'persistentvolumeclaim "{name}" is being deleted'
    if use.ephemeral and claim.owner != pod.uid:
        yield f"PVC {claim.key} was not created for pod {pod.key} (pod is not owner)"


@dataclass(frozen=True, slots=True)
class VolumeRestrictions(FilterPlugin):
    """The scheduler's plugin of that name: disks and claims that one pod has for itself."""

    name: ClassVar[str] = VOLUME_RESTRICTIONS

    def rules(self, state: ClusterState, pod: Pod) -> Iterator[VolumeRule]:
        """Yield the disks of the pod, and the claims that another pod has."""
        volumes = pod.requirements.volumes
        if volumes is None or not _may_go_somewhere(state, pod):
            return
        disks = [_other_disk(state, pod, each) for each in volumes.disks if each.alone]
        yield from disks
        for use in volumes.claims:
            claim = None if use.ephemeral else claim_of(state, pod, use)
            if (
                claim is not None
                and READ_WRITE_ONCE_POD in claim.spec.access_modes
                and state.volumes.is_used(claim.key)
            ):
                what = f"volume: claim {claim.name} is for one pod alone, and another one has it"
                yield VolumeRule(Reason.CLAIM_IN_USE, _unless(disks), what)


def _other_disk(state: ClusterState, pod: Pod, disk: Disk) -> VolumeRule:
    def allows(node: str) -> bool:
        return not any(disk.conflicts(each) for each in _disks_on(state, pod, node))

    what = f"volume: another pod has {disk.kind} {'/'.join(disk.identity)} there"
    return VolumeRule(Reason.DISK, allows, what)


def _unless(before: Sequence[VolumeRule]) -> Allows:
    """Refuse all nodes but those that are refused before: the plugin says one thing of a node."""
    return lambda node: not all(each.allows(node) for each in before)


def _disks_on(state: ClusterState, pod: Pod, node: str) -> Iterator[Disk]:
    yield from state.volumes.disks_on(node)
    for other in _nominated(state, pod, node):
        yield from () if other.requirements.volumes is None else other.requirements.volumes.disks


def _nominated(state: ClusterState, pod: Pod, node: str) -> Sequence[Pod]:
    return holding(state, pod, node) if state.nominated else ()


@dataclass(frozen=True, slots=True)
class NodeVolumeLimits(FilterPlugin):
    """The scheduler's plugin of that name: how many volumes CSI drivers attach to a node."""

    name: ClassVar[str] = NODE_VOLUME_LIMITS

    def rules(self, state: ClusterState, pod: Pod) -> Iterator[VolumeRule]:
        """Yield the drivers that pods cannot do without, and the one rule about limits."""
        if not state.volumes.knows_limits or not _may_go_somewhere(state, pod):
            return
        wanted = _Attaching(state, pod)
        for driver in sorted(wanted.needed):
            yield VolumeRule(
                Reason.NO_DRIVER,
                partial(wanted.has_driver, driver),
                f"volume: the CSI driver {driver} is not on the node",
                f"{driver} {Reason.NO_DRIVER.value}",
            )
        what = "volume: as many volumes are attached as the node takes"
        yield VolumeRule(Reason.VOLUME_COUNT, wanted.fit, what)


class _Attaching:
    """The volumes of a pod that are attached to its node."""

    def __init__(self, state: ClusterState, pod: Pod) -> None:
        self._state = state
        self._volumes = state.volumes
        self._pod = pod
        drivers = {driver for driver, _ in self._of(pod, _ANY_NODE)}
        known = (self._volumes.csi_drivers.get(each) for each in drivers)
        self.needed = {each.key for each in known if each is not None and each.needed_on_node}

    def has_driver(self, driver: str, node: str) -> bool:
        """Return whether a node has a driver, or does not need it for this pod."""
        found = self._volumes.csi_nodes.get(node)
        if found is None:
            return driver not in {each for each, _ in self._of(self._pod, None)}
        return driver in found.topology_keys

    def fit(self, node: str) -> bool:
        """Return whether a node can have the volumes beside those that it has; O(its pods)."""
        found = self._volumes.csi_nodes.get(node)
        lacking = not all(self.has_driver(each, node) for each in self.needed)
        if found is None or not found.limits or lacking:
            return True
        nominated = _nominated(self._state, self._pod, node)
        return self._within(found, nominated) and (not nominated or self._within(found, ()))

    def _within(self, node: CSINode, nominated: Sequence[Pod]) -> bool:
        new = self._of(self._pod, node)
        limits = {driver: node.limits[driver] for driver, _ in new if driver in node.limits}
        if not limits:
            return True
        used = self._used(node)
        for other in nominated:
            used |= self._of(other, node)
        attached = used | self._attached(node)
        new -= used
        return all(
            not _count(new, driver) or _count(attached, driver) + _count(new, driver) <= limit
            for driver, limit in limits.items()
        )

    def _of(self, pod: Pod, node: CSINode | None) -> set[Attachable]:
        volumes = pod.requirements.volumes
        if volumes is None:
            return set()
        claims = (claim_of(self._state, pod, use) for use in volumes.claims)
        found = {self._volumes.attachable(each, node) for each in claims if each is not None}
        if node is not None:
            found |= {each.attached_as for each in volumes.disks}
        return {each for each in found if each is not None}

    def _used(self, node: CSINode) -> set[Attachable]:
        """Return what the pods of a node use."""
        claims = map(self._volumes.claims.get, self._volumes.claims_on(node.key))
        found = {self._volumes.attachable(each, node) for each in claims if each is not None}
        found |= {each.attached_as for each in self._volumes.disks_on(node.key)}
        return {each for each in found if each is not None}

    def _attached(self, node: CSINode) -> set[Attachable]:
        """Return what is attached, by whomever it is used or was."""
        found = set()
        for each in self._volumes.attached_to(node.key):
            volume = self._volumes.volumes.get(each.volume or "")
            if volume is not None and volume.plugin is None and volume.driver and each.driver:
                found.add((each.driver, volume.handle))
        return found


_ANY_NODE: Final = CSINode("")


def _count(volumes: set[Attachable], driver: str) -> int:
    return sum(each[0] == driver for each in volumes)


@dataclass(frozen=True, slots=True)
class VolumeBinding(FilterPlugin):
    """The scheduler's plugin of that name: where volumes are, and where they could be made."""

    name: ClassVar[str] = VOLUME_BINDING

    def rules(self, state: ClusterState, pod: Pod) -> Iterator[VolumeRule]:
        """Yield the volumes of bound claims, and what the other claims ask for together."""
        if not state.volumes.knows_volumes or not _may_go_somewhere(state, pod):
            return
        claims = PodClaims.of(state, pod)
        found = _bound(state, claims.bound)
        if claims.delayed and state.volumes.knows_classes:
            found += _delayed(state, claims.delayed)
        yield from sorted(found, key=lambda rule: rule.reason is Reason.VOLUME_GONE)


def _bound(state: ClusterState, claims: Sequence[PersistentVolumeClaim]) -> list[VolumeRule]:
    """Return the volumes of bound claims, up to one that is gone (checkBoundClaims)."""
    found: list[VolumeRule] = []
    for claim in claims:
        volume = state.volumes.volume_of(claim)
        if volume is None:
            return [*found, _gone(claim, found)]
        if volume.nodes is not None and volume.plugin is None:
            found.append(_elsewhere(state, claim, volume))
    return found


def _gone(claim: PersistentVolumeClaim, before: Sequence[VolumeRule]) -> VolumeRule:
    what = f"volume: claim {claim.name} is bound to a volume that does not exist"
    return VolumeRule(Reason.VOLUME_GONE, _unless(before), what)


def _elsewhere(
    state: ClusterState, claim: PersistentVolumeClaim, volume: PersistentVolume
) -> VolumeRule:
    labels = state.nodes.labels
    what = f"volume: claim {claim.name} is bound to a volume {_place(volume)}"
    return VolumeRule(Reason.VOLUME_ELSEWHERE, lambda node: reaches(volume, labels(node)), what)


def _delayed(state: ClusterState, claims: Sequence[PersistentVolumeClaim]) -> Iterator[VolumeRule]:
    binder = Binder(state, claims)
    names = f"{plural_of('claim', claims)} {some([each.name for each in claims], len(claims))}"
    yield VolumeRule(
        Reason.NO_VOLUME_TO_BIND,
        lambda node: binder.on(node).fits,
        f"volume: no volume for {names} is or can be made there",
    )
    yield VolumeRule(
        Reason.STORAGE,
        lambda node: binder.on(node).space,
        f"volume: too little free storage for {names}",
    )


def _place(volume: PersistentVolume) -> str:
    """Say where a volume is."""
    if volume.nodes is None:
        return "that every node can have"
    terms = volume.nodes.terms
    conditions = terms[0][0].conditions if len(terms) == 1 else ()
    match conditions:
        case (Requirement(operator=Operator.IN) as only,):
            return _in(only.key, sorted(only.values))
    return f"for nodes with {nodes_of(volume.nodes)}"


def _in(key: str, values: Sequence[str]) -> str:
    where = some(values, len(values))
    return (
        f"on {where}" if short(key) == HOSTNAME else f"in {plural_of(short(key), values)} {where}"
    )


def bindings(state: ClusterState, pod: Pod, node: str) -> Bindings:
    """Return what the unbound claims of a pod get on a node that takes it."""
    if not _uses(pod):
        return ()
    claims = PodClaims.of(state, pod).delayed
    return Binder(state, claims).on(node).bindings


@dataclass(frozen=True, slots=True)
class VolumeZone(FilterPlugin):
    """The scheduler's plugin of that name: the zone and region that a volume has as labels."""

    name: ClassVar[str] = VOLUME_ZONE

    def rules(self, state: ClusterState, pod: Pod) -> Iterator[VolumeRule]:
        """Yield each label of a claim's volume that says where it is."""
        for use in _uses(pod) if _may_go_somewhere(state, pod) else ():
            claim = None if use.ephemeral else claim_of(state, pod, use)
            volume = None if claim is None else state.volumes.volume_of(claim)
            for key in () if volume is None else NEWER:
                if volume is not None and key in volume.labels:
                    yield from _in_zone(state, use.key_for(pod.key), volume, key)


def _in_zone(
    state: ClusterState, claim: Key, volume: PersistentVolume, key: str
) -> Iterator[VolumeRule]:
    values = [each.strip() for each in volume.labels[key].split(BETWEEN_ZONES)]
    if not all(values):
        return  # the label is no list of zones, and so says nothing

    def allows(node: str) -> bool:
        labels = state.nodes.labels(node)
        if not any(each in labels for each in NEWER):
            return True
        if volume.plugin is None and not reaches(volume, labels):
            return True  # said by VolumeBinding: one thing is wrong, and not two
        return labels.get(key, labels.get(NEWER[key])) in values

    what = f"volume: claim {name_of(claim)} is bound to a volume {_in(key, values)}"
    yield VolumeRule(Reason.VOLUME_ZONE, allows, what)


VOLUME_PLUGINS: Final = (VolumeRestrictions(), NodeVolumeLimits(), VolumeBinding(), VolumeZone())
"""In the scheduler's order."""


def not_looked_at(state: ClusterState, pod: Pod) -> Iterator[str]:
    """Say what may decide about a pod's volumes and is not known, and who would know it."""
    if VOLUMES in pod.requirements.unmodelled and pod.requirements.volumes is None:
        yield (
            "its volumes are not looked at by a running extender; "
            "`affinity-extender explain` from the command line does"
        )
    uses, volumes = _uses(pod), state.volumes
    if not uses:
        return
    if volumes.missing:
        yield (
            f"whether its volumes allow that is not known without {', '.join(volumes.missing)}: "
            "have them in the dump, or the right to list them"
        )
    for use in uses:
        claim = claim_of(state, pod, use)
        volume = None if claim is None else volumes.volume_of(claim)
        if volume is not None and volume.plugin is not None:
            yield (
                f"where the volume of its claim {name_of(use.key_for(pod.key))} is, of "
                f"{volume.plugin}, is the CSI driver's to say, and not looked at"
            )
