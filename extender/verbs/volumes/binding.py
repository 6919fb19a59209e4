"""Where the volumes of a pod are, and where they could be made."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import ClassVar

from extender.cluster.state import ClusterState
from extender.model.labels import Operator, Requirement
from extender.model.objects import Pod
from extender.model.verdict import (
    VOLUME_BINDING,
    Reason,
)
from extender.model.volumes import (
    PersistentVolume,
    PersistentVolumeClaim,
)
from extender.model.wording import nodes_of, plural_of, short, some
from extender.verbs.plugins import FilterPlugin
from extender.verbs.rules import HOSTNAME
from extender.verbs.volumes.binder import Binder, Bindings, reaches
from extender.verbs.volumes.claims import PodClaims, may_go_somewhere, uses
from extender.verbs.volumes.rule import VolumeRule, unless


@dataclass(frozen=True, slots=True)
class VolumeBinding(FilterPlugin):
    """The scheduler's plugin of that name: where volumes are, and where they could be made."""

    name: ClassVar[str] = VOLUME_BINDING

    def rules(self, state: ClusterState, pod: Pod) -> Iterator[VolumeRule]:
        """Yield the volumes of bound claims, and what the other claims ask for together."""
        if not state.volumes.knows_volumes or not may_go_somewhere(state, pod):
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
    return VolumeRule(Reason.VOLUME_GONE, unless(before), what)


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
            return place_in(only.key, sorted(only.values))
    return f"for nodes with {nodes_of(volume.nodes)}"


def bindings(state: ClusterState, pod: Pod, node: str) -> Bindings:
    """Return what the unbound claims of a pod get on a node that takes it."""
    if not uses(pod):
        return ()
    claims = PodClaims.of(state, pod).delayed
    return Binder(state, claims).on(node).bindings


def place_in(key: str, values: Sequence[str]) -> str:
    """Say where something is: in a zone, on a node."""
    where = some(values, len(values))
    return (
        f"on {where}" if short(key) == HOSTNAME else f"in {plural_of(short(key), values)} {where}"
    )
