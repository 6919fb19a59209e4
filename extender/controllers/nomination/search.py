"""The search for nodes, among all of them, and the time that it takes."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from extender.cluster.state import ClusterState
from extender.controllers.nomination.record import Refusal
from extender.controllers.refusals import UnschedulableCache, prospects
from extender.model import memory
from extender.verbs.nominating import Chooser, ExpectedPlacement
from extender.verbs.plugins import Plugins


class Search:
    """Chooses nodes for refused pods; what was in vain is tried again when something changes."""

    def __init__(
        self,
        state: ClusterState,
        plugins: Plugins,
        chance: Callable[[], float],
        clock: Callable[[], float],
    ) -> None:
        self._clock = clock
        self._chance = chance
        self._chooser = Chooser(state, plugins)
        self._unschedulable = UnschedulableCache(state, memory.FRUITLESS)
        self._spent = 0.0

    def time_spent(self) -> float:
        """Return the seconds of searching since somebody asked last."""
        spent, self._spent = self._spent, 0.0
        return spent

    def choose(self, refusal: Refusal, placements: Sequence[ExpectedPlacement]) -> str | None:
        """Choose a node, if there is one that the pod was not pointed to in vain."""
        pod, key = refusal.pod, prospects(refusal.pod)
        if self._unschedulable.knows(key):
            return None
        start = self._clock()
        node = self._chooser.choose(
            pod, avoid=refusal.tried, placements=placements, chance=self._chance()
        )
        self._spent += self._clock() - start
        if node is None and not refusal.tried and not placements:
            self._unschedulable.note(key, pod.size)
        return node
