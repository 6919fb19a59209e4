"""The claims of one pod, and what is wrong with them before any node is looked at.

The PreFilter of volumerestrictions, volumebinding and volumezone in pkg/scheduler/framework/plugins
of Kubernetes 1.37. Volumes of in-tree plugins that CSI drivers have taken over are counted; where
these are is not looked at.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, field
from operator import attrgetter
from typing import ClassVar, TypeAlias

from affinityctl.scheduler.volumes.ledger import ledger_of
from affinityctl.scheduler.volumes.objects import (
    ClaimUse,
    PersistentVolumeClaim,
    TopologyTerm,
    claims_in,
    misfit,
    volumes_in,
)
from extender.core.cluster.counts.nodes import NodeList
from extender.core.cluster.state import ClusterState
from extender.core.model.keys import name_of
from extender.core.model.node_resources import VOLUMES
from extender.core.model.objects import Pod
from extender.core.model.verdict import VOLUME_BINDING, Reason
from extender.core.model.wording import short, some
from extender.core.verbs.plugins import FilterPlugin, Unknown
from extender.core.verbs.rules import Rule

Allows: TypeAlias = Callable[[str], bool]
"""Whether one thing about a node, by its name, suits the volumes of the pod."""


@dataclass(slots=True, eq=False)
class VolumeRule(Rule):
    """One thing that a node may lack for a pod's volumes."""

    reason: Reason
    allows: Allows
    what: str
    event: str = ""
    advice: str = ""
    of_host: bool = False
    of_node = True
    looks = 9

    def __post_init__(self) -> None:
        self.event = self.event or self.reason.value

    def split(self, asked: NodeList) -> tuple[NodeList, Sequence[str]]:
        hit = [name for name in asked.names if not self.allows(name)]
        return asked.without(hit), hit


def nowhere(node: str) -> bool:
    """Allow no node."""
    del node
    return False


def unless(before: Sequence[VolumeRule]) -> Allows:
    """Refuse all nodes but those that are refused before: the plugin says one thing of a node."""
    return lambda node: not all(each.allows(node) for each in before)


def claim_of(state: ClusterState, pod: Pod, use: ClaimUse) -> PersistentVolumeClaim | None:
    """Return a claim that a pod uses, None when there is none.

    Of a pod that is not there yet, one that a controller will make for it counts as made.
    """
    key, volumes = use.key_for(pod.key), ledger_of(state)
    found = volumes.claims.get(key)
    if found is None and use.template is not None and state.pod(pod.key, pod.uid) is None:
        return volumes.made(use, key, pod)
    return found


@dataclass(slots=True)
class PodClaims:
    """The claims of a pod that are there, by how far they are."""

    bound: list[PersistentVolumeClaim] = field(default_factory=list)
    delayed: list[PersistentVolumeClaim] = field(default_factory=list)
    """They are bound once the pod has a node."""
    immediate: list[PersistentVolumeClaim] = field(default_factory=list)
    """They should have been bound before the pod is looked at."""

    @classmethod
    def of(cls, state: ClusterState, pod: Pod) -> PodClaims:
        """Sort the claims of a pod; what is missing is left out."""
        found = cls()
        for use in claims_in(pod):
            claim = claim_of(state, pod, use)
            if claim is None:
                continue
            known = ledger_of(state).classes.get(claim.storage_class)
            if claim.bound:
                found.bound.append(claim)
            elif known is not None and known.waits and not claim.volume:
                found.delayed.append(claim)
            else:
                found.immediate.append(claim)
        return found


@dataclass(frozen=True, slots=True)
class VolumeClaims(FilterPlugin):
    """What the plugins say of a pod's claims before any node is looked at: their PreFilter."""

    off: frozenset[str] = frozenset()
    """Plugins that do not run."""

    name: ClassVar[str] = "VolumeClaims"

    def rules(self, state: ClusterState, pod: Pod) -> Iterator[VolumeRule]:
        found = next(_wrong(state, pod, self.off), None)
        if found is not None:
            reason, event = found
            what = event
            if reason is Reason.UNBOUND_CLAIM:
                waiting = [_waiting_for(state, each) for each in PodClaims.of(state, pod).immediate]
                what = f"claim {some(waiting, len(waiting))}"
            yield VolumeRule(reason, nowhere, f"volume: {what}", event)

    def unknown(self, state: ClusterState, pod: Pod) -> Iterator[Unknown]:
        if VOLUME_BINDING in self.off and claims_in(pod):
            what = f"its scheduler has {VOLUME_BINDING} off"
            yield Unknown(VOLUMES, f"which nodes its volumes allow is not known: {what}")
        yield from (Unknown(VOLUMES, each) for each in not_looked_at(state, pod))
        if pod.node is not None and ledger_of(state).knows_classes:
            yield from (Unknown(VOLUMES, each) for each in _left_unbound(state, pod))


def _wrong(state: ClusterState, pod: Pod, off: Collection[str]) -> Iterator[tuple[Reason, str]]:
    """Yield what is wrong with claims, in the order in which the plugins that run find it."""
    return ((reason, event) for reason, event in _found(state, pod) if reason.plugin not in off)


