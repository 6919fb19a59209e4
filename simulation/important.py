"""Tenants whose pods are more important than others that are in their way."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from functools import partial
from random import Random
from typing import Final

from simulation import templates
from simulation.apiserver.store import Json, Store, is_live, key_of
from simulation.apiserver.verbs import delete
from simulation.caller import Caller
from simulation.loop import spawn
from simulation.plan import Setup
from simulation.workloads import Controllers, Workload

MOST_PLACES: Final = 8
"""Less important pods of a wave."""
PRIORITIES: Final = (50, 50, 60)
LESSER: Final = (0, 0, 0, 5, 50)
"""Of the pods in their way; who is as important stays."""


class ImportantTenants:
    """Carries out some of the actions of `themes.USERS`."""

    def __init__(self, caller: Caller, controllers: Controllers, setup: Setup) -> None:
        self._caller = caller
        self._store: Store = caller.server.store
        self._controllers = controllers
        self._setup = setup
        self._waves = 0
        self.acts: dict[str, Callable[[Random], None]] = {"important wave": self._wave}

    def _wave(self, chance: Random) -> None:
        """Fill places with pods that come again and again, and send others that need them."""
        self._waves += 1
        by = chance.choice(("host", "host", "host", "zone"))
        places = self._setup.zones if by == "zone" else len(self._store.all("nodes"))
        spawn(self._play(chance, f"wave{self._waves}", by, min(places, MOST_PLACES)), "users")

    async def _play(self, chance: Random, group: str, by: str, places: int) -> None:
        lesser = self._workload(chance, f"{group}-lesser", by, group, chance.choice(LESSER))
        if chance.random() < 0.5:
            await self._create("poddisruptionbudgets", templates.budget(lesser.name, 1))
        lesser.replicas = places + chance.choice((0, 0, 1))
        lesser.ordered = chance.random() < 0.5
        self._controllers.apply(lesser)
        bystanders = self._workload(chance, f"{group}-bystanders", "nobody", group, 0)
        bystanders.replicas = places if chance.random() < 0.4 else 0
        self._controllers.apply(bystanders)
        await asyncio.sleep(chance.uniform(0.5, 3.0))
        names = [f"{group}-important{number}" for number in range(chance.choice((1, 1, 2, 3)))]
        important = [
            self._workload(chance, name, by, group, chance.choice(PRIORITIES)) for name in names
        ]
        await asyncio.gather(*(self._keep_coming(chance, each, places) for each in important))
        for each in (lesser, bystanders):
            each.replicas = 0
            self._controllers.wake(each.name)

    async def _keep_coming(self, chance: Random, workload: Workload, places: int) -> None:
        """Create pods now and then that end soon; meanwhile those that went may come back.

        They are no job's: the next would take the place of the last, and nobody would have to go.
        """
        workload.lasts = chance.uniform(0.1, 1.0)
        self._controllers.workloads[workload.name] = workload
        pause = chance.uniform(0.3, 2.0)
        keys: list[str] = []
        for number in range(chance.randint(10, 60)):
            left = [key for key in keys if self._is_waiting(key)]
            if len(left) < places:
                pod = workload.pod(f"{workload.name}-{number}", patient=chance.random() < 0.05)
                await self._create("pods", pod)
                keys = [*left, key_of(pod)]
            if left and chance.random() < 0.1:
                key = chance.choice(left)
                await self._caller.try_to(partial(delete, self._store, key, "users", grace=0.0))
            await asyncio.sleep(pause * chance.uniform(0.3, 1.7))
        await asyncio.sleep(chance.uniform(0.0, 10.0))
        for key in keys:
            await self._caller.try_to(partial(delete, self._store, key, "users", grace=0.0))

    def _is_waiting(self, key: str) -> bool:
        pod = self._store.all("pods").get(key)
        return pod is not None and is_live(pod) and not pod["spec"].get("nodeName")

    def _workload(self, chance: Random, name: str, by: str, group: str, priority: int) -> Workload:
        sort = "plain" if by == "nobody" else f"rivals by {by}"
        made_of = templates.template(sort, name, group, priority)
        return Workload(
            name=name,
            space="default",
            made_of=made_of | {"grace": chance.choice((0, 1, 3, 30, 30))},
            replicas=0,
            scheduler=self._setup.any_scheduler(chance),
            milli=chance.choice((10, 10, 10, 500)),
        )

    async def _create(self, resource: str, obj: Json) -> None:
        await self._caller.try_to(partial(self._store.create, resource, obj, "users"))
