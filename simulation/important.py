"""Tenants whose pods are more important than others that are in their way."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from random import Random
from typing import Final

from simulation import templates
from simulation.apiserver.store import Store, key_of
from simulation.caller import Caller
from simulation.climbing import Climbers
from simulation.crowds import Crowds
from simulation.loop import spawn
from simulation.plan import Setup
from simulation.workloads import Controllers, Workload

PRIORITIES: Final = (50, 50, 60)
LESSER: Final = (0, 0, 0, 5, 0, 0, 5, 50)
"""Of the pods in their way; who is as important stays."""
SIDES: Final = {
    "both": ("rivals by {}", "rivals by {}"),
    "own": ("avoided by {}", "avoiding by {}"),
    "theirs": ("rivals by {}", "avoided"),
}
"""Of what sort the lesser and the important are, by whose rules keep them apart."""
FIRST_PORT: Final = 8000


@dataclass(frozen=True, slots=True)
class Stream:
    places: int
    """Less important pods at most."""
    number: tuple[int, int]
    """The fewest and the most important pods of an app."""
    pauses: tuple[tuple[float, float], ...]
    """Seconds between two of them, from and to; one of these holds for an app."""
    at_once: tuple[int, ...]
    """How many of an app may wait; one of these, and no more than there are places."""
    graces: tuple[int, ...]
    rests: tuple[float, ...]
    """Seconds until victims come again, which wait for the same places then."""
    orderly: float
    """In how many groups hardly anybody waits in vain: fewer important pods live than there are
    places, and those in their way come back once a place is free."""
    also: tuple[str, ...]
    """What bystanders have that the important need as well."""
    climbing: float
    """How many groups are of another kind: see `climbing`."""


NOW_AND_THEN: Final = Stream(
    8, (10, 60), ((0.3, 2.0),), (8,), (0, 1, 3, 30, 30), (0.0,), 0.0, ("",), 0.0
)
ALWAYS: Final = Stream(
    30,
    (40, 160),
    ((0.05, 0.3), (0.1, 0.8), (0.3, 2.0), (3.0, 9.0)),
    (1, 1, 1, 2, 3),
    (0, 0, 1, 1, 3, 30),
    (0.0,),
    0.5,
    ("", "", "", "", "room", "port"),
    0.75,
)
"""Few at once: each that waits is tried again at each event. Where nothing else happens in a long
pause, it shows who is not woken."""


class ImportantTenants:
    """Carries out some of the actions of `themes.USERS`."""

    def __init__(self, caller: Caller, controllers: Controllers, setup: Setup) -> None:
        self._crowds = Crowds(caller, setup)
        self._store: Store = caller.server.store
        self._climbers = Climbers(self._crowds, controllers, self._store)
        self._controllers = controllers
        self._setup = setup
        self._waves = 0
        self._stream = ALWAYS if setup.preempting else NOW_AND_THEN
        self.acts: dict[str, Callable[[Random], None]] = {"important wave": self._wave}

    def _wave(self, chance: Random) -> None:
        """Fill places with pods that come again and again, and send others that need them."""
        self._waves += 1
        by = chance.choice(("host", "host", "host", "zone"))
        places = self._setup.zones if by == "zone" else len(self._store.all("nodes"))
        places = min(places, self._stream.places)
        climbing = chance.random() < self._stream.climbing
        act = self._climbers.climb if climbing else self._play
        spawn(act(chance, f"wave{self._waves}", by, places), "users")

    async def _play(self, chance: Random, group: str, by: str, places: int) -> None:
        sorts = [each.format(by) for each in SIDES[chance.choice(("both", *SIDES))]]
        workload = partial(self._crowds.workload, chance, group=group, graces=self._stream.graces)
        lesser = workload(f"{group}-lesser", sorts[0])
        orderly = chance.random() < self._stream.orderly
        lesser.made_of["priority"] = chance.choice(LESSER[:-1] if orderly else LESSER)
        if chance.random() < 0.5:
            await self._crowds.create("poddisruptionbudgets", templates.budget(lesser.name, 1))
        lesser.replicas = places + (0 if orderly else chance.choice((0, 0, 1)))
        lesser.rests = 0.0 if orderly else chance.choice(self._stream.rests)
        lesser.ordered = chance.random() < 0.5
        self._controllers.apply(lesser)
        bystanders = workload(f"{group}-bystanders", "plain")
        names = [f"{group}-important{number}" for number in range(chance.choice((1, 1, 2, 3)))]
        important = [workload(name, sorts[1]) for name in names]
        also = chance.choice(self._stream.also)
        for each in (bystanders, *important):
            if also == "room":
                each.milli = 300 if each is bystanders else 1000 * self._setup.cpu - 300
            elif also == "port":
                each.made_of["port"] = FIRST_PORT + self._waves
        bystanders.replicas = places if also or chance.random() < 0.4 else 0
        self._controllers.apply(bystanders)
        if orderly:
            lesser.yields_to = partial(self._crowds.count, f"default/{group}-important")
        await asyncio.sleep(chance.uniform(0.5, 3.0))
        at_once = places // (2 * len(important)) if orderly else None
        coming = (self._keep_coming(chance, each, places, at_once) for each in important)
        await asyncio.gather(*coming)
        for each in (lesser, bystanders):
            each.replicas = 0
            self._controllers.wake(each.name)

    async def _keep_coming(
        self, chance: Random, workload: Workload, places: int, at_once: int | None
    ) -> None:
        """Create pods now and then that end soon; meanwhile those that went may come back.

        So many live at once, or a few wait at once.

        They are no job's: the next would take the place of the last, and nobody would have to go.
        They come no more when jobs end.
        """
        workload.lasts = chance.uniform(0.1, 1.0)
        self._controllers.workloads[workload.name] = workload
        pause = chance.uniform(*chance.choice(self._stream.pauses))
        counts = self._crowds.waits if at_once is None else self._crowds.lives
        if at_once is None:
            at_once = min(chance.choice(self._stream.at_once), places)
        at_once = max(at_once, 1)
        keys: list[str] = []
        for number in range(chance.randint(*self._stream.number)):
            left = await self._crowds.until_fewer(keys, at_once, pause, counts)
            if workload.completions is not None:
                break
            pod = workload.pod(
                f"{workload.name}-{number}",
                patient=chance.random() < 0.05,
                priority=chance.choice(PRIORITIES),
            )
            await self._crowds.create("pods", pod)
            keys = [*left, key_of(pod)]
            if left and chance.random() < 0.1:
                await self._crowds.delete(chance.choice(left))
            await asyncio.sleep(pause * chance.uniform(0.3, 1.7))
        await asyncio.sleep(chance.uniform(0.0, 10.0))
        for key in keys:
            await self._crowds.delete(key)
