"""The cycle of a pod group: all its waiting members on one snapshot, none bound before the end."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from random import Random

from simulation.scheduler.cache import Cache
from simulation.scheduler.choosing import Chooser, NoNode
from simulation.scheduler.extender import CallError
from simulation.scheduler.objects import GroupInfo, PodInfo


@dataclass(slots=True)
class Attempt:
    """What came of it in one placement: all nodes, or those of one topology domain."""

    places: dict[str, str] = field(default_factory=dict)
    """The node of each member that has one, by uid."""
    error: str = ""
    fits: bool = False
    """Whether as many have a node as the group needs."""


class GroupCycle:
    """kube-scheduler's podGroupCycle, without the preemption for a whole group.

    The extender is asked about each member as about any pod, once for each placement. It hears
    neither where the others are to go nor how the cycle ends.
    """

    def __init__(self, chooser: Chooser, chance: Random) -> None:
        self._chooser = chooser
        self._chance = chance

    async def run(self, group: GroupInfo, members: Sequence[PodInfo], cache: Cache) -> Attempt:
        view = cache.snapshot()
        placements: Sequence[Collection[str] | None] = [None]
        if group.topology is not None:
            domains = _domains(group, view)
            if isinstance(domains, str):
                return Attempt(error=domains)
            placements = [*domains.values()]
        found = []
        for placement in placements:
            attempt = await self._try(group, members, view, placement)
            if attempt.error:
                return attempt
            found.append(attempt)
        fitting = [each for each in found if each.fits]
        # PodGroupPodsCount: the placement with most members.
        most = max((len(each.places) for each in fitting), default=0)
        best = [each for each in fitting if len(each.places) == most]
        return self._chance.choice(best) if best else Attempt()

    async def _try(
        self,
        group: GroupInfo,
        members: Sequence[PodInfo],
        view: Cache,
        among: Collection[str] | None,
    ) -> Attempt:
        """Place members on a view, as long as enough of them may get a node; and take them away."""
        attempt = Attempt()
        there, left = len(view.scheduled(group.key)), len(members)
        for member in members:
            if there + len(attempt.places) + left < group.least:
                break
            left -= 1
            try:
                node = await self._chooser.choose(member, view, among)
            except CallError as failure:
                attempt.error = f"{member.key} {failure}"
                break
            except NoNode:
                continue
            view.assume(member, node)
            attempt.places[member.uid] = node
        attempt.fits = bool(attempt.places) and there + len(attempt.places) >= group.least
        for uid in attempt.places:
            view.forget(uid)
        return attempt


def _domains(group: GroupInfo, view: Cache) -> Mapping[str, Collection[str]] | str:
    """Return the nodes of each topology domain that may hold the group; an error where none may.

    Members that have a node decide which (TopologyPlacement).
    """
    key = group.topology or ""
    homes = [view.node_of(uid) for uid in view.scheduled(group.key)]
    taken = {"" if node is None else node.labels.get(key, "") for node in homes}
    if "" in taken or len(taken) > 1:
        return f"the members of {group.key} that have a node are in no domain or in several"
    found: dict[str, list[str]] = {}
    for name in view.names:
        value = view.nodes[name].labels.get(key)
        if value is not None and taken <= {value}:
            found.setdefault(value, []).append(name)
    return found
