"""Placed pods whose labels have moved on since their rules were made of them."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass

from extender.cluster.counts.placed_classes import PlacedClass
from extender.cluster.state import ClusterState
from extender.model.labels import Labels
from extender.model.objects import PodClass
from extender.model.pod_affinity import Drift

TERMS = 4
"""Terms of a class that cost about as much as another class without many."""


@dataclass(frozen=True, slots=True)
class DriftedPods:
    """Placed pods that are alike, and the labels that their rules do not follow."""

    example: str
    """One of the pods."""
    pods: int
    labels: Labels
    """As they are now."""
    drift: tuple[Drift, ...]


class DriftWatch:
    """What has drifted, as of the last look."""

    def __init__(self, state: ClusterState) -> None:
        self._state = state
        self._known: dict[PodClass, DriftedPods] = {}

    @property
    def known(self) -> Collection[DriftedPods]:
        """Return what has drifted."""
        return self._known.values()

    @property
    def pods(self) -> int:
        """Return how many pods have drifted."""
        return sum(each.pods for each in self.known)

    def look(self, classes: int) -> Iterator[list[DriftedPods]]:
        """Look at every placed class once, so many at a step; yield what each step found anew.

        A class with many terms counts for several.

        The state may change between two steps.
        """
        still: dict[PodClass, DriftedPods] = {}
        for some in _batches(self._state.placed_classes, classes):
            found = {placed.pod_class: drifted for placed in some if (drifted := self._of(placed))}
            fresh = [drifted for key, drifted in found.items() if key not in self._known]
            self._known |= found
            still |= found
            yield fresh
        self._known = still

    def _of(self, placed: PlacedClass) -> DriftedPods | None:
        pod_class = placed.pod_class
        drift = tuple(dict.fromkeys(pod_class.drift()))
        example = self._example(placed) if drift else None
        if example is None:
            return None
        return DriftedPods(example, sum(placed.on_nodes.values()), pod_class.labels, drift)

    def _example(self, placed: PlacedClass) -> str | None:
        """Name a pod of a class, None when it has none that a watch has shown."""
        names = (self._state.nodes.names[number] for number in placed.on_nodes)
        pods = (pod for name in names for pod in self._state.pods_on(name))
        return next((pod.key for pod in pods if pod.pod_class is placed.pod_class), None)


def _batches(classes: Iterable[PlacedClass], most: int) -> Iterator[list[PlacedClass]]:
    batch: list[PlacedClass] = []
    left = most
    for placed in list(classes):
        batch.append(placed)
        left -= 1 + len(placed.pod_class.affinity) // TERMS
        if left <= 0:
            yield batch
            batch, left = [], most
    if batch:
        yield batch