def _found(state: ClusterState, pod: Pod) -> Iterator[tuple[Reason, str]]:
    if not ledger_of(state).knows_claims:
        return
    claims = [(use, claim_of(state, pod, use)) for use in claims_in(pod)]
    for use, claim in claims:
        if claim is None and not use.ephemeral:
            name = name_of(use.key_for(pod.key))
            yield Reason.NO_CLAIM, f'persistentvolumeclaim "{name}" not found'
    for use, claim in claims:
        yield from ((Reason.UNUSABLE_CLAIM, each) for each in _unusable(pod, use, claim))
    sorted_claims = PodClaims.of(state, pod)
    if sorted_claims.immediate and ledger_of(state).knows_classes:
        yield Reason.UNBOUND_CLAIM, Reason.UNBOUND_CLAIM.value
    if ledger_of(state).knows_volumes:
        for use, claim in claims:
            wanted = "" if claim is None or use.ephemeral else claim.volume
            if wanted and wanted not in ledger_of(state).volumes:
                yield Reason.NO_VOLUME, f'persistentvolume "{wanted}" not found'


def _waiting_for(state: ClusterState, claim: PersistentVolumeClaim) -> str:
    """Say what a claim waits for that should have been bound before its pod is looked at."""
    found = ledger_of(state).classes.get(claim.storage_class)
    if claim.volume:
        volume = ledger_of(state).volumes.get(claim.volume)
        why = None if volume is None else misfit(volume, claim)
        return f"{claim.name} waits to be bound to volume {claim.volume}{f': {why}' if why else ''}"
    if found is None and claim.storage_class:
        what = f"{claim.name} waits: there is no class {claim.storage_class}"
        return f"{what}{_misfits(state, claim)}"
    if found is not None and found.provisions:
        return f"{told(state, claim)} waits for the provisioner to make its volume"
    return f"{told(state, claim)} waits for a volume that is made by hand"


def told(state: ClusterState, claim: PersistentVolumeClaim) -> str:
    """Name an unbound claim, with its class and who makes volumes of that."""
    found = ledger_of(state).classes.get(claim.storage_class)
    made = ""
    if found is not None:
        made = f" of {found.provisioner}" if found.provisions else " without a provisioner"
        if found.allowed:
            made += f", for {' or '.join(map(_place, found.allowed))} alone"
    there = f", being made for {claim.selected_node}" if claim.selected_node else ""
    if is_lost(state, claim):
        there += ", a node that there is not"
    without = "without a class" + ", and none is the default" * (claim.spec.storage_class is None)
    of = f"class {claim.storage_class}{made}" if claim.storage_class else without
    misfits = "" if found is not None and found.provisions else _misfits(state, claim)
    return f"{claim.name} ({of}{there}{misfits})"


def _place(term: TopologyTerm) -> str:
    """Say where a class has its volumes made."""
    return " and ".join(f"{short(key)} {some(sorted(values), len(values))}" for key, values in term)


def _misfits(state: ClusterState, claim: PersistentVolumeClaim) -> str:
    """Say why the claim has none of the volumes of its class that no other claim has."""
    volumes = sorted(ledger_of(state).of_class(claim.storage_class), key=attrgetter("key"))
    left = (each for each in volumes if each.claim is None or each.claim.key == claim.key)
    why = [*filter(None, (misfit(each, claim) for each in left))]
    return f"; {some(why, len(why))}" if why else ""


def _left_unbound(state: ClusterState, pod: Pod) -> Iterator[str]:
    """Name the claims that only a scheduler would have bound, of a pod that went past it."""
    for claim in PodClaims.of(state, pod).delayed:
        if claim.selected_node is None:
            yield (
                f"its claim {claim.name} is bound when a scheduler places the pod, and "
                "spec.nodeName has done that: ask for the node by nodeSelector instead"
            )


def is_lost(state: ClusterState, claim: PersistentVolumeClaim) -> bool:
    """Return whether a volume is being made for a node that there is not."""
    selected = claim.selected_node or ""
    return selected != "" and selected not in state.nodes


def may_go_somewhere(state: ClusterState, pod: Pod, off: Collection[str] = ()) -> bool:
    """Return whether a pod has volumes, with no claim for which every node is refused."""
    return volumes_in(pod) is not None and next(_wrong(state, pod, off), None) is None


def _unusable(pod: Pod, use: ClaimUse, claim: PersistentVolumeClaim | None) -> Iterator[str]:
    """Say why a claim cannot be used (podHasPVCs of volume_binding.go)."""
    if claim is None:
        wanted = name_of(use.key_for(pod.key))
        what = f'persistentvolumeclaim "{wanted}"'
        awaited = f"waiting for ephemeral volume controller to create the {what}"
        yield awaited if use.ephemeral else f"{what} not found"
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


def not_looked_at(state: ClusterState, pod: Pod) -> Iterator[str]:
    """Say what may decide about a pod's volumes and is not known, and who would know it."""
    claims, volumes = claims_in(pod), ledger_of(state)
    if not claims:
        return
    if volumes.missing:
        yield (
            f"whether its volumes allow that is not known without {', '.join(volumes.missing)}: "
            "have them in the dump, or the right to list them"
        )
    for use in claims:
        claim = claim_of(state, pod, use)
        volume = None if claim is None else volumes.volume_of(claim)
        if volume is not None and volume.plugin is not None:
            yield (
                f"where the volume of its claim {name_of(use.key_for(pod.key))} is, of "
                f"{volume.plugin}, is the CSI driver's to say, and not looked at"
            )
