"""How a scheduler finds a node for one pod."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from contextlib import suppress
from dataclasses import dataclass
from random import Random
from typing import Final

from simulation.scheduler.affinity import InterPodAffinity
from simulation.scheduler.cache import Cache
from simulation.scheduler.extender import CallError, Extender
from simulation.scheduler.objects import NodeInfo, PodInfo

HIGHEST_SCORE: Final = 100


@dataclass(frozen=True, slots=True)
class Settings:
    name: str
    least_sampled: int = 100
    """Nodes to find before it stops to look (minFeasibleNodesToFind)."""
    own_only: bool = False
    """Whether it leaves alone the pods of other schedulers, as it should."""
    group_profile: str = ""
    """The profile for pod groups, which has InterPodAffinity on; "" without one."""
    permits: bool = True
    """Whether members of a gang wait for each other before they are bound, as until 1.37."""

    def responsible(self, pod: PodInfo) -> bool:
        return not self.own_only or pod.scheduler in {self.name, self.group_profile}


class NoNode(Exception):  # noqa: N818 - what happens every day
    """No node fits; `resolvable` are those where preemption may help."""

    def __init__(self, resolvable: list[str], *, by_extender: bool) -> None:
        super().__init__()
        self.resolvable = resolvable
        self.by_extender = by_extender


class Chooser:
    """In-tree's filters on some nodes, then the extender's filter and scores."""

    def __init__(self, settings: Settings, extender: Extender, chance: Random) -> None:
        self._settings = settings
        self._extender = extender
        self._chance = chance
        self._affinity = InterPodAffinity()
        self._next_node = 0

    async def choose(self, pod: PodInfo, view: Cache, among: Collection[str] | None = None) -> str:
        """Return a node, of some alone if need be; NoNode or CallError without one."""
        fits_rules = None
        if pod.scheduler == self._settings.group_profile:
            fits_rules = self._affinity.allows(pod, view)

        def fits_in_tree(node: NodeInfo) -> bool:
            return view.fits(pod, node) and (fits_rules is None or fits_rules(node))

        nominated = view.nodes.get(pod.nominated)
        if nominated is not None and (among is None or nominated.name in among):
            # What goes wrong here is logged, and all nodes are tried in the same cycle.
            with suppress(CallError):
                if fits_in_tree(nominated):
                    fits, _ = await self._extender.filter(pod, [nominated.name])
                    if fits:
                        return nominated.name
        names = view.names if among is None else [name for name in view.names if name in among]
        found, resolvable = self._sample(pod, [view.nodes[name] for name in names], fits_in_tree)
        if not found:
            raise NoNode(resolvable, by_extender=False)
        fits, failed = await self._extender.filter(pod, found)
        if not fits:
            raise NoNode(resolvable + failed, by_extender=True)
        return await self._best(pod, fits, view)

    def _sample(
        self, pod: PodInfo, nodes: Sequence[NodeInfo], fits: Callable[[NodeInfo], bool]
    ) -> tuple[list[str], list[str]]:
        """Return some nodes that in-tree's filters accept, and those they refuse for lack of room.

        The next search begins where this one stopped.
        """
        wanted = min(max(self._settings.least_sampled, len(nodes) // 2), len(nodes))
        found: list[str] = []
        resolvable: list[str] = []
        looked = 0
        for looked in range(1, len(nodes) + 1):
            node = nodes[(self._next_node + looked - 1) % len(nodes)]
            if fits(node):
                found.append(node.name)
            elif node.takes(pod):
                resolvable.append(node.name)
            if len(found) == wanted:
                break
        self._next_node = (self._next_node + looked) % max(len(nodes), 1)
        return found, resolvable

    async def _best(self, pod: PodInfo, fits: list[str], view: Cache) -> str:
        if len(fits) == 1:
            return fits[0]
        scores = await self._extender.prioritize(pod, fits)
        own = {name: self._score(view.nodes.get(name)) for name in fits}
        best = max(own[name] + 10 * scores.get(name, 0) for name in fits)
        return self._chance.choice(
            [name for name in fits if own[name] + 10 * scores.get(name, 0) == best]
        )

    @staticmethod
    def _score(node: NodeInfo | None) -> int:
        return 0 if node is None else HIGHEST_SCORE * (node.cpu - node.used) // max(node.cpu, 1)
