"""Placed pods whose labels have moved on since their rules were made of them."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from itertools import chain, repeat

from extender.cluster.counts.matching_pods import PlacedClass
from extender.cluster.state import ClusterState
from extender.model.labels import Labels
from extender.model.objects import PodClass
from extender.model.pod_affinity import Drift

KEYS = 4
"""Terms and label keys of a class that cost about as much as another class."""


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

        A class with many terms or label keys takes several steps. The state may change between two
        steps.
        """
        still: dict[PodClass, DriftedPods] = {}
        fresh: list[DriftedPods] = []
        left = most = classes * KEYS
        for placed in list(self._state.placed_classes):
            drift: dict[Drift, None] = {}
            own = self._state.class_in_force(placed.pod_class)
            for each in chain(repeat(None, KEYS), own.drift()):
                if each is not None:
                    drift[each] = None
                left -= 1
                if left <= 0:
                    yield fresh
                    fresh, left = [], most
            drifted = self._drifted(placed, tuple(drift))
            if drifted is not None:
                if placed.pod_class not in self._known:
                    fresh.append(drifted)
                self._known[placed.pod_class] = still[placed.pod_class] = drifted
        yield fresh
        self._known = still

    def _drifted(self, placed: PlacedClass, drift: tuple[Drift, ...]) -> DriftedPods | None:
        example = self._example(placed) if drift else None
        if example is None:
            return None
        return DriftedPods(example, sum(placed.on_nodes.values()), placed.pod_class.labels, drift)

    def _example(self, placed: PlacedClass) -> str | None:
        """Name a pod of a class, None when it has none that a watch has shown."""
        names = (self._state.nodes.names[number] for number in placed.on_nodes)
        pods = (pod for name in names for pod in self._state.pods_on(name))
        return next((pod.key for pod in pods if pod.pod_class is placed.pod_class), None)
