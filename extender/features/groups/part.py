"""What the program gets where pod groups have a profile: the binds of a gang, decided together."""

from __future__ import annotations

from extender.core.parts import Context, Part
from extender.core.ports import Hook
from extender.features.groups.gangs import MOST_HELD, Gangs, NeededMembers
from extender.features.groups.ledger import members_of
from extender.features.groups.section import profiles


class Groups(Part, Hook):
    """One company for all gangs."""

    def __init__(self, context: Context) -> None:
        if profiles(context.config):
            most = context.config.serving.max_connections
            most_held = MOST_HELD if most is None else most // 2
            self.company = Gangs(members_of(context.state), self._needed(context), most_held)
            self.hooks = (self,)

    @staticmethod
    def _needed(context: Context) -> NeededMembers:
        api = context.source.api
        if api is None:
            return _none
        from extender.features.groups.pod_groups import PodGroups  # noqa: PLC0415

        members = members_of(context.state)
        return PodGroups(api.client, context.clocks.clock, members).needed


async def _none(group: str) -> int:
    """Know of no gang: the cluster is in a file, where there is no bind."""
    del group
    return 0


PART = Groups
