"""How the unbound claims of a pod could be bound, node by node.

As findMatchingVolumes and checkVolumeProvisions of kube-scheduler's volumebinding/binder.go, and
FindMatchingVolume of k8s.io/component-helpers/storage/volume.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from typing import TypeAlias

from affinityctl.scheduler.volumes.ledger import ledger_of
from affinityctl.scheduler.volumes.objects import (
    PersistentVolume,
    PersistentVolumeClaim,
)
from extender.core.cluster.state import ClusterState
from extender.core.model.labels import Labels, Operator, Requirement

Bound: TypeAlias = tuple[PersistentVolumeClaim, PersistentVolume | None]
Bindings: TypeAlias = Sequence[Bound]
"""Claims, each with the volume that it gets; None where one is made for it."""


@dataclass(slots=True)
class ClaimsOnNode:
    """What would become of the unbound claims of a pod on a node."""

    fits: bool = True
    """Each has a volume to bind, or one could be made."""
    space: bool = True
    """There is enough storage for those that would be made."""
    bindings: list[Bound] = field(default_factory=list)


class ClaimBinder:
    """Looks for volumes for the unbound claims of a pod, on one node after the other."""

    def __init__(self, state: ClusterState, claims: Iterable[PersistentVolumeClaim]) -> None:
        self._labels = state.nodes.labels
        self._volumes = volumes = ledger_of(state)
        self._claims = [*claims]
        self._known: dict[str, ClaimsOnNode] = {}
        # The smallest first, which takes the smallest volume that will do.
        asking = [each for each in self._claims if each.selected_node is None]
        asking.sort(key=lambda claim: claim.spec.request)
        self._asking = [
            (each, _Suitable(volumes.of_class(each.storage_class), each)) for each in asking
        ]

    @property
    def is_reported(self) -> bool:
        """Return whether some CSIStorageCapacity is about the class of each of the claims."""
        reported = {each.storage_class for each in self._volumes.capacities.values()}
        return all(each.storage_class in reported for each in self._claims)

    def on(self, node: str) -> ClaimsOnNode:
        found = self._known.get(node)
        if found is None:
            found = self._known[node] = self._on(node, self._labels(node))
        return found

    def _on(self, node: str, labels: Labels) -> ClaimsOnNode:
        found, making = ClaimsOnNode(), []
        for claim in self._claims:
            if claim.selected_node is not None:
                if claim.selected_node != node:
                    return ClaimsOnNode(fits=False)
                making.append(claim)
        chosen: set[str] = set()
        for claim, suitable in self._asking:
            volume = suitable.on(labels, chosen)
            if volume is None:
                making.append(claim)
            else:
                chosen.add(volume.key)
                found.bindings.append((claim, volume))
        for claim in making:
            storage = self._volumes.classes[claim.storage_class]
            found.fits = storage.provisions and storage.allows(labels)
            found.space = not found.fits or self._has_space(claim, storage.provisioner, labels)
            if not (found.fits and found.space):
                break
            found.bindings.append((claim, None))
        return found

    def _has_space(self, claim: PersistentVolumeClaim, provisioner: str, labels: Labels) -> bool:
        """Return whether there is room for a volume, where the driver says so much."""
        driver, size = self._volumes.csi_drivers.get(provisioner), claim.spec.request
        if driver is None or not driver.tracks_capacity or not size:
            return True
        return any(
            each.limit is not None
            and each.limit >= size
            and each.nodes is not None
            and each.nodes.matches(labels)
            for each in self._volumes.capacities.values()
            if each.storage_class == claim.storage_class
        )


class _Suitable:
    """The volumes that would do for a claim, by where they are."""

    def __init__(self, volumes: Iterable[PersistentVolume], claim: PersistentVolumeClaim) -> None:
        matching = [each for each in volumes if _is_large_enough(each, claim)]
        self._own = next(
            (e for e in matching if e.claim is not None and e.claim.is_to(claim)), None
        )
        self._anywhere: list[tuple[int, PersistentVolume]] = []
        self._at: dict[tuple[str, str], list[tuple[int, PersistentVolume]]] = {}
        free = sorted((e for e in matching if _is_free(e, claim)), key=lambda e: e.capacity)
        for number, each in enumerate(free):
            place = _place(each)
            if place is None:
                self._anywhere.append((number, each))
            else:
                for value in place.values:
                    self._at.setdefault((place.key, value), []).append((number, each))
        self._keys = {key for key, _ in self._at}

    def on(self, labels: Labels, chosen: AbstractSet[str]) -> PersistentVolume | None:
        """Return the smallest one that a node with these labels can have, none of the chosen.

        One that is bound to the claim beforehand is taken, or none.
        """
        if self._own is not None and self._own.key not in chosen:
            return self._own if reaches(self._own, labels) else None
        first = (next(self._there(each, labels, chosen), None) for each in self._lists(labels))
        found = [each for each in first if each is not None]
        return min(found, key=lambda each: each[0])[1] if found else None

    def _lists(self, labels: Labels) -> Iterator[list[tuple[int, PersistentVolume]]]:
        yield self._anywhere
        for key in self._keys:
            yield self._at.get((key, labels.get(key, "")), [])

    @staticmethod
    def _there(
        volumes: Iterable[tuple[int, PersistentVolume]], labels: Labels, chosen: AbstractSet[str]
    ) -> Iterator[tuple[int, PersistentVolume]]:
        return (e for e in volumes if e[1].key not in chosen and reaches(e[1], labels))


def reaches(volume: PersistentVolume, labels: Labels) -> bool:
    """Return whether a node with these labels can have a volume (CheckNodeAffinity)."""
    return volume.nodes is None or bool(volume.nodes.judge("", labels))


def _is_large_enough(volume: PersistentVolume, claim: PersistentVolumeClaim) -> bool:
    spec = claim.spec
    return (
        volume.capacity >= spec.request
        and volume.block is spec.block
        and volume.attributes_class == spec.attributes_class
        and not volume.deleting
    )


def _is_free(volume: PersistentVolume, claim: PersistentVolumeClaim) -> bool:
    spec = claim.spec
    return (
        volume.claim is None
        and volume.available
        and (spec.selector is None or spec.selector.matches(volume.labels))
        and spec.access_modes <= volume.access_modes
    )


def _place(volume: PersistentVolume) -> Requirement | None:
    """Return a label with one of some values that every node has that can have a volume."""
    if volume.nodes is None or len(volume.nodes.terms) != 1:
        return None
    conditions = volume.nodes.terms[0][0].conditions
    return next(
        (e for e in conditions if isinstance(e, Requirement) and e.operator is Operator.IN), None
    )
