"""Users whose pods push each other aside: from round to round more important ones come."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from random import Random
from typing import Final, TypeAlias

from simulation import templates
from simulation.apiserver.store import Change, Json, Store, is_live, key_of
from simulation.crowds import Crowds
from simulation.loop import spawn
from simulation.workloads import Controllers

RUNGS: Final = (("rivals by {}", "rivals by {}"), ("avoided by {}", "shunning by {}"))
"""Of what sort pods are of which each pushes a less important one aside, by turns."""
PAUSES: Final = ((0.05, 0.3), (0.1, 0.8), (0.3, 2.0), (3.0, 9.0))
"""Seconds between two of them, from and to; one of these holds for a group."""
GRACES: Final = (0, 0, 1, 1, 3, 30)
LONG_SECONDS: Final = 36_000.0
SUCCESSOR_SECONDS: Final = 4.0
"""How long a successor stays at most."""
Successor: TypeAlias = Callable[[str], Json]
"""Makes the successor of a pod, given its name."""


@dataclass(frozen=True, slots=True)
class Climb:
    """How pods come of which each pushes a less important one aside."""

    weight: int
    number: tuple[int, int]
    """The fewest and the most pods, once all places are taken."""
    at_once: tuple[int, ...]
    """How many may wait; one of these, and no more than there are places."""
    graces: tuple[int, ...] = ()
    """Of each pod, one of these; () for one of the group's."""
    more: tuple[int, ...] = (0,)
    """By how much one is more important than others of its round, which it pushes aside."""
    namesakes: bool = False
    """Whether pods come to have the names of others that are gone."""


CLIMBS: Final = (
    Climb(3, (60, 240), (1, 1, 2, 3)),
    # Few sets, but many at a time, and each takes long.
    Climb(1, (20, 60), (2, 3, 4), (0, 1, 3, 10, 30), (0, 0, 0, 1, 2), namesakes=True),
)


class Climbers:
    """Carries out groups of them."""

    def __init__(self, crowds: Crowds, controllers: Controllers, store: Store) -> None:
        self._crowds = crowds
        self._controllers = controllers
        self._made: dict[str, Successor] = {}
        """What makes successors of the pods that live, by key."""
        self._successors = 0
        store.observers.append(self._look)

    def _look(self, change: Change) -> None:
        """Let a successor come of a pod that leaves its node, as a ReplicaSet does at once."""
        made = self._made.get(change.key)
        old, new = change.old, change.new
        if made is None or change.resource != "pods" or old is None:
            return
        if new is None or not is_live(new):
            del self._made[change.key]
        going = new is None or "deletionTimestamp" in new["metadata"]
        if going and "deletionTimestamp" not in old["metadata"] and old["spec"].get("nodeName"):
            spawn(self._succeed(made), "users")

    async def _succeed(self, made: Successor) -> None:
        """Create a successor, which is scaled down before there are too many that wait."""
        self._successors += 1
        pod = made(f"successor-{self._successors}")
        await self._crowds.create("pods", pod)
        await asyncio.sleep(SUCCESSOR_SECONDS)
        if self._crowds.lives(key_of(pod)):
            await self._crowds.delete(key_of(pod))

    async def climb(self, chance: Random, group: str, by: str, places: int) -> None:
        """Create pods that stay, and from round to round more important ones.

        So each of them pushes one aside, whose successor waits for the same places for a while.
        """
        rungs = [
            self._crowds.workload(chance, f"{group}-rung{number}", sort.format(by), group, GRACES)
            for number, sort in enumerate(chance.choice(RUNGS))
        ]
        for each in rungs:
            # Of a job, so that no more come when jobs end.
            each.lasts = LONG_SECONDS
            self._controllers.workloads[each.name] = each
            if chance.random() < 0.5:
                await self._crowds.create("poddisruptionbudgets", templates.budget(each.name, 1))
        climb = chance.choices(CLIMBS, [each.weight for each in CLIMBS])[0]
        pause = chance.uniform(*chance.choice(PAUSES))
        at_once = min(chance.choice(climb.at_once), places)
        keys: list[str] = []
        for number in range(places + chance.randint(*climb.number)):
            rung = number // places
            workload = rungs[rung % len(rungs)]
            waiting = await self._crowds.until_fewer(keys, at_once, pause, self._crowds.waits)
            if workload.completions is not None:
                break
            name = self._crowds.free_name(group) if climb.namesakes else f"{workload.name}-{number}"
            more = {
                "patient": chance.random() < 0.03,
                "priority": rung * len(climb.more) + chance.choice(climb.more),
                "grace": chance.choice(climb.graces or (workload.made_of["grace"],)),
            }
            pod = workload.pod(name, **more)
            self._made[key_of(pod)] = partial(workload.pod, **more)
            await self._crowds.create("pods", pod)
            if waiting and chance.random() < 0.1:
                await self._crowds.delete(chance.choice(waiting))
            keys = [*(key for key in keys if key != key_of(pod)), key_of(pod)]
            await asyncio.sleep(pause * chance.uniform(0.3, 1.7))
        await asyncio.sleep(chance.uniform(0.0, 10.0))
        for key in keys:
            self._made.pop(key, None)
            if self._crowds.lives(key):
                await self._crowds.delete(key)
