"""Placed pods whose labels have moved on since their rules were made of them."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from itertools import islice

from extender.cluster.placed import PlacedClass
from extender.cluster.state import ClusterState
from extender.model.labels import Labels
from extender.model.objects import PodClass
from extender.model.pod_affinity import Drift


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

        The state may change between two steps.
        """
        still: dict[PodClass, DriftedPods] = {}
        rest = iter(list(self._state.placed_classes))
        while some := list(islice(rest, classes)):
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
