"""Users whose pods come in pod groups, beside storms of single pods that exclude them."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from random import Random
from typing import Final

from simulation import templates
from simulation.apiserver.store import Json, Store, key_of
from simulation.caller import Caller
from simulation.crowds import Crowds
from simulation.loop import spawn, the_loop
from simulation.plan import Setup
from simulation.workloads import Controllers, Workload

SORTS: Final = ("rivals by host", "rivals by host", "avoided by host", "crew by host")
"""Of gangs. Single pods are rivals, so they exclude each of these."""
MOST_MEMBERS: Final = 6
PATIENCE_SECONDS: Final = 60.0
"""For so long, a gang is left alone that does not end; in the calm for good."""
LOOK_SECONDS: Final = 0.3


@dataclass(frozen=True, slots=True)
class Wanted:
    """What a gang is like, and each that follows it."""

    members: int
    least: int | None
    """As many as it needs; None for a group that is no gang."""
    topology: str
    group_last: bool
    """Whether its pods are created before the group is."""
    beside: int
    """Single pods that are created at the same time, at most."""


class GangUsers:
    """Carries out the action `gang wave`."""

    def __init__(self, caller: Caller, controllers: Controllers, setup: Setup) -> None:
        self._crowds = Crowds(caller, setup)
        self._store: Store = caller.server.store
        self._controllers = controllers
        self._setup = setup
        self._waves = 0
        self.acts: dict[str, Callable[[Random], None]] = {"gang wave": self._wave}

    def _wave(self, chance: Random) -> None:
        """Let gangs follow each other, and single pods that take about half of the places."""
        self._waves += 1
        group = f"gangs{self._waves}"
        nodes = len(self._store.all("nodes"))
        singles = self._crowds.workload(chance, f"{group}-single", "rivals by host", group, (0, 1))
        singles.replicas = max(round(nodes * chance.choice((0.3, 0.5, 0.7))), 1)
        singles.lasts = chance.uniform(0.1, 2.0)
        singles.completions = chance.randint(100, 500)
        singles.milli = 10
        self._controllers.apply(singles)
        for number in range(chance.choice((1, 1, 2, 3))):
            sort, app = chance.choice(SORTS), f"{group}-{number}"
            workload = self._crowds.workload(chance, app, sort, group, (0, 1))
            workload.scheduler, workload.milli = templates.GROUPS, 10
            workload.lasts = chance.uniform(0.1, 2.0)
            # Kubelets look there how long its pods last; no controller makes any.
            self._controllers.workloads[app] = workload
            spawn(self._follow(chance, workload, singles, nodes), "users")

    async def _follow(
        self, chance: Random, workload: Workload, singles: Workload, nodes: int
    ) -> None:
        members = chance.randint(2, max(min(MOST_MEMBERS, nodes // 2), 2))
        kind = chance.random()
        least = None if kind < 0.1 else members if kind < 0.8 else max(members - 1, 1)
        # A domain of its own would be too small for pods that are apart by host.
        topology = templates.ZONE if chance.random() < 0.2 and self._setup.zones < 3 else ""
        beside = chance.choice((0, nodes // 4, nodes // 2))
        wanted = Wanted(members, least, topology, chance.random() < 0.2, beside)
        for number in range(chance.randint(20, 80)):
            if workload.completions is not None:
                # Jobs end: the calm has begun.
                return
            name = f"{workload.name}-{number}"
            self._storm(chance, singles, name, wanted.beside)
            await self._play(workload, name, wanted)
            await asyncio.sleep(chance.uniform(0.0, 0.5))

    def _storm(self, chance: Random, singles: Workload, name: str, most: int) -> None:
        """Have some single pods created one after the other, beside what comes next."""
        for number in range(chance.randint(0, most)):
            pod = singles.pod(f"{name}-beside-{number}")
            the_loop().call_later(chance.uniform(0.0, 0.05), self._create, pod)

    def _create(self, pod: Json) -> None:
        spawn(self._crowds.create("pods", pod), "users")

    async def _play(self, workload: Workload, name: str, wanted: Wanted) -> None:
        pods = [workload.pod(f"{name}-{each}", pod_group=name) for each in range(wanted.members)]
        things: list[tuple[str, Json]] = [("pods", each) for each in pods]
        group = "podgroups", templates.pod_group(name, wanted.least, wanted.topology)
        things.insert(len(things) if wanted.group_last else 0, group)
        await asyncio.gather(*(self._crowds.create(*each) for each in things))
        keys = [key_of(each) for each in pods]
        left = PATIENCE_SECONDS
        while any(map(self._crowds.lives, keys)) and left > 0.0:
            await asyncio.sleep(LOOK_SECONDS)
            if workload.completions is None:
                left -= LOOK_SECONDS
        for key in filter(self._crowds.lives, keys):
            await self._crowds.delete(key)
        await self._crowds.end_group(f"default/{name}")
