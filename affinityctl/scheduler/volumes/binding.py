"""Where the volumes of a pod are, and where they could be made."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar, Final

from affinityctl.scheduler.volumes.binder import Bindings, ClaimBinder, reaches
from affinityctl.scheduler.volumes.claims import (
    PodClaims,
    VolumeRule,
    claim_of,
    is_lost,
    may_go_somewhere,
    told,
    unless,
)
from affinityctl.scheduler.volumes.ledger import ledger_of
from affinityctl.scheduler.volumes.objects import (
    PersistentVolume,
    PersistentVolumeClaim,
    claims_in,
)
from extender.core.cluster.state import ClusterState
from extender.core.model.keys import Key, name_of
from extender.core.model.labels import HOSTNAME as HOST_LABEL
from extender.core.model.labels import SUCCESSORS, Operator, Requirement
from extender.core.model.objects import Pod
from extender.core.model.verdict import (
    VOLUME_BINDING,
    VOLUME_ZONE,
    Reason,
)
from extender.core.model.wording import nodes_of, plural_of, short, some
from extender.core.verbs.plugins import FilterPlugin
from extender.core.verbs.rules import HOSTNAME

ZONE: Final = "topology.kubernetes.io/zone"
REGION: Final = "topology.kubernetes.io/region"
NEWER: Final[Mapping[str, str]] = {
    **{old: new for old, new in SUCCESSORS.items() if new in {ZONE, REGION}},
    ZONE: ZONE,
    REGION: REGION,
}
"""The labels that say where a volume is, with those that nodes have today."""
BETWEEN_ZONES: Final = "__"
_FORGET: Final = (
    "Remove the annotation volume.kubernetes.io/selected-node from the claim: its node is gone, "
    "and the scheduler chooses another"
)
_KEPT: Final = (
    "Find out why the volume is not made: kubectl describe pvc says it. Until it is, the "
    "annotation volume.kubernetes.io/selected-node of the claim keeps the pod to the node that the "
    "scheduler has chosen"
)
_RELABEL: Final = (
    f"Have the PersistentVolume made again with the value of {HOST_LABEL} that its node has: it "
    "asks for that label, and not for the name of a node"
)
_DRIVER: Final = (
    "Have the CSI driver run on the nodes in that zone: it gives them the label that the volume "
    "asks for"
)
_REPORT: Final = (
    "Find out whether the driver runs on these nodes and makes volumes of that class: kubectl get "
    "csistoragecapacities -A has what it reports"
)


@dataclass(frozen=True, slots=True)
class VolumeBinding(FilterPlugin):
    """The scheduler's plugin of that name: where volumes are, and where they could be made."""

    off: frozenset[str] = frozenset()
    """Plugins that do not run."""

    name: ClassVar[str] = VOLUME_BINDING

    def rules(self, state: ClusterState, pod: Pod) -> Iterator[VolumeRule]:
        if not ledger_of(state).knows_volumes or not may_go_somewhere(state, pod, self.off):
            return
        claims = PodClaims.of(state, pod)
        found = _bound(state, claims.bound)
        if claims.delayed and ledger_of(state).knows_classes:
            found += _delayed(state, claims.delayed)
        yield from sorted(found, key=lambda rule: rule.reason is Reason.VOLUME_GONE)


def _bound(state: ClusterState, claims: Sequence[PersistentVolumeClaim]) -> list[VolumeRule]:
    """Return the volumes of bound claims, up to one that is gone (checkBoundClaims)."""
    found: list[VolumeRule] = []
    for claim in claims:
        volume = ledger_of(state).volume_of(claim)
        if volume is None:
            return [*found, _gone(claim, found)]
        if volume.nodes is not None and volume.plugin is None:
            found.append(_elsewhere(state, claim, volume))
    return found


def _gone(claim: PersistentVolumeClaim, before: Sequence[VolumeRule]) -> VolumeRule:
    what = f"volume: claim {claim.name} is bound to a volume that does not exist"
    return VolumeRule(Reason.VOLUME_GONE, unless(before), what)


def _elsewhere(
    state: ClusterState, claim: PersistentVolumeClaim, volume: PersistentVolume
) -> VolumeRule:
    labels, place = state.nodes.labels, _place_label(volume)
    what = f"volume: claim {claim.name} is bound to a volume {_place(volume)}"
    named = _named_instead(state, volume)
    if named is not None:
        what += f", but the node of that name has {HOST_LABEL} {labels(named)[HOST_LABEL]}"
    bare = _unlabelled(state, place)
    if bare and place is not None:
        what += f", by the label {place.key}, which {some(bare, len(bare))} there {_lack(bare)}"
    return VolumeRule(
        Reason.VOLUME_ELSEWHERE,
        lambda node: reaches(volume, labels(node)),
        what,
        advice=_RELABEL * (named is not None) or _DRIVER * bool(bare),
        of_host=place is not None and place.key == HOST_LABEL,
    )


