"""Whether a pod group would get its nodes, were it for the scheduler alone."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from random import Random
from typing import cast

from simulation.scheduler.choosing import Chooser
from simulation.scheduler.extender import Extender
from simulation.scheduler.group_cycle import Attempt, GroupCycle
from simulation.scheduler.objects import PodInfo
from simulation.scheduler.process import Scheduler


class _Silent:
    """An extender that has nothing to say, at once."""

    async def filter(self, _: PodInfo, names: Sequence[str]) -> tuple[list[str], list[str]]:
        return list(names), []

    async def prioritize(self, _: PodInfo, __: Sequence[str]) -> Mapping[str, int]:
        return {}


def has_places(member: PodInfo, scheduler: Scheduler) -> bool:
    """Rehearse a cycle with all waiting members of a pod's group."""
    group, cache = scheduler.cache.groups.get(member.group), scheduler.cache
    waiting = cache.members.get(member.group, set()) - {*cache.scheduled(member.group)}
    queued = filter(None, map(scheduler.queue.find, sorted(waiting)))
    members = [each.pod for each in queued if not each.pod.deleting]
    if group is None:
        return False
    chance = Random(member.key)
    chooser = Chooser(scheduler.settings, cast("Extender", _Silent()), chance)
    cycle = GroupCycle(chooser, chance).run(group, members, cache)
    try:
        cycle.send(None)
    except StopIteration as ended:
        return cast("Attempt", ended.value).fits
    raise AssertionError("the rehearsal waits for something")
