"""Tenants whose pods are more important than others that are in their way."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from random import Random
from typing import Final

from simulation import templates
from simulation.apiserver.store import Json, Store
from simulation.caller import Caller
from simulation.loop import spawn
from simulation.plan import Setup
from simulation.workloads import Controllers, Workload

MOST_PLACES: Final = 20
"""Less important pods of a wave."""
PRIORITIES: Final = (50, 50, 60)
LESSER: Final = (0, 0, 5, 50)
"""Of the pods in their way; who is as important stays."""


class ImportantTenants:
    """Carries out some of the actions of `plan.USERS`."""

    def __init__(self, caller: Caller, controllers: Controllers, setup: Setup) -> None:
        self._caller = caller
        self._store: Store = caller.server.store
        self._controllers = controllers
        self._setup = setup
        self._waves = 0
        self.acts: dict[str, Callable[[Random], None]] = {"important wave": self._wave}

    def _wave(self, chance: Random) -> None:
        """Fill places with pods that come again and again, and send others that need them.

        Both exclude each other, by the rules of both or of one of them.
        """
        self._waves += 1
        group = f"wave{self._waves}"
        by = chance.choice(("host", "host", "host", "zone"))
        places = self._setup.zones if by == "zone" else len(self._store.all("nodes"))
        places = min(places, MOST_PLACES)
        begun = [self._fill(chance, group, by, places)]
        begun += [
            self._send(chance, f"{group}-important{number}", group, by, places)
            for number in range(chance.choice((1, 1, 2, 3)))
        ]
        spawn(self._end(begun, chance.uniform(15.0, 60.0)), "users")

    def _fill(self, chance: Random, group: str, by: str, places: int) -> Workload:
        name, priority = f"{group}-lesser", chance.choice(LESSER)
        made_of = self._made_of(chance, name, group, by, priority)
        if chance.random() < 0.5:
            budget = templates.budget(name, chance.randrange(2))
            act = lambda: self._store.create("poddisruptionbudgets", budget, "users")  # noqa: E731
            spawn(self._caller.try_to(act), "users")
        return self._apply(chance, name, made_of, replicas=places + chance.choice((0, 0, 1)))

    def _send(self, chance: Random, name: str, group: str, by: str, places: int) -> Workload:
        made_of = self._made_of(chance, name, group, by, chance.choice(PRIORITIES))
        made_of |= {"patient": chance.random() < 0.1}
        at_once, lasts = chance.randint(1, max(places // 2, 1)), chance.uniform(0.1, 2.0)
        return self._apply(
            chance,
            name,
            made_of,
            replicas=at_once,
            lasts=lasts,
            completions=chance.randint(10, 100),
        )

    def _made_of(self, chance: Random, app: str, group: str, by: str, priority: int) -> Json:
        made_of = templates.template(f"rivals by {by}", app, group, priority)
        return made_of | {"grace": chance.choice((0, 1, 1, 3, 30))}

    def _apply(
        self,
        chance: Random,
        name: str,
        made_of: Json,
        *,
        replicas: int,
        lasts: float | None = None,
        completions: int | None = None,
    ) -> Workload:
        workload = Workload(
            name=name,
            space="default",
            made_of=made_of,
            replicas=replicas,
            scheduler=f"scheduler-{1 + chance.randrange(self._setup.schedulers)}",
            milli=chance.choice((10, 10, 10, 500)),
            lasts=lasts,
            completions=completions,
        )
        self._controllers.apply(workload)
        return workload

    async def _end(self, begun: list[Workload], seconds: float) -> None:
        """Have nobody come again."""
        await asyncio.sleep(seconds)
        for workload in begun:
            workload.replicas = 0
            if workload.lasts is not None:
                workload.completions = 0
            self._controllers.wake(workload.name)