def _lack(names: Sequence[str]) -> str:
    return "lacks" if len(names) == 1 else "lack"


def _unlabelled(state: ClusterState, place: Requirement | None) -> list[str]:
    """Return the nodes in a volume's zone, where none has the label of its driver for that."""
    if place is None or place.key in NEWER or short(place.key) != short(ZONE):
        return []
    nodes = {name: state.nodes.labels(name) for name in state.nodes}
    if any(labels.get(place.key) in place.values for labels in nodes.values()):
        return []
    there = (name for name, labels in nodes.items() if labels.get(ZONE) in place.values)
    return sorted(name for name in there if place.key not in nodes[name])


def _named_instead(state: ClusterState, volume: PersistentVolume) -> str | None:
    """Return the node whose name a volume has where the label of it was meant, if that is so."""
    place = _place_label(volume)
    if place is None or place.key != HOST_LABEL:
        return None
    hosts = {state.nodes.labels(name).get(HOST_LABEL) for name in state.nodes}
    if not hosts.isdisjoint(place.values):
        return None
    named = (name for name in sorted(place.values) if name in state.nodes)
    return next((name for name in named if HOST_LABEL in state.nodes.labels(name)), None)


def _delayed(state: ClusterState, claims: Sequence[PersistentVolumeClaim]) -> Iterator[VolumeRule]:
    binder = ClaimBinder(state, claims)
    each_told = [told(state, each) for each in claims]
    names = f"{plural_of('claim', claims)} {some(each_told, len(claims))}"
    yield VolumeRule(
        Reason.NO_VOLUME_TO_BIND,
        lambda node: binder.on(node).fits,
        f"volume: no volume for {names} is or can be made there",
        advice=_about_selected(state, claims),
        of_host=any(each.selected_node for each in claims),
    )
    known = binder.is_reported
    lacks = "too little free storage" if known else "its driver reports no storage"
    yield VolumeRule(
        Reason.STORAGE,
        lambda node: binder.on(node).space,
        f"volume: {lacks} for {names}",
        advice=_REPORT * (not known),
    )


def _about_selected(state: ClusterState, claims: Sequence[PersistentVolumeClaim]) -> str:
    """Say what to do about claims whose volume is being made for one node."""
    if any(is_lost(state, each) for each in claims):
        return _FORGET
    return _KEPT * any(each.selected_node for each in claims)


def _place_label(volume: PersistentVolume) -> Requirement | None:
    """Return the label that is all that a volume asks of its nodes."""
    terms = () if volume.nodes is None else volume.nodes.terms
    conditions = terms[0][0].conditions if len(terms) == 1 else ()
    match conditions:
        case (Requirement(operator=Operator.IN) as only,):
            return only
    return None


def _place(volume: PersistentVolume) -> str:
    if volume.nodes is None:
        return "that every node can have"
    only = _place_label(volume)
    if only is not None:
        return place_in(only.key, sorted(only.values))
    return f"for nodes with {nodes_of(volume.nodes)}"


def bindings(state: ClusterState, pod: Pod, node: str) -> Bindings:
    """Return what the unbound claims of a pod get on a node that takes it."""
    if not claims_in(pod):
        return ()
    claims = PodClaims.of(state, pod).delayed
    return ClaimBinder(state, claims).on(node).bindings


def place_in(key: str, values: Sequence[str]) -> str:
    """Say where something is: in a zone, on a node."""
    where = some(values, len(values))
    return (
        f"on {where}" if short(key) == HOSTNAME else f"in {plural_of(short(key), values)} {where}"
    )


@dataclass(frozen=True, slots=True)
class VolumeZone(FilterPlugin):
    """The scheduler's plugin of that name: the zone and region that a volume has as labels."""

    off: frozenset[str] = frozenset()
    """Plugins that do not run."""

    name: ClassVar[str] = VOLUME_ZONE

    def rules(self, state: ClusterState, pod: Pod) -> Iterator[VolumeRule]:
        for use in claims_in(pod) if may_go_somewhere(state, pod, self.off) else ():
            claim = None if use.ephemeral else claim_of(state, pod, use)
            volume = None if claim is None else ledger_of(state).volume_of(claim)
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

    what = f"volume: claim {name_of(claim)} is bound to a volume {place_in(key, values)}"
    yield VolumeRule(Reason.VOLUME_ZONE, allows, what)
