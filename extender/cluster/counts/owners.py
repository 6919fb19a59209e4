"""How many pods of each controller have a node, wait for one, and are on their way out."""

from __future__ import annotations

from extender.model.objects import Controller, Pod
from extender.model.signed import shift


class PodsByOwner:
    """Pods counted by their controller, where that is read; O(1) for each event.

    A controller is told by its uid *and* the namespace of its pods (`Pod.controller`):
    anybody may write the uid of somebody else's controller into a pod.
    """

    def __init__(self) -> None:
        self._placed: dict[Controller, int] = {}
        self._waiting: dict[Controller, int] = {}
        self._leaving: dict[Controller, int] = {}

    def __len__(self) -> int:
        """Return how many controllers have pods."""
        return len(self._placed.keys() | self._waiting.keys() | self._leaving.keys())

    def placed(self, owner: Controller) -> int:
        """Return how many pods of a controller have a node, and are not on their way out."""
        return self._placed.get(owner, 0)

    def unsettled(self, owner: Controller) -> bool:
        """Return whether a pod of a controller has no node yet, or is on its way out."""
        return owner in self._waiting or owner in self._leaving

    def count(self, pod: Pod, amount: int) -> None:
        """Count a pod that is known (1), or is not as it was any more (-1)."""
        controller = pod.controller
        if controller is None or pod.terminal:
            return
        counts = self._waiting if pod.node is None else self._placed
        if pod.deleting:
            counts = self._leaving
        shift(counts, controller, amount)
